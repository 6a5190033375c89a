//go:build mcpservers

package mcpservers

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/tools/mcp"
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
			c := connect(t, server(t))
			const (
				echo = "mcp__everything__echo"
				sum  = "mcp__everything__get-sum"
				long = "mcp__everything__trigger-long-running-operation"
			)
			mustHave(t, c, echo, sum, long)
			check(t, run(t, c, nil,
				toolCalls{calling(echo, `{"message":"hello"}`), calling(sum, `{"a":2,"b":3}`)},
				toolCalls{calling("mcp__everything__get-structured-content", `{"location":"Chicago"}`), calling("mcp__everything__get-tiny-image", "")},
				toolCalls{calling(echo, `{"message":7}`)},
			), "Echo: hello", "sum of 2 and 3 is 5", `"temperature":`, "image/png", "essage")
			var told []string
			check(t, run(t, c, func(_ *coordinator.Turn, ev report.Event) {
				if ev, ok := ev.(report.ToolProgress); ok {
					told = append(told, fmt.Sprintf("%s %s %.1f", ev.Tool, ev.Text, ev.Fraction))
				}
			}, toolCalls{calling(long, `{"duration":1,"steps":10}`)}), "completed")
			if len(told) == 0 || told[0] != long+" 1 of 10 0.1" {
				t.Errorf("the progress was %q", told)
			}
			cancelled(t, c, long)
			check(t, run(t, c, nil, toolCalls{calling(echo, `{"message":"still there"}`)}), "Echo: still there")
		})
	}
}

// cancelled has an agent begin a call of a minute, and cancels the turn when the tool says
// that it is at work.
func cancelled(t *testing.T, c *mcp.Client, tool string) {
	t.Helper()
	result := run(t, c, func(turn *coordinator.Turn, ev report.Event) {
		if _, ok := ev.(report.ToolProgress); ok {
			turn.Cancel()
		}
	}, toolCalls{calling(tool, `{"duration":60,"steps":600}`)})
	if result.Status != kernel.Cut || result.DurationMS > 30_000 || len(result.Warnings) > 0 {
		t.Errorf("the turn that was cancelled ended as %s after %d ms: %q", result.Status, result.DurationMS, result.Warnings)
	}
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
	})
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
	result := run(t, c, nil,
		toolCalls{calling(write, fmt.Sprintf(`{"path":%q,"content":"Hello World"}`, file))},
		toolCalls{calling(read, fmt.Sprintf(`{"path":%q}`, file)), calling(list, fmt.Sprintf(`{"path":%q}`, folder))},
		toolCalls{calling(read, `{"path":"/etc/passwd"}`)},
	)
	check(t, result, "Successfully wrote", "Hello World", "test.txt", "outside allowed")
	if !result.ToolCalls[3].Error {
		t.Errorf("a path outside is no error: %+v", result.ToolCalls[3])
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "Hello World" {
		t.Errorf("the file has %q: %v", got, err)
	}
}
