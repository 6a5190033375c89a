package massgen

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestForgottenLauncherIsNamed where the config starts programs, and only there.
func TestForgottenLauncherIsNamed(t *testing.T) {
	launched.Store(false) // as in a program without the call
	defer launched.Store(true)
	for config, want := range map[string]string{
		"agents: [{id: ada, backend: {type: demo}}]":                                                         "",
		"agents: [{id: ada, backend: {type: demo}}]\nmcp_servers: {prices: {command: prices}}":               `the config has the MCP server "prices": massgen starts it by running this program again: call massgen.Launcher first`,
		"agents: [{id: ada, backend: {type: demo, cwd: work, enable_mcp_command_line: true}}]":               "agent ada has commands: massgen starts",
		"agents: [{id: ada, backend: {type: demo}}]\nmcp_servers: {prices: {url: 'http://127.0.0.1:1/mcp'}}": "",
	} {
		file := filepath.Join(t.TempDir(), "panel.yaml")
		if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := Load(t.Context(), file, WithStateDir(t.TempDir()))
		switch {
		case want == "" && err == nil:
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		case want == "", err == nil, !strings.Contains(err.Error(), want):
			t.Errorf("%s: the error is %v, want %q", config, err, want)
		}
	}
}
