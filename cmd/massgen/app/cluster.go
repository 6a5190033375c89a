package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/cmd/massgen/app/talk"
	"github.com/massgen/massgen/coordinator"
)

// workerCommand plays turns for those who ask.
func workerCommand(p *program.Program) *cli.Command {
	return &cli.Command{
		Name: "worker", Usage: "play the turns that others ask for, by the flags --config, --database and --temporal-address, until it is interrupted",
		Flags:  p.Flags(),
		Action: func(c *cli.Context) error { return talk.Work(c.Context, p, c.Args().Slice()) },
	}
}

// noteCommand adds to the question of a turn that workers play.
func noteCommand(p *program.Program) *cli.Command {
	return &cli.Command{
		Name: "note", Usage: "add TEXT to the question of the turn that runs in a session", UsageText: "massgen-temporal note SESSION TEXT",
		Flags:  cmdline.EngineFlags(p.Env.Cluster, &p.Options.Cluster, &p.Options.Session),
		Action: func(c *cli.Context) error { return addNote(c.Context, p, c.Args().Slice()) },
	}
}

func addNote(ctx context.Context, p *program.Program, words []string) (err error) {
	switch {
	case len(words) != 2:
		return errors.New("note: its form is: massgen-temporal note SESSION TEXT; a text of several words is put in quotes")
	case p.Options.Cluster.Engine == cmdline.LocalEngine:
		return errors.New("note: --engine local plays turns within one process: type /note TEXT there")
	case p.Kept.Database() == "":
		return fmt.Errorf("note: it needs --database URL, or %s: the store that all workers share", cmdline.DatabaseVariable)
	}
	cmdline.HideKeys(p.Env, p.Console)
	at, err := p.Engines.Address()
	if err != nil {
		return err
	}
	store, err := p.Kept.Open(ctx, archive.ToAsk)
	if err != nil {
		return fmt.Errorf("note: %w", err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	engine, connection, err := p.Env.Cluster.Connect(ctx, at)
	if err != nil {
		return fmt.Errorf("note: --temporal-address: %w", err)
	}
	defer func() { err = errors.Join(err, connection.Close()) }()
	if err := coordinator.NoteRemote(ctx, engine, store, words[0], words[1]); err != nil {
		return err
	}
	p.Console.Say("massgen: noted: each agent is told before its next call")
	return nil
}
