package app

import (
	"context"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/massgen/massgen/cmd/massgen/server"
)

// mcpCommand offers panels to one program, over standard input and output.
type mcpCommand struct{ serveCommand }

func (c *mcpCommand) cli() *cli.Command {
	return &cli.Command{
		Name: "mcp", Usage: "offer panels to coding agents as tools (MCP)",
		UsageText: "massgen mcp [--config FILE ...]\n\nA coding agent starts this command and speaks with it over standard input and\noutput: docs/mcp_server.md says how to add it to one. It ends with its input.",
		Flags:     slices.Concat(c.panelFlags(), c.options.clusterFlags(c.env.Cluster)),
		Action:    func(ctx *cli.Context) error { return c.run(ctx.Context) },
	}
}

func (c *mcpCommand) run(ctx context.Context) error {
	return c.with(ctx, "mcp", func(ctx context.Context, s server.Settings) error {
		return server.New(s).ServeMCP(ctx, c.env.Stdin, c.console.out)
	})
}
