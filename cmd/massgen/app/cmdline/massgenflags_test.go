package cmdline_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/configs"
)

// TestReferenced: only an existing path behind a lone @ is one.
func TestReferenced(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"a.txt", "b"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		question, text string
		paths          []string
	}{
		{"@a.txt", "a.txt", []string{"a.txt (read)"}},
		{"see @a.txt, (@b:w).", "see a.txt, (b).", []string{"a.txt (read)", "b (write)"}},
		{"Read @a.txt. Then @b: now", "Read a.txt. Then b: now", []string{"a.txt (read)", "b (read)"}},
		{"me@a.txt @none.txt @ @@b", "me@a.txt @none.txt @ @@b", nil},
		{"no path", "no path", nil},
		{"@", "@", nil},
	} {
		text, paths := cmdline.Referenced(tc.question)
		var got []string
		for _, p := range paths {
			got = append(got, p.String())
		}
		if text != tc.text || !slices.Equal(got, tc.paths) {
			t.Errorf("%q: %q %q, want %q %q", tc.question, text, got, tc.text, tc.paths)
		}
	}
}

// TestEveryFlagOfMassGenIsKnown: it works, or the program says what stands in its place.
func TestEveryFlagOfMassGenIsKnown(t *testing.T) {
	const ofMassGen = `automation backend base-url broadcast checklist-criteria-preset config config-agent-id config-agents
		config-backend config-context-path config-docker config-model continue coordination-mode cwd-context debug display
		eval-criteria example execute-plan execute-spec fast generate-config headless inbox-dir init json list-backends
		list-examples list-sessions log-dir logfire model no-browser no-display no-logs no-parse-at-references
		no-session-registry orchestrator-timeout output-file personas plan plan-and-execute plan-chunks plan-depth plan-steps
		plan-thoroughness quick quickstart quickstart-agent rate-limit save-streaming-buffers schema-backend select session-dir
		session-id setup setup-docker setup-skills show-schema single-agent skip-agent-selector skip-validation spec step
		stream-events strict strict-validation system-message textual-serve textual-serve-port validate web web-host web-port
		web-quickstart web-review with-examples`
	var known []string
	for _, f := range (&cmdline.Options{}).Flags() {
		known = append(known, f.Names()...)
	}
	for _, name := range strings.Fields(ofMassGen) {
		here, instead := slices.Contains(known, name), cmdline.InPlaceOf(name)
		if here == (instead != "") {
			t.Errorf("--%s: here %t, in its place %q", name, here, instead)
		}
	}
}

// TestModesChangeAConfig: a shown path gives agents a folder, and one that may be written to a presenter.
func TestModesChangeAConfig(t *testing.T) {
	c := configs.Default()
	c.Agents = []configs.Agent{{ID: "a"}, {ID: "b", Tools: configs.Tools{CWD: "own"}}}
	f := cmdline.ModeFlags{Context: "rw", Criteria: "Criteria.", Quick: true}
	if err := f.Apply(c); err != nil {
		t.Fatal(err)
	}
	if got := c.Agents[0].Tools.CWD; got != ".massgen/workspaces/a" {
		t.Error(got)
	}
	if got := c.Agents[1].Tools.CWD; got != "own" {
		t.Error(got)
	}
	if rules := c.Orchestrator.Rules; rules.Decider != "first" || rules.Final != "winner_present" {
		t.Errorf("%+v", rules)
	}
	if got := c.Agents[0].SystemMessage; got != "Criteria." {
		t.Error(got)
	}
	if err := (cmdline.ModeFlags{Single: "B"}).Apply(c); err != nil || len(c.Agents) != 1 || c.Agents[0].ID != "b" {
		t.Errorf("%v %v", c.Agents, err)
	}
}

// TestListenAddress: a host may be an address of version 6.
func TestListenAddress(t *testing.T) {
	for want, f := range map[string]cmdline.LogFlags{"127.0.0.1:8000": {}, "[::1]:81": {WebHost: "::1", WebPort: "81"}} {
		if got, err := f.ListenAddress(); err != nil || got != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
}
