package mcp_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

type handler = func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error)

func said(content ...sdk.Content) (*sdk.CallToolResult, error) {
	return &sdk.CallToolResult{Content: content}, nil
}

// hints are what the honest server says of some of its tools.
var hints = map[string]*sdk.ToolAnnotations{
	"environment": {ReadOnlyHint: true}, "arguments": {IdempotentHint: true}, "die": {Title: "Die"},
}

// honestServer keeps to the protocol, whatever its tools do. Say gets what they print.
func honestServer(say func(line string)) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "honest", Version: "1"}, nil)
	add := func(name string, run handler) {
		s.AddTool(&sdk.Tool{Name: name, Description: "does " + name, InputSchema: map[string]any{"type": "object"}, Annotations: hints[name]}, run)
	}
	add("arguments", func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return said(&sdk.TextContent{Text: string(req.Params.Arguments)})
	})
	add("environment", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return said(&sdk.TextContent{Text: strings.Join(os.Environ(), "\n")})
	})
	add("fail", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "no such file"}}}, nil
	})
	add("die", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		say("Error: out of luck\ngoodbye")
		os.Exit(3)
		return nil, nil
	})
	add("hang", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		block()
		return nil, nil
	})
	add("progress and wait", func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if _, err := progress(ctx, req); err != nil {
			return nil, err
		}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	add("wait", func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		say("waiting")
		<-ctx.Done()
		say("cancelled")
		return nil, ctx.Err()
	})
	add("progress", progress)
	add("grow", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		add("grown", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return said(&sdk.TextContent{Text: "big"})
		})
		return said(&sdk.TextContent{Text: "grew"})
	})
	return s
}

func progress(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	for i, message := range []string{"", "half way", "", ""} {
		params := &sdk.ProgressNotificationParams{
			ProgressToken: req.Params.GetProgressToken(), Progress: float64(i + 1), Total: 4, Message: message,
		}
		if i == 3 {
			params.Total = 0 // not known any more
		}
		if err := req.Session.NotifyProgress(ctx, params); err != nil {
			return nil, err
		}
	}
	return said()
}

func serveHonestly([]string) {
	say := func(line string) { fmt.Fprintln(os.Stderr, line) }
	if err := honestServer(say).Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
	}
}
