package telemetry

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// The operations of the conventions.
const (
	workflow    = "invoke_workflow"
	invokeAgent = "invoke_agent"
	chat        = "chat"
	executeTool = "execute_tool"
)

// The keys of the conventions that are used more than once.
const (
	operationKey = "gen_ai.operation.name"
	providerKey  = "gen_ai.provider.name"
	modelKey     = "gen_ai.request.model"
	agentKey     = "gen_ai.agent.name"
	toolKey      = "gen_ai.tool.name"
	errorKey     = "error.type"
	tokenTypeKey = "gen_ai.token.type"
)

// The kinds of spans, as OTLP numbers them.
const (
	kindInternal = 1
	kindClient   = 3
	kindConsumer = 5
)

// attribute is a string or an int under a key.
type attribute struct {
	key   string
	value any
}

// span is one operation. failure is its error, "" for success.
type span struct {
	trace      [16]byte
	id, parent [8]byte // parent is zero for the root
	operation  string
	name       string
	kind       int // of OTLP; zero for an internal one
	start, end time.Time
	attributes []attribute
	failure    string
}

func (s *span) add(key string, value any) { s.attributes = append(s.attributes, attribute{key, value}) }

// fail sets the error of an operation.
func (s *span) fail(why string) {
	if why != "" {
		s.failure = why
		s.add(errorKey, why)
	}
}

// Of names the turn of a list of events.
type Of struct {
	// Session is the id of the turn's session, and Turn the turn's number in it.
	Session  string
	Turn     int
	Question string
}

// traceOf returns the trace of a turn, which each program that works on the turn can name. stored is the SHA-256 of
// the question as the store keeps it, in hexadecimal digits, empty without a question.
func traceOf(session string, turn int, stored string) [16]byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d %q", session, turn, stored))
	return [16]byte(sum[:16])
}

// idOf returns the id of the span that was begun as the trace's first, second, third one. The first is the turn's.
func idOf(trace [16]byte, place int) [8]byte {
	sum := sha256.Sum256(fmt.Appendf(trace[:], " %d", place))
	return [8]byte(sum[:8])
}

// projection turns the events of one turn into spans. All times come from the events.
type projection struct {
	of          Of
	hasContent  bool // includes the texts of people and models
	trace       [16]byte
	count       int
	root        *span
	steps       map[string]*span            // by agent
	calls       map[string]*span            // by agent
	texts       map[string]*strings.Builder // of the calls under way
	sidecalls   map[string]*span            // by agent and purpose
	tools       map[string][]*span          // by agent, name and arguments
	hasReplayed bool
}

// newProjection returns a projection without events. redact masks texts as the store does.
func newProjection(of Of, hasContent bool, redact func(string) string) *projection {
	stored := ""
	if of.Question != "" {
		stored = sessions.RefOf([]byte(redact(of.Question))).SHA256
	}
	p := &projection{
		of: of, hasContent: hasContent, trace: traceOf(of.Session, of.Turn, stored),
		steps: map[string]*span{}, calls: map[string]*span{}, texts: map[string]*strings.Builder{}, sidecalls: map[string]*span{}, tools: map[string][]*span{},
	}
	return p
}

// begin begins a span below another. Ids depend only on the turn and the order of its events, so a
// process that resumes a turn continues its trace.
func (p *projection) begin(at time.Time, parent *span, operation, of string) *span {
	p.count++
	s := &span{trace: p.trace, id: idOf(p.trace, p.count), operation: operation, name: operation, start: at}
	if of != "" {
		s.name += " " + of
	}
	if parent != nil {
		s.parent = parent.id
	}
	s.add(operationKey, operation)
	s.add("gen_ai.conversation.id", p.of.Session)
	return s
}

