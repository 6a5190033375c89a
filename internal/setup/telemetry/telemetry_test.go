package telemetry_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/setup/telemetry"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/tests/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// collector takes what is sent, as an OpenTelemetry collector does.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	text  string // of all requests
	spans []spanJSON
	// metrics are the last that came, by name.
	metrics map[string][]pointJSON
	headers http.Header
}

type attributeJSON struct {
	Key   string
	Value struct {
		StringValue, IntValue string
		BoolValue             bool
	}
}

type spanJSON struct {
	TraceID, SpanID, ParentSpanID, Name string
	Kind                                int
	StartTimeUnixNano, EndTimeUnixNano  string
	Attributes                          []attributeJSON
	Status                              struct{ Code int }
}

type pointJSON struct {
	Attributes []attributeJSON
	Count      string
	Sum        float64
}

func valueOf(list []attributeJSON, key string) string {
	for _, a := range list {
		if a.Key == key {
			return a.Value.StringValue + a.Value.IntValue
		}
	}
	return ""
}

func collect(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var body struct {
			ResourceSpans []struct {
				ScopeSpans []struct{ Spans []spanJSON }
			}
			ResourceMetrics []struct {
				ScopeMetrics []struct {
					Metrics []struct {
						Name      string
						Histogram struct{ DataPoints []pointJSON }
					}
				}
			}
		}
		var raw json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&raw); err != nil {
			t.Error(err)
		}
		if err := json.Unmarshal(raw, &body); err != nil {
			t.Error(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.text += r.URL.Path + string(raw)
		c.headers = r.Header
		for _, rs := range body.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				c.spans = append(c.spans, ss.Spans...)
			}
		}
		for _, rm := range body.ResourceMetrics {
			c.metrics = map[string][]pointJSON{}
			for _, m := range rm.ScopeMetrics[0].Metrics {
				c.metrics[m.Name] = m.Histogram.DataPoints
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// exporter sends here, with variables beside the endpoint.
func (c *collector) exporter(t *testing.T, variables map[string]string) *telemetry.Exporter {
	t.Helper()
	e, err := telemetry.New(func(name string) (string, bool) {
		if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
			return c.URL, true
		}
		value, set := variables[name]
		return value, set
	}, "v1", func(text string) string { return text }, func(string, string) {}, func(text string) { t.Error(text) })
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// theTurn is the turn of the tests.
var theTurn = telemetry.Of{Session: "s", Turn: 2, Question: "the question"}

// follow sends the telemetry of events, with variables beside the endpoint.
func (c *collector) follow(t *testing.T, variables map[string]string, events ...report.Event) {
	t.Helper()
	e := c.exporter(t, variables)
	e.Follow(theTurn, slices.Values(events))
	e.Close()
}

// tree is a line for each span, with its parents before its name, sorted.
func (c *collector) tree(t *testing.T) string {
	t.Helper()
	byID := map[string]spanJSON{}
	for _, s := range c.spans {
		if _, twice := byID[s.SpanID]; twice {
			t.Errorf("two spans have the id %s", s.SpanID)
		}
		byID[s.SpanID] = s
	}
	var lines []string
	for _, s := range c.spans {
		line := s.Name
		if s.Status.Code == 2 {
			line += " (" + valueOf(s.Attributes, "error.type") + ")"
		}
		for p := s.ParentSpanID; p != ""; p = byID[p].ParentSpanID {
			parent, found := byID[p]
			if !found {
				line = "? > " + line
				break
			}
			line = parent.Name + " > " + line
		}
		lines = append(lines, line)
		if s.TraceID != c.spans[0].TraceID || s.StartTimeUnixNano > s.EndTimeUnixNano {
			t.Errorf("span %+v", s)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// clock stamps events a second apart.
type clock struct {
	at       time.Time
	replayed bool
}

func (c *clock) stamp(events ...report.Event) (stamped []report.Event) {
	for _, ev := range events {
		c.at = c.at.Add(time.Second)
		stamped = append(stamped, report.Stamp(ev, c.at, c.replayed))
	}
	return stamped
}

func usage(in, out int) budget.Usage {
	return budget.Usage{Calls: 1, InputTokens: in, OutputTokens: out, CachedInputTokens: in / 2, ReasoningTokens: out / 2}
}

func actor(agent string) report.Actor { return report.Actor{Agent: agent, Round: 1} }

// run is a turn of one agent that uses a tool; it ends at the second of its two calls.
func run() []report.Event {
	a := actor("ada")
	tool := report.ToolCall{Name: "search", Arguments: "the arguments"}
	done := tool
	done.State, done.Result = effect.ToolRan, "the result"
	return []report.Event{
		report.StepStarted{Actor: a, Purpose: effect.Coordination},
		report.CallStarted{Actor: a, Number: 1},
		report.CallEnded{Actor: a, Number: 1, Model: "openai gpt-5", Usage: usage(10, 2)},
		report.ToolStarted{Actor: a, Tool: tool},
		report.ToolEnded{Actor: a, Tool: done},
		report.CallStarted{Actor: a, Number: 2},
		report.TextDelta{Actor: a, Text: "the text"},
		report.CallEnded{Actor: a, Number: 2, Model: "openai gpt-5", Usage: usage(30, 4)},
		report.Answered{StepEnd: report.StepEnd{Actor: a, Usage: usage(40, 6)}, Label: "ada.1", Content: "the answer"},
		report.Ended{Status: kernel.Completed, Usage: usage(40, 6)},
	}
}

// TestPerformedEffectsStandBelowTheirTurn: a worker's spans join the trace of the turn, and no two have the same id.
// The metrics do not count them.
func TestPerformedEffectsStandBelowTheirTurn(t *testing.T) {
	c := collect(t)
	at := time.Unix(1e9, 0)
	e := c.exporter(t, nil)
	w := telemetry.Work{
		Session: "s", Turn: 2, Question: sessions.RefOf([]byte("the question")), Agent: "ada", Purpose: "coordination", Worker: "7@here",
		Scheduled: at, Started: at.Add(time.Second), Ended: at.Add(2 * time.Second),
	}
	e.Performed(w)
	w.Try, w.Failure = 1, "rate_limit"
	e.Performed(w)
	w.Tool, w.Failure = "search", ""
	e.Performed(w)
	e.Follow(theTurn, slices.Values((&clock{at: at}).stamp(run()...)))
	e.Close()
	c.check(t, wholeTree+`
invoke_workflow massgen > perform chat
invoke_workflow massgen > perform chat (rate_limit)
invoke_workflow massgen > perform execute_tool search`, 2, 40)
	for _, s := range c.spans {
		if strings.HasPrefix(s.Name, "perform") && (s.Kind != 5 || valueOf(s.Attributes, "massgen.queued_ms") != "1000" || valueOf(s.Attributes, "massgen.worker") != "7@here") {
			t.Errorf("the span of an effect is %+v", s)
		}
	}
}

const wholeTree = `invoke_workflow massgen
invoke_workflow massgen > invoke_agent ada
invoke_workflow massgen > invoke_agent ada > chat gpt-5
invoke_workflow massgen > invoke_agent ada > chat gpt-5
invoke_workflow massgen > invoke_agent ada > execute_tool search`

func (c *collector) check(t *testing.T, tree string, calls, input int) {
	t.Helper()
	if got := c.tree(t); got != tree {
		t.Errorf("the spans are\n%s\nand must be\n%s", got, tree)
	}
	count, sum := "", 0.0
	for _, p := range c.metrics["gen_ai.client.operation.duration"] {
		count += p.Count
	}
	for _, p := range c.metrics["gen_ai.client.token.usage"] {
		if valueOf(p.Attributes, "gen_ai.token.type") == "input" {
			sum += p.Sum
		}
	}
	if count != fmt.Sprint(calls) || sum != float64(input) {
		t.Errorf("the metrics have %s calls and %g input tokens, and must have %d and %d", count, sum, calls, input)
	}
}

func TestTurnIsATreeOfSpansWithoutContent(t *testing.T) {
	c := collect(t)
	c.follow(t, map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20b", "OTEL_SERVICE_NAME": "mine"}, (&clock{at: time.Unix(1e9, 0)}).stamp(run()...)...)
	c.check(t, wholeTree, 2, 40)
	for _, s := range c.spans {
		if s.Name == "chat gpt-5" && (s.Kind != 3 || valueOf(s.Attributes, "gen_ai.provider.name") != "openai" || valueOf(s.Attributes, "gen_ai.conversation.id") != "s") {
			t.Errorf("a call is %+v", s)
		}
		if half := valueOf(s.Attributes, "gen_ai.usage.reasoning.output_tokens"); s.Name == "chat gpt-5" && half != "1" && half != "2" {
			t.Errorf("a call has %q tokens of reasoning", half)
		}
	}
	for _, content := range []string{"the question", "the arguments", "the result", "the text", "the answer"} {
		if strings.Contains(c.text, content) {
			t.Errorf("%q was sent", content)
		}
	}
	if c.headers.Get("X-Key") != "a b" || !strings.Contains(c.text, `"mine"`) {
		t.Errorf("the headers are %v, the requests %s", c.headers, c.text)
	}
}

func TestContentIsSentOnRequest(t *testing.T) {
	c := collect(t)
	c.follow(t, map[string]string{"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true"}, (&clock{at: time.Unix(1e9, 0)}).stamp(run()...)...)
	for _, content := range []string{"the question", "the arguments", "the result", "the text", "the answer"} {
		if !strings.Contains(c.text, content) {
			t.Errorf("%q was not sent", content)
		}
	}
}

func TestFailuresAreTheSpans(t *testing.T) {
	c := collect(t)
	a := actor("ada")
	c.follow(t, nil, (&clock{at: time.Unix(1e9, 0)}).stamp(
		report.StepStarted{Actor: a, Purpose: effect.Coordination},
		report.CallStarted{Actor: a, Number: 1},
		report.CallEnded{Actor: a, Number: 1, Model: "claude opus", Why: "auth"},
		report.Failed{StepEnd: report.StepEnd{Actor: a}, Reason: "a wrong key"},
		report.Ended{Status: kernel.AllFailed},
	)...)
	c.check(t, `invoke_workflow massgen (failed)
invoke_workflow massgen > invoke_agent ada (failed)
invoke_workflow massgen > invoke_agent ada > chat opus (auth)`, 1, 0)
}

// TestResumedWorkIsSentOnce: one process is lost before the tool ends, another goes on.
func TestResumedWorkIsSentOnce(t *testing.T) {
	c := collect(t)
	all := run()
	first := &clock{at: time.Unix(1e9, 0)}
	c.follow(t, nil, first.stamp(all[:4]...)...)
	before := c.metrics["gen_ai.client.operation.duration"][0].Count
	second := &clock{at: time.Unix(1e9+3600, 0), replayed: true}
	events := second.stamp(all[:4]...)
	second.replayed = false
	c.follow(t, nil, append(events, second.stamp(all[4:]...)...)...)
	c.check(t, wholeTree, 1, 30)
	if before != "1" {
		t.Errorf("the first process has counted %s calls", before)
	}
}

// TestTelemetryFollowsNoRedirect sends neither headers nor texts to another origin than the collector's.
func TestTelemetryFollowsNoRedirect(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("another origin got %s", r.URL) }))
	defer other.Close()
	collector := httptest.NewServer(http.RedirectHandler(other.URL+"/v1/traces", http.StatusTemporaryRedirect))
	defer collector.Close()
	variables := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL, "OTEL_EXPORTER_OTLP_HEADERS": "x-key=secret"}
	warnings := followed(t, variables)
	if len(warnings) != 1 || !strings.Contains(warnings[0], "redirects to "+other.URL+"/v1/traces, which is sent nothing") {
		t.Errorf("the warnings are %q", warnings)
	}
}

// TestKeyInAnAddressIsNotTold: the warning about a collector that is not there has no part of its address but the host.
func TestKeyInAnAddressIsNotTold(t *testing.T) {
	for _, address := range []string{"http://127.0.0.1:1/otlp?api_key=KEY", "http://KEY@127.0.0.1:1", "http://127.0.0.1:1/KEY"} {
		warnings := followed(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": address})
		if len(warnings) != 1 || strings.Contains(warnings[0], "KEY") || !strings.Contains(warnings[0], "127.0.0.1:1") {
			t.Errorf("%s: the warnings are %q", address, warnings)
		}
	}
}

// TestTheEndIsSentAtOnce: the spans and the metrics wait together for a slow collector, so that the program ends after one
// wait.
func TestTheEndIsSentAtOnce(t *testing.T) {
	var waiting sync.WaitGroup
	waiting.Add(2)
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		waiting.Done()
		waiting.Wait() // for the other request
	}))
	defer collector.Close()
	if warnings := followed(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL}); len(warnings) > 0 {
		t.Errorf("the warnings are %q", warnings)
	}
}

