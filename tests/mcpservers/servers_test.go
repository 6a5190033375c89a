//go:build mcpservers

package mcpservers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/massgen/massgen/agents/conversation"
	"github.com/massgen/massgen/agents/mcp"
	"github.com/massgen/massgen/backends"
)

type toolCalls = []backends.ToolCall

// TestEverything has an agent list and call tools, follow a long call and cancel one,
// over each transport.
func TestEverything(t *testing.T) {
	for name, server := range map[string]func(*testing.T) mcp.Server{
		"stdio": func(t *testing.T) mcp.Server {
			return mcp.Server{Name: "everything", Command: "node", Args: []string{script(t, "server-everything"), "stdio"}}
		},
		"http": everythingOverHTTP,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var told progress
			c := connect(t, server(t), told.tell)
			const (
				echo = "mcp__everything__echo"
				sum  = "mcp__everything__get-sum"
				long = "mcp__everything__trigger-long-running-operation"
			)
			mustHave(t, c, echo, sum, long)
			results, _ := run(t.Context(), t, c,
				toolCalls{calling(echo, `{"message":"hello"}`), calling(sum, `{"a":2,"b":3}`)},
				toolCalls{calling("mcp__everything__get-structured-content", `{"location":"Chicago"}`), calling("mcp__everything__get-tiny-image", "")},
				toolCalls{calling(echo, `{"message":7}`)},
				toolCalls{calling(long, `{"duration":0.3,"steps":3}`)},
			)
			check(t, results, "Echo: hello", "sum of 2 and 3 is 5", `"temperature":`, "image/png", "essage", "completed")
			if got := told.all(); !slices.Contains(got, "everything trigger-long-running-operation 2 of 3") {
				t.Errorf("the progress was %q", got)
			}
			cancelled(t, c, &told, long)
			results, _ = run(t.Context(), t, c, toolCalls{calling(echo, `{"message":"still there"}`)})
			check(t, results, "Echo: still there")
		})
	}
}

// cancelled has an agent begin a call of a minute and cancels it when it has begun.
func cancelled(t *testing.T, c *mcp.Client, told *progress, tool string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	told.onNext(cancel)
	results, status := run(ctx, t, c, toolCalls{calling(tool, `{"duration":60,"steps":600}`)})
	if ctx.Err() == nil || status != conversation.Failed {
		t.Errorf("the agent that was cancelled ended with %s: %+v", status, results)
	}
}

// progress keeps what a client tells of its calls.
type progress struct {
	mu   sync.Mutex
	told []string
	then func()
}

func (p *progress) tell(server, tool string, _ float64, message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = append(p.told, fmt.Sprintf("%s %s %s", server, tool, message))
	if p.then != nil {
		p.then()
	}
}

func (p *progress) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.told)
}

func (p *progress) onNext(then func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.then = then
}

// TestFilesystem has an agent write, read and list files, and stay in its folder.
func TestFilesystem(t *testing.T) {
	t.Parallel()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := connect(t, mcp.Server{
		Name: "filesystem", Command: "node", Args: []string{script(t, "server-filesystem"), folder},
		ExcludeTools: []string{"mcp__filesystem__move_file"},
	}, nil)
	const (
		write = "mcp__filesystem__write_file"
		read  = "mcp__filesystem__read_text_file"
		list  = "mcp__filesystem__list_directory"
	)
	mustHave(t, c, write, read, list)
	if slices.Contains(names(c.Tools()), "mcp__filesystem__move_file") {
		t.Error("a tool that is excluded is there")
	}
	file := filepath.Join(folder, "test.txt")
	results, status := run(t.Context(), t, c,
		toolCalls{calling(write, fmt.Sprintf(`{"path":%q,"content":"Hello World"}`, file))},
		toolCalls{calling(read, fmt.Sprintf(`{"path":%q}`, file)), calling(list, fmt.Sprintf(`{"path":%q}`, folder))},
		toolCalls{calling(read, `{"path":"/etc/passwd"}`)},
	)
	check(t, results, "Successfully wrote", "Hello World", "test.txt", "outside allowed")
	if status != conversation.Done || !results[3].IsError {
		t.Errorf("the agent ended with %s, %+v", status, results)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "Hello World" {
		t.Errorf("the file has %q: %v", got, err)
	}
}