// apply returns the spans that end with an event. A replayed event ends no span.
func (p *projection) apply(ev report.Event) []*span {
	head := ev.Head()
	if p.root == nil {
		p.root = p.begin(head.At, nil, workflow, "massgen")
		p.root.add("gen_ai.workflow.name", "massgen")
		p.root.add("massgen.turn", p.of.Turn)
		p.content(p.root, "gen_ai.input.messages", "user", p.of.Question)
	}
	p.hasReplayed = p.hasReplayed || head.Replayed
	ended := p.take(ev, head.At)
	if head.Replayed || ended == nil {
		return nil
	}
	ended.end = head.At
	return []*span{ended}
}

// take returns the span that ends with an event, nil without one.
func (p *projection) take(ev report.Event, at time.Time) *span {
	switch ev := ev.(type) {
	case report.StepStarted:
		s := p.begin(at, p.root, invokeAgent, ev.Agent)
		s.add(agentKey, ev.Agent)
		s.add("massgen.round", ev.Round)
		s.add("massgen.purpose", string(ev.Purpose))
		p.steps[ev.Agent] = s
	case report.CallStarted:
		p.calls[ev.Agent] = p.begin(at, p.over(ev.Agent), chat, "")
		p.texts[ev.Agent] = &strings.Builder{}
	case report.TextDelta:
		if text := p.texts[ev.Agent]; p.hasContent && text != nil {
			text.WriteString(ev.Text)
		}
	case report.CallEnded:
		return p.endCall(ev)
	case report.SidecallStarted:
		s := p.begin(at, p.over(ev.Agent), chat, "")
		s.add("massgen.purpose", string(ev.Purpose))
		p.sidecalls[ev.Agent+" "+string(ev.Purpose)] = s
	case report.SidecallEnded:
		return p.endSidecall(ev.Agent+" "+string(ev.Purpose), ev.Usage, "")
	case report.SidecallFailed:
		return p.endSidecall(ev.Agent+" "+string(ev.Purpose), ev.Usage, "failed")
	case report.ToolStarted:
		s := p.begin(at, p.over(ev.Agent), executeTool, ev.Tool.Name)
		s.add(toolKey, ev.Tool.Name)
		s.add("gen_ai.tool.type", "function")
		s.add(agentKey, ev.Agent)
		key := toolKeyOf(ev.Agent, ev.Tool)
		p.tools[key] = append(p.tools[key], s)
	case report.ToolEnded:
		return p.endTool(ev)
	case report.Ended:
		return p.endTurn(ev)
	case report.Answered, report.Voted, report.Abstained, report.Failed, report.Cancelled, report.Presented, report.Consulted:
		return p.endStep(ev)
	}
	return nil
}

// said returns the text of an agent's call under way.
func (p *projection) said(agent string) string {
	if text := p.texts[agent]; text != nil {
		return text.String()
	}
	return ""
}

// over returns the parent span of an agent's calls.
func (p *projection) over(agent string) *span {
	if s := p.steps[agent]; s != nil {
		return s
	}
	return p.root
}

// content adds a message to a span if hasContent is set.
func (p *projection) content(s *span, key, role, text string) {
	if !p.hasContent || text == "" {
		return
	}
	type part struct {
		Type    string `json:"type"`
		Content string `json:"content"`
	}
	message := map[string]any{"role": role, "parts": []part{{"text", text}}}
	if role == "assistant" {
		message["finish_reason"] = "stop"
	}
	line, err := plain.JSONLine([]any{message})
	if err == nil { // always, for texts
		s.add(key, line)
	}
}

func (p *projection) endCall(ev report.CallEnded) *span {
	s := p.calls[ev.Agent]
	if s == nil {
		return nil
	}
	delete(p.calls, ev.Agent)
	provider, model := split(ev.Model)
	s.kind = kindClient
	s.name = strings.TrimSpace(chat + " " + model)
	s.add(providerKey, provider)
	if model != "" {
		s.add(modelKey, model)
	}
	s.add(agentKey, ev.Agent)
	used(s, ev.Usage)
	p.content(s, "gen_ai.output.messages", "assistant", p.said(ev.Agent))
	delete(p.texts, ev.Agent)
	s.fail(ev.Why)
	return s
}

