//go:build clients

package clients

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/cmd/massgen/app"
	"github.com/massgen/massgen/tests/backendtest"
	"github.com/massgen/massgen/tests/leaks"
)

// asProgram has a process of the tests be the program massgen.
const asProgram = "MASSGEN_CLIENTS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(app.Main(append([]string{"massgen"}, os.Args[1:]...), app.System()))
	}
	leaks.Main(m)
}

// token is the server's.
const token = "clients-0123456789abcdef"

// serve runs "massgen serve" until t ends, with the model "panel" of two agents, ada and bob, and the
// model "providers" of eve, gil and rex, whose providers search and see pictures. What it sends is
// checked on the way.
func serve(t *testing.T) *checker {
	t.Helper()
	models := backendtest.NewServer(t, reply)
	dir := t.TempDir()
	config := "agents:\n"
	for _, id := range []string{"ada", "bob"} {
		config += fmt.Sprintf("  - {id: %s, backend: {type: openai, model: model-%[1]s, base_url: %q, api_key: any-key-will-do}}\n", id, models.BaseURL)
	}
	if err := os.WriteFile(filepath.Join(dir, "panel.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	config = "agents:\n"
	for _, a := range []struct {
		id, backend string
		wire        backendtest.Protocol
	}{
		{"eve", "type: claude, model: claude-opus-4-6", backendtest.Messages()},
		{"gil", "type: gemini, model: gemini-3.5-flash", backendtest.GenerateContent()},
		{"rex", "type: openai, model: gpt-5, api: responses", backendtest.Responses()},
	} {
		models := backendtest.NewProtocolServer(t, a.wire, func(c backendtest.Call) backendtest.Reply { return looking(a.id, c) })
		config += fmt.Sprintf("  - {id: %s, backend: {%s, base_url: %q, api_key: any-key-will-do}}\n", a.id, a.backend, models.BaseURL)
	}
	if err := os.WriteFile(filepath.Join(dir, "providers.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return check(t, start(t, dir, "serve", "--config", "panel.yaml", "--config", "providers.yaml", "--listen", "127.0.0.1:0", "--state-dir", "state"))
}

// start runs the program in a folder until t ends, and returns the address at which it listens.
func start(t *testing.T, dir string, args ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asProgram+"=yes", "HOME="+dir, "MASSGEN_TOKEN="+token)
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		pattern := regexp.MustCompile(`listening on (http://127\.0\.0\.1:\d+)`)
		for lines := bufio.NewScanner(said); lines.Scan(); {
			t.Log(lines.Text())
			if m := pattern.FindStringSubmatch(lines.Text()); m != nil {
				address <- m[1]
			}
		}
		ended <- cmd.Wait()
	}()
	select {
	case a := <-address:
		t.Cleanup(func() {
			if err := cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Error(err)
			}
			if err := <-ended; err != nil {
				t.Errorf("the server ends with %v", err)
			}
		})
		return a
	case err := <-ended:
		t.Fatalf("the server does not listen: %v", err)
	}
	return ""
}

// reply is what the agents' models say: an answer that names the agent, the question and those before
// it, or in a panel a vote for the first agent. Some questions are about more.
func reply(c backendtest.Call) backendtest.Reply {
	usage := &backends.Usage{InputTokens: 20, OutputTokens: 10}
	before, question, result, isFirst := conversation(c)
	agent := strings.TrimPrefix(c.Model(), "model-")
	answer := agent + " on " + question
	if len(before) > 0 {
		answer += " after " + strings.Join(before, ", ")
	}
	tools := c.ToolNames()
	if strings.Contains(fmt.Sprint(c.Messages()), "fixed form") {
		return inForm(c, isFirst)
	}
	switch {
	case question == "Fail?":
		return backendtest.Reply{Error: &backendtest.ReplyError{Status: 400, Message: "no"}}
	case question == "Never?":
		return backendtest.Reply{Fault: backendtest.HangBefore}
	case result != "":
		return backendtest.Reply{Text: agent + " says " + result, Usage: usage}
	case slices.Contains(tools, "read"):
		return backendtest.Reply{ToolCalls: []backends.ToolCall{{ID: "1", Name: "read", Arguments: `{"path":"note.txt"}`}}, Usage: usage}
	case slices.Contains(tools, "weather"):
		return backendtest.Reply{ToolCalls: []backends.ToolCall{{ID: "1", Name: "weather", Arguments: `{"city":"Bonn"}`}}, Usage: usage}
	case slices.Contains(tools, "vote") && !isFirst:
		return backendtest.Reply{ToolCalls: []backends.ToolCall{{ID: "1", Name: "vote", Arguments: `{"agent_id":"agent1","reason":"It is right."}`}}, Usage: usage}
	case slices.Contains(tools, "new_answer"):
		return backendtest.Reply{ToolCalls: []backends.ToolCall{{ID: "1", Name: "new_answer", Arguments: fmt.Sprintf(`{"content":%q}`, answer)}}, Usage: usage}
	}
	return backendtest.Reply{Text: answer, Usage: usage}
}

// looking answers with the hashes of the pictures that an agent is sent, and what its provider finds
// if it may search. All vote for eve.
func looking(agent string, c backendtest.Call) backendtest.Reply {
	_, _, _, isFirst := conversation(c)
	usage := &backends.Usage{InputTokens: 20, OutputTokens: 10}
	if slices.Contains(c.ToolNames(), "vote") && !isFirst {
		return backendtest.Reply{ToolCalls: []backends.ToolCall{{ID: "1", Name: "vote", Arguments: `{"agent_id":"agent1","reason":"It is right."}`}}, Usage: usage}
	}
	r := backendtest.Reply{Text: agent + " “looks”.", Usage: usage}
	for _, m := range c.Messages() {
		for _, p := range m.Parts {
			if image, ok := p.(backends.Image); ok {
				r.Text += fmt.Sprintf(" %s: %x", image.MediaType, sha256.Sum256(image.Data))
			}
		}
	}
	if c.Request().Params.Hosted.WebSearch {
		r.Hosted = &backendtest.Hosted{Query: "tides", Found: []backends.Citation{{URL: "https://" + agent + ".example/tides", Title: "Tides"}}}
	}
	if slices.Contains(c.ToolNames(), "new_answer") {
		r.ToolCalls = []backends.ToolCall{{ID: "1", Name: "new_answer", Arguments: fmt.Sprintf(`{"content":%q}`, r.Text)}}
	}
	return r
}

// inForm answers with a city where the client gave a schema. An agent alone has to be told so.
func inForm(c backendtest.Call, isFirst bool) backendtest.Reply {
	const city = `{"city": "Bonn"}`
	switch {
	case slices.Contains(c.ToolNames(), "vote") && !isFirst:
		return backendtest.Reply{ToolCalls: []backends.ToolCall{{ID: "1", Name: "vote", Arguments: `{"agent_id":"agent1","reason":"It is right."}`}}}
	case slices.Contains(c.ToolNames(), "new_answer"):
		return backendtest.Reply{ToolCalls: []backends.ToolCall{{ID: "1", Name: "new_answer", Arguments: `{"content":` + city + `}`}}}
	case !strings.Contains(fmt.Sprint(c.Messages()), "this reply is no answer"):
		return backendtest.Reply{Text: "It is Bonn."}
	}
	return backendtest.Reply{Text: city}
}

// conversation is what a call says of the questions before, of this one, and of the result of a tool.
// isFirst reports whether the agent is shown no answers yet.
func conversation(c backendtest.Call) (before []string, question, result string, isFirst bool) {
	for _, m := range c.Messages() {
		for _, p := range m.Parts {
			if r, ok := p.(backends.ToolResult); ok {
				result = r.Content
			}
		}
		if m.Role != backends.RoleUser {
			continue
		}
		if question != "" {
			before = append(before, question)
		}
		question, result = m.Text(), ""
	}
	isFirst = strings.Contains(question, "(no answers available yet)")
	_, rest, isPanel := strings.Cut(question, "<ORIGINAL MESSAGE> ")
	if !isPanel {
		return before, question, result, isFirst
	}
	for line := range strings.Lines(question) {
		if asked, isQuestion := strings.CutPrefix(line, "User: "); isQuestion {
			before = append(before, strings.TrimSpace(asked))
		}
	}
	question, _, _ = strings.Cut(rest, " <END OF ORIGINAL MESSAGE>")
	return before, question, result, isFirst
}

// installed returns the path of something that scripts/clients.sh installs.
func installed(t *testing.T, elem ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(append([]string{"..", "..", ".cache", "clients"}, elem...)...))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: scripts/clients.sh installs it", err)
	}
	return path
}
