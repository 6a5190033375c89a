package massgen_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/massgen/massgen"
)

// TestMain is the MCP server of testdata/panel.yaml too, where it is started as one.
func TestMain(m *testing.M) {
	massgen.Launcher()
	if len(os.Args) > 1 && os.Args[1] == "prices-server" {
		if err := servePrices(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	state, err := os.MkdirTemp("", "massgen")
	if err == nil {
		var program string
		program, err = os.Executable()
		err = errors.Join(err, os.Setenv("PRICES_SERVER", program), os.Setenv("XDG_STATE_HOME", state))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := m.Run()
	if err := os.RemoveAll(state); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(status)
}

// priceOf is what the tool of the server is called with.
type priceOf struct {
	Source string `json:"source" jsonschema:"a source of energy"`
}

func servePrices() error {
	server := mcp.NewServer(&mcp.Implementation{Name: "prices", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "price", Description: "Returns the price of a source of energy."},
		func(_ context.Context, _ *mcp.CallToolRequest, args priceOf) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: args.Source + " costs 4 cents"}}}, nil, nil
		})
	return server.Run(context.Background(), &mcp.StdioTransport{})
}
