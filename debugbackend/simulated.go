package debugbackend

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/questions"
	"github.com/massgen/massgen/internal/system/plain"
)

// What a judge is asked for: the purposes of its calls, and a field of each reply.
const (
	judgement = "judgement"
	verdict   = "verdict"
	synthesis = "synthesis"
	review    = "review"
	fieldBest = `"best"`
	fieldSame = `"same"`
	fieldTold = `"instructions"`
)

const ofSidecall = "A simulated member has nothing to say about this."

// simulated is a backend that answers the questions of a file. It keeps nothing between calls.
type simulated struct {
	simulation questions.Simulation
	byText     map[string]questions.Question
}

// NewSimulated returns a backend that answers the questions of a file, some of them wrongly. It needs
// no network, and is safe for concurrent use. Its seed is that of a request. A question that is not
// in the file ends with a bad_request error.
func NewSimulated(simulation questions.Simulation) backends.Backend {
	s := &simulated{simulation, map[string]questions.Question{}}
	for _, q := range simulation.Questions {
		s.byText[q.Question] = q
	}
	return s
}

// Stream implements backends.Backend.
func (s *simulated) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		p := player{provider: "simulated", ctx: ctx, trace: backends.TraceFrom(ctx), yield: yield}
		body, err := requestBody(req)
		if err != nil {
			p.fail(backends.KindBadRequest, err.Error())
			return
		}
		p.trace.SentRequest(body)
		pieces, err := s.answer(req)
		if err != nil {
			p.fail(backends.KindBadRequest, err.Error())
			return
		}
		if p.play(pieces, 0) {
			p.end(&reply{}, body)
		}
	}
}

// answer makes the events of a reply, without usage and finish.
func (s *simulated) answer(req backends.Request) ([]backends.Event, error) {
	if req.Key.Agent == "" && !asksFor(req, verdict, fieldSame) && !asksFor(req, judgement, fieldBest) {
		return []backends.Event{backends.TextDelta{Text: ofSidecall}}, nil
	}
	seen := readSections(req.Messages)
	question, ok := s.byText[strings.TrimSpace(seen.question)]
	if !ok {
		return nil, fmt.Errorf("the simulated member %s is asked %q, which is not among its %d questions; one of them is %q",
			req.Key.Agent, plain.Cut(plain.Line(seen.question), 80), len(s.byText), s.simulation.Questions[0].Question)
	}
	m := simulatedMember{Simulation: s.simulation, agent: req.Key.Agent, question: question}
	if req.Params.Seed != nil {
		m.seed = *req.Params.Seed
	}
	switch {
	case asksFor(req, verdict, fieldSame):
		return inText(map[string]bool{"same": sameTexts(seen.answers)})
	case asksFor(req, review, fieldTold):
		return inText(map[string]string{"action": "submit"})
	case asksFor(req, judgement, fieldBest):
		return inText(m.judge(req, seen.answers))
	case offers(req, toolVote) && len(seen.answers) > 0:
		return m.vote(req, seen.answers)
	case offers(req, toolNewAnswer):
		return call(req, toolNewAnswer, map[string]string{"content": m.ownAnswer()})
	case req.Key.Purpose == synthesis:
		best := m.pick(req, seen.answers, m.judged(req, seen.answers))
		return []backends.Event{backends.TextDelta{Text: best.Text}}, nil
	}
	return []backends.Event{backends.TextDelta{Text: m.ownAnswer()}}, nil
}

// asksFor reports whether a request has a purpose, or a schema with a field.
func asksFor(req backends.Request, purpose, field string) bool {
	return req.Key.Purpose == purpose || bytes.Contains(req.Schema, []byte(field))
}

// vote votes for an answer that is the member's own by now. If none is shown, it gives that answer,
// if it may.
func (m simulatedMember) vote(req backends.Request, answers []shownAnswer) ([]backends.Event, error) {
	own, others := m.ownAnswer(), textsOf(answers)
	if i := slices.Index(others, own); i >= 0 { // the member's own answer stands among them
		others = slices.Delete(others, i, i+1)
	}
	now := m.answerAfter(req.Key.Round, others)
	if offers(req, toolNewAnswer) && !slices.Contains(textsOf(answers), now) {
		return call(req, toolNewAnswer, map[string]string{"content": now})
	}
	best := m.pick(req, answers, now)
	return call(req, toolVote, map[string]string{"agent_id": best.ID, "reason": "It says " + best.Text + "."})
}

