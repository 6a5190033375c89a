package app

import (
	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/cmd/massgen/app/talk"
)

// workerCommand plays turns for those who ask.
func workerCommand(p *program.Program) *cli.Command {
	return &cli.Command{
		Name: "worker", Usage: "play the turns that others ask for, by the flags --config, --database and --temporal-address, until it is interrupted",
		Flags:  p.Flags(),
		Action: func(c *cli.Context) error { return talk.Work(c.Context, p, c.Args().Slice()) },
	}
}
