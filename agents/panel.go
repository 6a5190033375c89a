package agents

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/blob"
	"github.com/massgen/massgen/internal/kernel"
	"github.com/massgen/massgen/internal/machine"
	"github.com/massgen/massgen/internal/schema"
)

// panel has the data that the calls of a turn share, made once for all of them: a hundred
// agents get the same answers and the same tools. It translates between an agent's index, its
// config id, and its anonymous name to models. It is safe for concurrent use.
type panel struct {
	ids   []string
	names map[string]string
	// byName maps names to agents.
	byName map[string]int

	mu     sync.Mutex
	params map[blob.Ref]backends.Params
	// texts are those that the inputs of the turn begin with.
	texts map[blob.Ref]string
	// schema is what the answers of the turn have to fit, nil for nothing or until it is asked for.
	schema *schema.Schema
	tools  map[toolsOffered][]backends.Tool
	// user is the last user message that was built, for all agents with the same view.
	user    string
	userKey userKey
	// lines are those of a history, which most agents are shown alike: the last one that was asked for.
	lines       []string
	linesOfTurn *contextbuild.Exchange // &history[0]
	// files are those that were read for a call, which most calls of the turn have.
	files map[blob.Ref][]byte
}

// toolsOffered identifies a list of tools: an agent's own, if the call has any, and the
// coordination tools, if the agent coordinates.
type toolsOffered struct {
	own                    blob.Ref
	coordinates, mayAnswer bool
	// forwarded also offers the agent's own tools that the client runs.
	forwarded bool
}

// userKey identifies the sources of a coordination step's user message. It compares lists by
// address: nobody changes them.
type userKey struct {
	question blob.Ref
	shown    *kernel.Answer
	answers  int
	history  *contextbuild.Exchange
	turns    int
	notes    int // within a turn their number only grows
}

func newPanel(turn machine.Turn) *panel {
	p := &panel{
		byName: map[string]int{}, params: map[blob.Ref]backends.Params{}, tools: map[toolsOffered][]backends.Tool{},
		texts: map[blob.Ref]string{}, files: map[blob.Ref][]byte{},
	}
	for _, a := range turn.Agents {
		p.ids = append(p.ids, a.ID)
	}
	p.names = contextbuild.Anonymous(p.ids)
	for i, id := range p.ids {
		p.byName[p.names[id]] = i
	}
	return p
}

// lastPanel keeps the panel of the last turn. The zero value is ready.
type lastPanel struct {
	mu     sync.Mutex
	agents *machine.Agent // the first of the turn's
	panel  *panel
}

// of returns a turn's panel.
func (l *lastPanel) of(turn machine.Turn) *panel {
	if len(turn.Agents) == 0 {
		return newPanel(turn)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.agents != &turn.Agents[0] {
		l.agents, l.panel = &turn.Agents[0], newPanel(turn)
	}
	return l.panel
}

func (p *panel) anonymous(agent int) string {
	if agent < 0 || agent >= len(p.ids) {
		return "that agent"
	}
	return p.names[p.ids[agent]]
}

// index returns the agent with a name that models use, in any case, or -1.
func (p *panel) index(name string) int {
	if i, ok := p.byName[strings.ToLower(name)]; ok {
		return i
	}
	return -1
}

func (p *panel) list() string {
	names := make([]string, len(p.ids))
	for i := range p.ids {
		names[i] = fmt.Sprint("agent", i+1)
	}
	return strings.Join(names, ", ")
}

// paramsOf reads an agent's parameters.
func (p *panel) paramsOf(s *textStore, ref blob.Ref) backends.Params {
	p.mu.Lock()
	defer p.mu.Unlock()
	params, ok := p.params[ref]
	if !ok {
		if s.decode(ref, &params); s.err == nil {
			p.params[ref] = params
		}
	}
	return params
}

// textOf reads a text that inputs of the turn begin with, empty for a zero reference.
func (p *panel) textOf(s *textStore, ref blob.Ref) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text, ok := p.texts[ref]
	if !ok {
		if text = string(s.get(ref)); s.err == nil {
			p.texts[ref] = text
		}
	}
	return text
}

// schemaOf returns what the answers of a turn have to fit, nil if any text is one.
func (p *panel) schemaOf(s *textStore, ref blob.Ref) *schema.Schema {
	if ref == (blob.Ref{}) || s.err != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.schema == nil {
		text := s.get(ref)
		if s.err != nil {
			return nil
		}
		if p.schema, s.err = schema.ParseStored(text); s.err != nil {
			s.err = fmt.Errorf("read the schema of the turn's answers: %w", s.err)
		}
	}
	return p.schema
}

// toolsOf returns the tools of a call in a turn with a schema of answers, which may be nil.
func (p *panel) toolsOf(s *textStore, of toolsOffered, answers *schema.Schema) []backends.Tool {
	p.mu.Lock()
	defer p.mu.Unlock()
	tools, ok := p.tools[of]
	if ok {
		return tools
	}
	if of.coordinates {
		tools = p.coordinationTools(of.mayAnswer, answers)
	}
	var own []backends.Tool
	if s.decode(of.own, &own); s.err == nil {
		own = slices.DeleteFunc(own, func(t backends.Tool) bool { return t.Forwarded && !of.forwarded })
		tools = slices.Clip(append(tools, own...)) // many requests share it
		p.tools[of] = tools
	}
	return tools
}

// userOf returns the user message of a step. It calls build if the last one differs.
func (p *panel) userOf(s *textStore, key userKey, build func() string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.user != "" && p.userKey == key {
		return p.user
	}
	user := build()
	if s.err == nil {
		p.user, p.userKey = user, key
	}
	return user
}

// linesOf returns the lines of a history, which are made once. It compares histories by address: nobody
// changes them.
func (p *panel) linesOf(history []contextbuild.Exchange) []string {
	if len(history) == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.linesOfTurn != &history[0] || len(p.lines) != len(history) {
		p.linesOfTurn, p.lines = &history[0], contextbuild.HistoryLines(history)
	}
	return p.lines
}
