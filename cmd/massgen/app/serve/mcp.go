package serve

import (
	"context"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/cmd/massgen/server"
)

// MCP returns the command mcp, which offers panels to one program, over standard input and output.
func MCP(p *program.Program) *cli.Command {
	c := newCommand(p)
	return &cli.Command{
		Name: "mcp", Usage: "offer panels to coding agents as tools (MCP)",
		UsageText: "massgen mcp [--config FILE ...]\n\nA coding agent starts this command and speaks with it over standard input and\noutput: docs/mcp_server.md says how to add it to one. It ends with its input.",
		Flags:     slices.Concat(c.panelFlags(), cmdline.EngineFlags(c.env.Cluster, c.engines.Flags, c.session)),
		Action: func(flags *cli.Context) error {
			return c.with(flags, "mcp", nil, func(ctx context.Context, s server.Settings) error {
				return server.New(s).ServeMCP(ctx, c.env.Stdin, c.console.Out)
			})
		},
	}
}