// followed follows a turn with the variables of an environment, and returns the warnings.
func followed(t *testing.T, variables map[string]string) (warnings []string) {
	t.Helper()
	var mu sync.Mutex
	e, err := telemetry.New(func(name string) (string, bool) { value, set := variables[name]; return value, set },
		"v1", func(text string) string { return text }, func(string, string) {}, func(text string) {
			mu.Lock()
			defer mu.Unlock()
			warnings = append(warnings, text)
		})
	if err != nil {
		t.Fatal(err)
	}
	e.Follow(telemetry.Of{}, slices.Values((&clock{at: time.Unix(1e9, 0)}).stamp(run()...)))
	e.Close()
	return warnings
}

func TestEnvironment(t *testing.T) {
	for _, row := range []struct {
		variables map[string]string
		isOn      bool
		err       string
	}{
		{nil, false, ""},
		{map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, true, ""},
		{map[string]string{"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, false, ""},
		{map[string]string{"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, false, ""},
		{map[string]string{"OTEL_TRACES_EXPORTER": "console"}, false, `OTEL_TRACES_EXPORTER: "console" is neither otlp nor none`},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "x"}, false, "OTEL_EXPORTER_OTLP_ENDPOINT is no address such as http://localhost:4318"},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false, `OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" is not supported: massgen sends http/json`},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_EXPORTER_OTLP_HEADERS": "x"}, false, "OTEL_EXPORTER_OTLP_HEADERS is no list of the form key=value,key=value"},
	} {
		e, err := telemetry.New(func(name string) (string, bool) { value, set := row.variables[name]; return value, set },
			"v1", nil, func(string, string) {}, nil)
		if e != nil != row.isOn || (err != nil) != (row.err != "") || err != nil && err.Error() != row.err {
			t.Errorf("%v: %v, %v", row.variables, e != nil, err)
		}
	}
}