func (p *projection) endSidecall(key string, u budget.Usage, why string) *span {
	s := p.sidecalls[key]
	if s == nil {
		return nil
	}
	delete(p.sidecalls, key)
	s.kind = kindClient
	s.add(providerKey, "_OTHER") // the events do not name it
	used(s, u)
	s.fail(why)
	return s
}

// used adds the tokens of a call with known usage.
func used(s *span, u budget.Usage) {
	if u.Calls == 0 || u.UnknownCalls > 0 {
		return
	}
	s.add("gen_ai.usage.input_tokens", u.InputTokens)
	s.add("gen_ai.usage.output_tokens", u.OutputTokens)
	if u.CachedInputTokens > 0 {
		s.add("gen_ai.usage.cache_read.input_tokens", u.CachedInputTokens)
	}
	if u.ReasoningTokens > 0 {
		s.add("gen_ai.usage.reasoning.output_tokens", u.ReasoningTokens)
	}
}

func toolKeyOf(agent string, t report.ToolCall) string {
	return fmt.Sprintf("%q %q %q", agent, t.Name, t.Arguments)
}

// endTool ends the call of a tool. A refused call has no span.
func (p *projection) endTool(ev report.ToolEnded) *span {
	key := toolKeyOf(ev.Agent, ev.Tool)
	if len(p.tools[key]) == 0 {
		return nil
	}
	s := p.tools[key][0]
	p.tools[key] = p.tools[key][1:]
	if p.hasContent {
		s.add("gen_ai.tool.call.arguments", ev.Tool.Arguments)
		s.add("gen_ai.tool.call.result", ev.Tool.Result)
	}
	if ev.Tool.Error {
		s.fail("tool_error")
	}
	return s
}

func (p *projection) endStep(ev report.Event) *span {
	end, ok := ev.(interface{ End() report.StepEnd })
	if !ok {
		return nil
	}
	e := end.End()
	s := p.steps[e.Agent]
	if s == nil {
		return nil
	}
	delete(p.steps, e.Agent)
	used(s, e.Usage)
	switch ev := ev.(type) {
	case report.Answered:
		s.add("massgen.outcome", "answered")
		s.add("massgen.answer", ev.Label)
		p.content(s, "gen_ai.output.messages", "assistant", ev.Content)
	case report.Voted:
		s.add("massgen.outcome", "voted")
		s.add("massgen.vote", ev.Label)
		p.content(s, "gen_ai.output.messages", "assistant", ev.Reason)
	case report.Abstained:
		s.add("massgen.outcome", "abstained")
	case report.Failed:
		s.add("massgen.outcome", "failed")
		s.fail("failed")
	case report.Cancelled:
		s.add("massgen.outcome", "cancelled")
	case report.Presented:
		s.add("massgen.outcome", "presented")
	case report.Consulted:
		s.add("massgen.outcome", string(ev.Purpose))
		if ev.Label != "" {
			s.add("massgen.answer", ev.Label)
		}
		if ev.Why != "" {
			s.fail("failed")
		}
	}
	return s
}

func (p *projection) endTurn(ev report.Ended) *span {
	s := p.root
	s.add("massgen.status", ev.Status)
	s.add("massgen.resumed", p.hasReplayed)
	if !p.hasReplayed { // else it includes the usage of the lost process
		used(s, ev.Usage)
	}
	if ev.Status == kernel.AllFailed {
		s.fail(ev.Status)
	}
	return s
}

// split splits the name of a model into the provider, in the words of the conventions, and the model.
func split(named string) (provider, model string) {
	provider, model, _ = strings.Cut(named, " ")
	switch provider {
	case "":
		return "_OTHER", model
	case "claude":
		return "anthropic", model
	case "gemini":
		return "gcp.gemini", model
	case "azure_openai":
		return "azure.ai.openai", model
	case "grok":
		return "x_ai", model
	case "mistral":
		return "mistral_ai", model
	}
	return provider, model
}
