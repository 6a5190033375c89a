package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/models/toolfit"
	answers "github.com/massgen/massgen/internal/tools/schema"
)

// The limits of a server's list. Every model call pays for every definition, so sensible lists are far
// shorter.
const (
	mostTools       = 256
	mostPages       = 32
	mostDescription = 16 << 10
	mostSchema      = 64 << 10
	mostDefinitions = 256 << 10 // all tools' together
)

// listing is a server's tools as it lists them, checked one by one.
type listing struct {
	server Server
	note   func(line string)
	warn   func(text string)
	tools  []listed
	seen   map[string]bool
	size   int // of the definitions, in bytes
}

// listed is a tool under its server's name for it.
type listed struct {
	name       string
	definition backends.Tool // still without a name
	// idempotent is true if the server calls the tool idempotent or read-only.
	idempotent bool
	// readsOnly is true if the server calls the tool read-only.
	readsOnly bool
}

// readTools asks a server for its tools and returns the usable ones. It leaves a faulty tool out, with
// a note.
func readTools(ctx context.Context, session *sdk.ClientSession, server Server, note, warn func(line string)) ([]listed, error) {
	l := listing{server: server, note: note, warn: warn, seen: map[string]bool{}}
	if !offersTools(session.InitializeResult()) {
		warn("it offers no tools")
		return nil, nil
	}
	params := &sdk.ListToolsParams{}
	for pages, count := 1, 0; ; pages++ {
		page, err := session.ListTools(ctx, params)
		if answer, ok := answered(err); ok && answer.Code == jsonrpc.CodeMethodNotFound {
			warn("it offers no tools")
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		kept := page.Tools[:min(len(page.Tools), mostTools-count)]
		for _, tool := range kept {
			l.add(tool)
		}
		count += len(kept)
		isLast := page.NextCursor == ""
		if len(kept) < len(page.Tools) || !isLast && (count == mostTools || pages == mostPages) {
			warn(fmt.Sprintf("it lists more than %d tools, or %d pages of them; the rest is left out", mostTools, mostPages))
			isLast = true
		}
		if isLast {
			break
		}
		params.Cursor = page.NextCursor
	}
	l.recordUnknown()
	return l.tools, nil
}

// uncached is a middleware that keeps the SDK from caching lists of tools: a list is read when it has
// changed, even if the server promised that it would last longer.
func uncached(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		result, err := next(ctx, method, req)
		if list, ok := result.(*sdk.ListToolsResult); ok && list != nil {
			list.TTLMs = 0
		}
		return result, err
	}
}

func (l *listing) add(tool *sdk.Tool) {
	if l.seen[tool.Name] {
		l.note(fmt.Sprintf("it lists the tool %q twice; the first counts", oneLine(tool.Name, mostLogged)))
		return
	}
	l.seen[tool.Name] = true
	if !l.wanted(tool.Name) {
		return
	}
	schema, err := objectSchema(tool)
	if err == nil && tool.Name == "" {
		err = errors.New("it has no name")
	}
	if err == nil && len(tool.Description) > mostDescription {
		err = fmt.Errorf("its description has %d bytes, more than %d", len(tool.Description), mostDescription)
	}
	size := len(tool.Name) + len(tool.Description) + len(schema)
	if err == nil && l.size+size > mostDefinitions {
		err = fmt.Errorf("with it the server's definitions have more than %d bytes; allowed_tools can choose among them", mostDefinitions)
	}
	if err != nil {
		l.warn(fmt.Sprintf("its tool %q is left out: %v", oneLine(tool.Name, mostLogged), err))
		return
	}
	l.size += size
	hints := tool.Annotations
	l.tools = append(l.tools, listed{
		name: tool.Name, definition: backends.Tool{Description: contextbuild.Clean(tool.Description), Schema: schema},
		idempotent: hints != nil && (hints.ReadOnlyHint || hints.IdempotentHint),
		readsOnly:  hints != nil && hints.ReadOnlyHint,
	})
}

func (l *listing) wanted(tool string) bool {
	s := l.server
	return (s.AllowedTools == nil || named(s, s.AllowedTools, tool)) && !named(s, s.ExcludeTools, tool)
}

// named reports whether a tool is in a list of a config.
func named(server Server, list []string, tool string) bool {
	return slices.Contains(list, tool) || slices.Contains(list, plainName(server.prefix(), tool))
}

// recordUnknown notes names in the config that match no tool.
func (l *listing) recordUnknown() {
	for _, name := range slices.Concat(l.server.AllowedTools, l.server.ExcludeTools) {
		known := false
		for tool := range l.seen {
			known = known || named(l.server, []string{name}, tool)
		}
		if !known {
			l.note(fmt.Sprintf("it has no tool %q, which its allowed_tools or exclude_tools name", name))
		}
	}
}

// objectSchema returns the schema of a tool as the server wrote it. It refuses one that cannot describe the
// arguments of a call; package toolfit makes the others fit their service.
func objectSchema(tool *sdk.Tool) (json.RawMessage, error) {
	text, _ := tool.Meta[schemaKey].(string)
	if text == "" || text == "null" || text == "[]" { // PHP writes an empty object as a list
		return json.RawMessage(`{"type":"object","properties":{}}`), nil
	}
	if len(text) > mostSchema {
		return nil, fmt.Errorf("its schema has %d bytes, more than %d", len(text), mostSchema)
	}
	data := json.RawMessage(text)
	if err := answers.CheckDepth(data); err != nil {
		return nil, fmt.Errorf("read its schema: %w", err)
	}
	if _, err := (toolfit.Rules{}).Fit(backends.Tool{Schema: data}); err != nil {
		return nil, err
	}
	return data, nil
}

// offersTools reports whether a server may have tools. Some that have tools declare nothing at all.
func offersTools(result *sdk.InitializeResult) bool {
	if result == nil || result.Capabilities == nil {
		return true
	}
	c := result.Capabilities
	return c.Tools != nil || c.Prompts == nil && c.Resources == nil && c.Completions == nil
}

// mostLogged is how many bytes of a server's text are logged or shown as progress.
const mostLogged = 200

// oneLine returns the first bytes of a server's text on one line.
func oneLine(text string, most int) string {
	cut := text[:min(len(text), most)]
	line := strings.Join(strings.Fields(strings.ToValidUTF8(cut, "")), " ")
	if len(cut) < len(text) {
		line += "…"
	}
	return line
}
