package app_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/massgen/massgen/cmd/massgen/app"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/tests/backendtest"
)

// twelveItems is a judgement of three answers with items of each kind, and a quotation that is made up.
const twelveItems = `{"consensus":[
 {"claim":"One is agreed.","answers":["agent1","agent2","agent3"],"quotes":[{"answer":"agent1","text":"ANSWER: 7"}]},
 {"claim":"Two is agreed.","answers":["agent1","agent2","agent3"],"quotes":[]}],
"partial":[
 {"claim":"Three is partial.","answers":["agent1","agent2"],"quotes":[{"answer":"agent2","text":"made up by the judge"}]},
 {"claim":"Four is partial.","answers":["agent2","agent3"],"quotes":[]}],
"unique":[
 {"claim":"Five is unique.","answers":["agent1"],"quotes":[]},
 {"claim":"Six is unique.","answers":["agent2"],"quotes":[]},
 {"claim":"Seven is unique.","answers":["agent3"],"quotes":[]}],
"contradictions":[{"about":"the number","sides":[
 {"claim":"Eight says seven.","answers":["agent1"],"quotes":[]},
 {"claim":"Nine says forty-two.","answers":["agent2","agent3"],"quotes":[]}]}],
"blind_spots":["Ten is a blind spot.","Eleven is a blind spot.","Twelve is a blind spot."],
"best":"agent2","why":"It shows its work."}`

// TestAnalysisIsTheSameOnEachFace: the terminal, show and its page, sessions show, the page's turn and state, and --json
// have the same twelve items, as testdata/analysis.golden lists.
func TestAnalysisIsTheSameOnEachFace(t *testing.T) {
	models := backendtest.NewServer(t, func(c backendtest.Call) backendtest.Reply { return decide(c, twelveItems, "true") })
	config, state := filepath.Join(t.TempDir(), "panel.yaml"), stateDir(t)
	var agents []string
	for i, id := range []string{"ada", "bob", "cy"} {
		agents = append(agents, fmt.Sprintf("{id: %s, backend: {type: chatcompletion, base_url: %q, model: m%d}}", id, models.BaseURL, i+1))
	}
	text := "agents: [" + strings.Join(agents, ", ") + "]\norchestrator: {strategy: judge}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (stdout, stderr string) {
		t.Helper()
		var out, err bytes.Buffer
		env := app.Env{
			Stdin: strings.NewReader(""), Stdout: &out, Stderr: &err, LocalServers: map[string]string{},
			Lookup: func(string) (string, bool) { return "", false },
		}
		if status := app.Main(slices.Concat([]string{"massgen"}, args, []string{"--state-dir", state}), env); status != 0 {
			t.Fatalf("%v: exit status %d: %s", args, status, &err)
		}
		return out.String(), err.String()
	}
	printed, terminal := run("--config", config, "--session-id", "s", "--json", "What is the number?")
	show, _ := run("show", "s")
	kept, _ := run("sessions", "show", "s")
	file := filepath.Join(t.TempDir(), "turn.html")
	run("show", "s", "--html", file)
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var result struct{ Analysis *contextbuild.Analysis }
	decodeInto(t, []byte(printed), &result)
	if result.Analysis == nil {
		t.Fatalf("--json has no analysis: %s", printed)
	}
	terminal, show = analysisIn(terminal, "analysis: ", "winner: "), analysisIn(show, "analysis: ", "\x00")
	s := serve(t, nil, "--config", config, "--state-dir", state)
	faces := []struct{ name, text string }{
		{"json", printed}, {"terminal", terminal}, {"show", show}, {"show --html", analysisIn(string(page), "<h2>Analysis", "<h2>Agents")}, {"sessions show", kept},
		{"page, turn", analysisAt(t, s.url+"/sessions/s/turns/1")}, {"page, state", analysisAt(t, s.url+"/sessions/s/turns/1/state")},
	}
	var list strings.Builder
	for _, item := range append(claimsOf(*result.Analysis), result.Analysis.BlindSpots...) {
		var who []string
		for _, face := range faces {
			if strings.Count(face.text, item) > 0 {
				who = append(who, face.name)
			}
		}
		fmt.Fprintf(&list, "%s\n    %s\n", item, strings.Join(who, ", "))
	}
	got := list.String() + "\nterminal:\n" + terminal + "\nshow:\n" + show
	golden := filepath.Join("testdata", "analysis.golden")
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
	}
}

func claimsOf(a contextbuild.Analysis) (claims []string) {
	for _, c := range a.Items() {
		claims = append(claims, c.Claim)
	}
	return claims
}

// analysisIn returns the lines of a text from the one that begins with first to the one before last.
func analysisIn(text, first, last string) string {
	from := max(strings.Index(text, first), 0)
	if to := strings.Index(text[from:], last); to >= 0 {
		return text[from : from+to]
	}
	return text[from:]
}

// analysisAt returns the analysis that the page gets from an address: of a result, or of a stream of states.
func analysisAt(t *testing.T, url string) string {
	t.Helper()
	var found json.RawMessage
	take := func(data []byte) {
		var message struct{ Analysis json.RawMessage }
		if json.Unmarshal(data, &message) == nil && len(message.Analysis) > 0 {
			found = message.Analysis
		}
	}
	if strings.HasSuffix(url, "/state") {
		readData(t, http.MethodGet, url, "", take)
		return string(found)
	}
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	var body bytes.Buffer
	if _, err := body.ReadFrom(response.Body); err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
	take(body.Bytes())
	return string(found)
}

// TestPresetsAreModels: PANEL:PRESET is a model of the server, whose response has the judge's analysis while it
// comes and at its end; --no-reasoning leaves out both. One agent has no presets.
func TestPresetsAreModels(t *testing.T) {
	for _, isSilent := range []bool{false, true} {
		args := []string{"--config", "@examples/simulated"}
		if isSilent {
			args = append(args, "--no-reasoning")
		}
		s := serve(t, nil, args...)
		response, err := http.Post(s.url+"/v1/chat/completions", "application/json",
			strings.NewReader(`{"model":"simulated:pick","messages":[{"role":"user","content":"What is 17 * 23?"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		var body bytes.Buffer
		_, err = body.ReadFrom(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			t.Fatal(err)
		}
		var said struct {
			Choices []struct {
				Message struct {
					Content   string
					Reasoning string `json:"reasoning_content"`
				}
			}
			Analysis *contextbuild.Analysis
		}
		decodeInto(t, body.Bytes(), &said)
		if len(said.Choices) != 1 || said.Choices[0].Message.Content != "391" {
			t.Fatal(body.String())
		}
		if reasoning := said.Choices[0].Message.Reasoning; strings.Contains(reasoning, "careful.1, usual.1: The answer is 391.") == isSilent {
			t.Errorf("the reasoning is %q", reasoning)
		}
		if (said.Analysis == nil) != isSilent {
			t.Errorf("the analysis is %v", said.Analysis)
		}
	}
	s := serve(t, nil, "--config", "@examples/one_agent")
	response, err := http.Get(s.url + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	var body bytes.Buffer
	_, err = body.ReadFrom(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(body.String(), "one_agent:") {
		t.Errorf("one agent has presets: %s", &body)
	}
}
