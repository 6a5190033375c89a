package debugbackend

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/massgen/massgen/backends"
)

var update = flag.Bool("update", false, "write the golden files anew")

func checkGolden(t *testing.T, name string, print func(io.Writer) error) {
	t.Helper()
	var got strings.Builder
	if err := print(&got); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Error(diff)
	}
	if err := print(brokenWriter{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a write error is returned as %v", err)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// seedRequest is the input of a turn of seed 003.
func seedRequest(t *testing.T, agent, turn string) backends.Request {
	t.Helper()
	text := func(role string) string {
		data, err := os.ReadFile(filepath.Join("testdata", "turn"+turn+"."+role+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	return backends.Request{
		Key:   backends.Key{Session: "s1", Turn: int(turn[0] - '0'), Agent: agent, Round: 1, Purpose: "coordination"},
		Model: "canned", Messages: []backends.Message{backends.System(text("system")), backends.User(text("user"))},
		Tools: []backends.Tool{
			{Name: "new_answer", Description: "Record a better answer.", Schema: []byte(`{"type":"object"}`)},
			{Name: "vote", Description: "Vote.", Schema: []byte(`{"type":"object","required":["agent_id"]}`)},
		},
	}
}

const goldenScript = `
rules:
- when: {agent: solo, turn: 3}
  reply: {error: {kind: overloaded, message: "busy\e[31m", status: 529}}
- when: {turn: 1}
  reply: {delay: 400ms, chunks: 2, reasoning: Let me see., text: Both are good., new_answer: "Sun, wind and water."}
- when: {turn: 2}
  reply: {delay: 1250ms, vote: {agent: agent1, reason: It is clear.}, usage: {input_tokens: 1234, output_tokens: 5, cached_input_tokens: 1000, reasoning_tokens: 4}}
- reply: {text: hi, usage: none}
`

// goldenCalls are calls of a session of three turns: of the researcher, whose
// inputs are those of seed 003, of an agent without coordination, and of none.
func goldenCalls(t *testing.T) []Call {
	t.Helper()
	var calls []Call
	synctest.Test(t, func(t *testing.T) {
		rec := NewRecorder(Options{})
		b := rec.Wrap(mustParse(t, goldenScript))
		call := func(req backends.Request) {
			if _, err := ask(t.Context(), b, req); err != nil {
				t.Log(err)
			}
			time.Sleep(time.Second)
		}
		for _, turn := range []string{"1", "2", "3"} {
			call(seedRequest(t, "researcher", turn))
		}
		second := seedRequest(t, "researcher", "3")
		second.Key.Index = 1
		second.Messages = append(second.Messages,
			backends.Message{Role: backends.RoleAssistant, Parts: []backends.Part{
				backends.Reasoning{Text: "Hm."}, backends.Opaque{Provider: "p", Model: "m", Data: []byte(`"x"`)},
				backends.ToolCall{ID: "1", Name: "search", Arguments: `{"q":"sun"}`},
			}},
			backends.Message{Role: backends.RoleTool, Parts: []backends.Part{backends.ToolResult{CallID: "1", Name: "search", Content: "no such tool", IsError: true}}},
		)
		temperature := 0.25
		second.Params = backends.Params{Temperature: &temperature, Headers: map[string]string{"X-Key": "sk-1"}}
		second.Tools = second.Tools[1:]
		call(second)
		inJSON := seedRequest(t, "researcher", "3")
		inJSON.Key.Index, inJSON.Tools = 2, nil
		inJSON.Schema = []byte(`{"type":"object","properties":{"action":{"enum":["vote","\u202e"]}}}`)
		call(inJSON)
		solo := backends.Request{Model: "canned", Key: backends.Key{Session: "s1", Turn: 2, Agent: "solo", Round: 1, Purpose: "coordination"}, Messages: []backends.Message{
			backends.User("Why?"), backends.Assistant("Because."),
			{Role: backends.RoleUser, Parts: []backends.Part{backends.Text{Text: "And \x1b[31mred\x1b[0m \u202e\xff?"}, backends.Image{URL: "https://example.org/a.png"}, backends.Image{MediaType: "image/png", Data: []byte{1, 2, 3}}}},
		}}
		call(solo)
		solo.Key.Turn = 3
		solo.Messages = append(solo.Messages[:2:2], backends.User("?"))
		call(solo)
		call(backends.Request{Model: "canned", Key: backends.Key{Session: "s1", Turn: 1, Purpose: "title"}, Messages: []backends.Message{backends.User("Name it.")}})
		calls = rec.Calls()
	})
	return calls
}

func TestPrintGolden(t *testing.T) {
	calls := goldenCalls(t)
	checkGolden(t, "print", func(w io.Writer) error { return Print(w, calls) })
}

func TestPrintRareForms(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	calls := []Call{
		{Number: 1, Attempt: 2, Start: start, Body: []byte("\x00\xff"), EarlierBodies: []exactBytes{[]byte("before")}},
		{Number: 2, Attempt: 1, Start: start, End: start.Add(time.Second), Outcome: outcomeLeft, Request: backends.Request{History: "full: shown the last message; what is older is left out", Tools: []backends.Tool{{Name: "x", Schema: []byte("{broken")}}, Schema: []byte("{broken\x1b")}},
		{Number: 3, Attempt: 1, Start: start, End: start.Add(time.Second), Outcome: outcomePanicked},
	}
	checkGolden(t, "print_rare", func(w io.Writer) error { return Print(w, calls) })
}

func TestTableGolden(t *testing.T) {
	calls := goldenCalls(t)
	checkGolden(t, "table", func(w io.Writer) error { return Table(w, calls) })
	checkGolden(t, "table_by_call", func(w io.Writer) error { return CallTable(w, calls) })
}

func TestDiffGolden(t *testing.T) {
	calls := map[string]Call{}
	for _, c := range goldenCalls(t) {
		calls[c.Request.Key.String()] = c
	}
	pick := func(key string) Call {
		c, ok := calls[key]
		if !ok {
			t.Fatalf("no %s", key)
		}
		return c
	}
	first, third := pick("turn 1, researcher, round 1, coordination 0"), pick("turn 3, researcher, round 1, coordination 1")
	checkGolden(t, "diff", func(w io.Writer) error { return Diff(w, first, third) })
	withSchema := pick("turn 3, researcher, round 1, coordination 2")
	checkGolden(t, "diff_schema", func(w io.Writer) error { return Diff(w, third, withSchema) })
	checkGolden(t, "diff_equal", func(w io.Writer) error { return Diff(w, first, first) })
	long := func(lines string) Call {
		return Call{Number: 1, Request: backends.Request{Messages: []backends.Message{backends.User(lines)}}}
	}
	many := strings.Repeat("same\n", 20)
	a, b := long("old\n"+many+"old\x1b\n"+many+"end"), long("new\n"+many+"new\n"+many+"end\n")
	checkGolden(t, "diff_long", func(w io.Writer) error { return Diff(w, a, b) })
}

func TestLegendIsPrintedWhereItChanges(t *testing.T) {
	small := Call{Request: backends.Request{Key: backends.Key{Turn: 1, Agent: "x"}}, Participants: map[string]string{"agent1": "x", "agent2": "y"}}
	large := small
	large.Participants = map[string]string{}
	for i := range 11 {
		large.Participants[fmt.Sprintf("agent%d", i+1)] = string(rune('a' + i))
	}
	var out strings.Builder
	if err := Print(&out, []Call{small, small, large}); err != nil {
		t.Fatal(err)
	}
	var legends []string
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "agent1 = ") {
			legends = append(legends, line)
		}
	}
	want := []string{"agent1 = x, agent2 = y\n", "agent1 = a, agent2 = b, agent3 = c, agent4 = d, agent5 = e, agent6 = f, agent7 = g, agent8 = h, agent9 = i, agent10 = j, agent11 = k\n"}
	if !slices.Equal(legends, want) || !strings.HasPrefix(out.String(), want[0]+"\nturn 1, x") {
		t.Errorf("legends %q in\n%s", legends, out.String())
	}
}
