package serve

import (
	"context"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/cmd/massgen/server"
)

// mcpCommand offers panels to one program, over standard input and output.
type mcpCommand struct{ serve *command }

func MCP(p *program.Program) *cli.Command { return (&mcpCommand{newServer(p)}).cli() }

func (c *mcpCommand) cli() *cli.Command {
	return &cli.Command{
		Name: "mcp", Usage: "offer panels to coding agents as tools (MCP)",
		UsageText: "massgen mcp [--config FILE ...]\n\nA coding agent starts this command and speaks with it over standard input and\noutput: docs/mcp_server.md says how to add it to one. It ends with its input.",
		Flags:     slices.Concat(c.serve.panelFlags(), cmdline.EngineFlags(c.serve.env.Cluster, c.serve.engines.Flags, c.serve.session)),
		Action:    func(ctx *cli.Context) error { return c.run(ctx) },
	}
}

func (c *mcpCommand) run(ctx *cli.Context) error {
	return c.serve.with(ctx, "mcp", func(ctx context.Context, s server.Settings) error {
		return server.New(s).ServeMCP(ctx, c.serve.env.Stdin, c.serve.console.Out)
	})
}
