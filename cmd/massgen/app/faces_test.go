//go:build linux && tmux

package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/tests/backendtest"
)

// TestFacesSayTheSame: the sentences about a turn are the same on each face that has them, as testdata/faces.golden
// lists: the lines of a pipe, the live lines, the log of --debug, the full screen, the page and sessions show. The page
// and show tell of the same turn. The others play it again.
func TestFacesSayTheSame(t *testing.T) {
	config := filepath.Join(t.TempDir(), "panel.yaml")
	panel := troubledPanel(t)
	if err := os.WriteFile(config, []byte(panel), 0o600); err != nil {
		t.Fatal(err)
	}
	state := stateDir(t)
	sentences := sentencesOfPage(t, config, state)
	lines, log := runDebugging(t, config)
	faces := []struct{ name, text string }{
		{"lines", lines}, {"live", showLines(t, config, func(string) {})}, {"log", log}, {"screen", showTroubled(t, panel)},
		{"show", runFace(t, "sessions", "show", "s", "--state-dir", state)},
	}
	for i := range faces {
		faces[i].text = sameAgain(faces[i].text)
	}
	var list []string
	for _, s := range sentences {
		who := []string{"page"}
		for _, face := range faces {
			if strings.Contains(face.text, s) {
				who = append(who, face.name)
			}
		}
		slices.Sort(who)
		list = append(list, s+"\n    "+strings.Join(who, ", ")+"\n")
	}
	slices.Sort(list) // what happens at once has no order
	golden := filepath.Join("testdata", "faces.golden")
	got := strings.Join(slices.Compact(list), "")
	if *updateGoldens {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; -update writes it:\n%s", golden, got)
		for _, face := range faces {
			t.Logf("%s:\n%s", face.name, face.text)
		}
	}
}

// troubledPanel is a panel on a server of its own: ada calls a tool, the first call of bob fails and is made again, the keys
// of cy and dan are wrong, and cy goes to another model. All vote for ada.
func troubledPanel(t *testing.T) string {
	t.Helper()
	var calls atomic.Int64 // of bob, before there are answers
	server := backendtest.NewServer(t, func(c backendtest.Call) backendtest.Reply {
		fails := func(status int) backendtest.Reply {
			return backendtest.Reply{Error: &backendtest.ReplyError{Status: status, Message: "out of order"}}
		}
		r := voteFor("agent1")
		switch last := c.Messages()[len(c.Messages())-1]; {
		case c.Model() == "model-cy" || c.Model() == "model-dan":
			return fails(http.StatusUnauthorized)
		case !isBlind(c):
		case c.Model() == "model-bob" && calls.Add(1)%2 == 1:
			return fails(http.StatusInternalServerError)
		case c.Model() == "model-ada" && last.Role == backends.RoleUser:
			r.ToolCalls[0].Name, r.ToolCalls[0].Arguments = "list_files", `{"path":"."}`
		default:
			r.ToolCalls[0].Name, r.ToolCalls[0].Arguments = "new_answer", fmt.Sprintf(`{"content":"An answer by %s."}`, c.Model())
		}
		r.Usage = &backends.Usage{InputTokens: 1200, OutputTokens: 34}
		return r
	})
	var agents []string
	for _, id := range []string{"ada", "bob", "cy", "dan"} {
		backend := fmt.Sprintf("type: vllm, model: model-%s, base_url: %q, api_key: key-of-%s", id, server.BaseURL, id)
		switch id {
		case "ada":
			backend += fmt.Sprintf(", cwd: %q", t.TempDir())
		case "cy":
			backend += fmt.Sprintf(", fallback: [{type: chatcompletion, model: other, base_url: %q, api_key: key-of-other}]", server.BaseURL)
		}
		agents = append(agents, fmt.Sprintf("{id: %s, backend: {%s}}", id, backend))
	}
	return "agents: [" + strings.Join(agents, ", ") + "]\n"
}

// sameAgain returns a text without what differs from run to run: times, and the port of the server.
func sameAgain(text string) string {
	text = regexp.MustCompile(`\d+\.\d s`).ReplaceAllLiteralString(text, "T s")
	return regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllLiteralString(text, "127.0.0.1:PORT")
}

// sentencesOfPage plays the turn for the page, and returns the sentences that the page draws.
func sentencesOfPage(t *testing.T, config, state string) (sentences []string) {
	t.Helper()
	s := serve(t, nil, "--config", config, "--state-dir", state)
	type news struct{ Text, Figures string }
	var list []news
	s.readState(t, func(data []byte) {
		var message struct{ News json.RawMessage }
		decodeInto(t, data, &message)
		if bytes := message.News; len(bytes) > 0 && bytes[0] == '[' {
			decodeInto(t, bytes, &list)
		} else if len(bytes) > 0 {
			var tail struct {
				Drop, Keep int
				Add        []news
			}
			decodeInto(t, bytes, &tail)
			list = append(list[tail.Drop:tail.Drop+tail.Keep:tail.Drop+tail.Keep], tail.Add...)
		}
	})
	for _, n := range list {
		if n.Figures != "" {
			n.Text += " · " + n.Figures
		}
		sentences = append(sentences, sameAgain(n.Text))
	}
	return sentences
}

// runDebugging runs the program with --debug, and returns its other output and its log.
func runDebugging(t *testing.T, config string) (lines, log string) {
	t.Helper()
	for line := range strings.Lines(runFace(t, "--config", config, "--debug", "What is cheap?")) {
		if strings.HasPrefix(line, "time=") {
			log += strings.ReplaceAll(line, `\"`, `"`)
		} else {
			lines += line
		}
	}
	return lines, log
}

func runFace(t *testing.T, arguments ...string) string {
	t.Helper()
	dir := t.TempDir()
	program := exec.Command("massgen", arguments...)
	program.Dir, program.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "STATUS=" + filepath.Join(dir, "status")}
	out, err := program.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// showTroubled plays the turn on the full screen, and returns what that shows in the end, with all that it folds.
func showTroubled(t *testing.T, panel string) string {
	t.Helper()
	x := openTmuxWith(t, 240, 80, panel, "%s")
	x.until("ready")
	x.keys("-l", "What is cheap?")
	x.keys("Enter")
	x.until("2 messages")
	x.keys("C-x")
	x.until("cy voted for")
	return x.shown()
}
