//go:build mcpservers

package mcpservers

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/massgen/massgen/cmd/massgen/app"
)

// asProgram in the environment makes this test's process the program massgen.
const asProgram = "MCPSERVERS_AS_MASSGEN"

func runProgram() { os.Exit(app.Main(append([]string{"massgen"}, os.Args[1:]...), app.System())) }

// program is the environment in which this test's process is the program, without keys.
func program(t *testing.T) []string {
	t.Helper()
	env := append(os.Environ(), asProgram+"=1", "HOME="+t.TempDir(), "XDG_STATE_HOME=", "XDG_CONFIG_HOME=")
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasSuffix(name, "_API_KEY") {
			env = append(env, name+"=")
		}
	}
	return env
}

// demo is a panel with canned answers, whatever else this machine has.
func demo(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pair.yaml")
	text := "agents: [{id: ada, backend: {type: demo}}, {id: bob, backend: {type: demo}}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// serving starts "massgen serve" until t ends, and returns its address.
func serving(t *testing.T) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "serve", "--listen", "127.0.0.1:0", "--config", demo(t))
	cmd.Env = program(t)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		lines := bufio.NewReader(stderr)
		line, err := lines.ReadString('\n')
		if err == nil {
			said <- line
		}
		_, _ = io.Copy(io.Discard, lines) // nobody reads what it logs
	}()
	t.Cleanup(func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		<-ended
		if err := cmd.Wait(); err != nil {
			t.Errorf("massgen serve: %v", err)
		}
	})
	select {
	case line := <-said:
		_, address, _ := strings.Cut(line, "http://")
		address, _, found := strings.Cut(address, "/v1")
		if !found {
			t.Fatalf("it says %q", line)
		}
		return "http://" + address + "/mcp"
	case <-ended:
		t.Fatal("massgen serve has ended")
	case <-time.After(startLimit):
		t.Fatal("massgen serve does not listen")
	}
	return ""
}

// TestOfficialClient has the TypeScript SDK's client ask panels, over each transport.
func TestOfficialClient(t *testing.T) {
	for name, server := range map[string]func(*testing.T) []string{
		"stdio": func(t *testing.T) []string { return []string{os.Args[0], "mcp", "--config", demo(t)} },
		"http":  func(t *testing.T) []string { return []string{serving(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), "node", append([]string{"client.mjs", filepath.Dir(filepath.Dir(installed(t, "sdk", "dist", "esm", "client", "index.js")))}, server(t)...)...)
			cmd.Env = program(t)
			var log strings.Builder // the server's own, too
			cmd.Stderr = &log
			if out, err := cmd.Output(); err != nil || strings.TrimSpace(string(out)) != "ok" {
				t.Errorf("%v: %s\n%s", err, out, &log)
			}
		})
	}
}

// TestConformance runs the official suite. conformance.yaml has the scenarios that cannot pass;
// one of them that passes is a failure too.
func TestConformance(t *testing.T) {
	t.Parallel()
	expected, err := filepath.Abs("conformance.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", installed(t, "conformance", "dist", "index.js"),
		"server", "--url", serving(t), "--suite", "all", "--expected-failures", expected)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	if _, summary, found := strings.Cut(string(out), "=== SUMMARY ==="); found {
		t.Log(summary)
	}
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