// judged returns the answer that the member holds for right as a judge, whose own answer need not
// be among those shown.
func (m simulatedMember) judged(req backends.Request, answers []shownAnswer) string {
	return m.answerAfter(req.Key.Round, textsOf(answers))
}

// pick returns the first answer shown with a text, else the first of all. It passes over those for
// which a vote was refused in this step.
func (m simulatedMember) pick(req backends.Request, answers []shownAnswer, text string) shownAnswer {
	var fit []shownAnswer
	for _, a := range answers {
		isOffered := len(req.Schema) == 0 || bytes.Contains(req.Schema, []byte(`"`+a.ID+`"`))
		if isOffered && !wasRefused(req.Messages, a.ID) {
			fit = append(fit, a)
		}
	}
	if i := slices.IndexFunc(fit, func(a shownAnswer) bool { return strings.TrimSpace(a.Text) == text }); i >= 0 {
		return fit[i]
	}
	return slices.Concat(fit, answers, []shownAnswer{{}})[0]
}

// wasRefused reports whether the step has voted for an agent already.
func wasRefused(messages []backends.Message, id string) bool {
	return slices.ContainsFunc(messages, func(m backends.Message) bool {
		return m.Role == backends.RoleAssistant && slices.ContainsFunc(m.Parts, func(p backends.Part) bool {
			switch p := p.(type) {
			case backends.ToolCall:
				return p.Name == toolVote && strings.Contains(p.Arguments, `"`+id+`"`)
			case backends.Text: // a vote in JSON
				return strings.Contains(p.Text, `"`+toolVote+`"`) && strings.Contains(p.Text, `"`+id+`"`)
			}
			return false
		})
	})
}

// opinion is the analysis of a judge.
type opinion struct {
	Consensus      []claim  `json:"consensus"`
	Partial        []claim  `json:"partial"`
	Unique         []claim  `json:"unique"`
	Contradictions []point  `json:"contradictions"`
	BlindSpots     []string `json:"blind_spots"`
	Best           string   `json:"best"`
	Why            string   `json:"why"`
}

type claim struct {
	Claim   string   `json:"claim"`
	Answers []string `json:"answers"`
	Quotes  []quote  `json:"quotes"`
}

type quote struct {
	Answer string `json:"answer"`
	Text   string `json:"text"`
}

type point struct {
	About string  `json:"about"`
	Sides []claim `json:"sides"`
}

// judge analyses the answers: each different text is a claim, and different claims contradict each
// other.
func (m simulatedMember) judge(req backends.Request, answers []shownAnswer) opinion {
	best := m.pick(req, answers, m.judged(req, answers))
	o := opinion{
		Consensus: []claim{}, Partial: []claim{}, Unique: []claim{}, Contradictions: []point{}, BlindSpots: []string{},
		Best: best.ID, Why: "It says " + best.Text + ".",
	}
	var sides []claim
	for _, a := range answers {
		i := slices.IndexFunc(sides, func(c claim) bool { return c.Quotes[0].Text == a.Text })
		if i < 0 {
			sides = append(sides, claim{Claim: "The answer is " + a.Text + ".", Quotes: []quote{{a.ID, a.Text}}})
			i = len(sides) - 1
		}
		sides[i].Answers = append(sides[i].Answers, a.ID)
	}
	if len(sides) == 1 {
		o.Consensus = sides
	} else {
		o.Contradictions = []point{{"The answer", sides}}
	}
	return o
}

func textsOf(answers []shownAnswer) []string {
	list := make([]string, len(answers))
	for i, a := range answers {
		list[i] = strings.TrimSpace(a.Text)
	}
	return list
}

func sameTexts(answers []shownAnswer) bool {
	list := textsOf(answers)
	return len(slices.Compact(list)) == 1
}

// inText returns a value as a text of JSON.
func inText(value any) ([]backends.Event, error) {
	text, err := plain.JSON(value)
	return []backends.Event{backends.TextDelta{Text: string(text)}}, err
}

// call returns the events of a tool call, or of the text that stands for it in a reply by schema.
func call(req backends.Request, name string, arguments map[string]string) ([]backends.Event, error) {
	text, err := plain.JSON(arguments)
	if err != nil {
		return nil, err
	}
	c := backends.ToolCall{ID: fmt.Sprintf("call_%d_1", req.Key.Index), Name: name, Arguments: string(text)}
	pieces := []backends.Event{backends.ToolCallDelta{Name: name, Text: c.Arguments}, c}
	if len(req.Schema) > 0 {
		pieces = inJSON(pieces, 1)
	}
	return pieces, nil
}
