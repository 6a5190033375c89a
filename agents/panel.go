package agents

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/internal/tools/schema"
)

// panel has the data that the calls of a turn share, made once for all of them: a hundred
// agents get the same answers and the same tools. It translates between an agent's index, its
// config id, and its anonymous name to models. It is safe for concurrent use.
type panel struct {
	ids []string
	// naming makes names, and byName, which maps names to agents.
	naming sync.Once
	names  map[string]string
	byName map[string]int

	mu     sync.Mutex
	params shared[blob.Ref, backends.Params]
	// texts are those that the inputs of the turn begin with.
	texts shared[blob.Ref, string]
	// messages caches the messages of models, which each call of a step repeats. It is nil in a panel that
	// serves one call.
	messages map[blob.Ref]*backends.Message
	// schema is what the answers of the turn have to fit, nil for nothing or until it is asked for.
	schema *schema.Schema
	tools  shared[toolsOffered, toolList]
	// user is the last user message that was built, for all agents with the same view.
	user    string
	userKey userKey
	// lines caches the lines of the history that was asked for last: most agents are shown the same one.
	lines       []string
	linesOfTurn *contextbuild.Exchange // &history[0]
	// files caches the files that calls have read: most calls of a turn have the same ones.
	files map[blob.Ref][]byte
}

// shared has the values of a few keys, in a list, which is smaller than a map: most agents of a turn
// have the same texts, parameters and tools.
type shared[K comparable, V any] []struct {
	key   K
	value V
}

// of returns the value of a key. It calls read if there is none yet, and keeps a value that is read.
func (l *shared[K, V]) of(key K, read func(into *V) (ok bool)) V {
	for i := range *l {
		if (*l)[i].key == key {
			return (*l)[i].value
		}
	}
	n := len(*l)
	*l = append(*l, struct {
		key   K
		value V
	}{key: key})
	isRead := false
	defer func() {
		if !isRead { // also if read panics
			*l = (*l)[:n]
		}
	}()
	value := &(*l)[n].value
	isRead = read(value)
	return *value
}

// toolsOffered identifies a list of tools: an agent's own, if the call has any, and the
// coordination tools, if the agent coordinates.
type toolsOffered struct {
	own                    blob.Ref
	coordinates, mayAnswer bool
	// forwarded also offers the agent's own tools that the client runs.
	forwarded bool
}

// toolList is a list of tools that calls offer.
type toolList struct {
	tools []backends.Tool
	// stored names the stored text with exactly these tools, zero if none is known.
	stored blob.Ref
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

func newPanel(turn *effect.Turn) *panel {
	p := &panel{ids: make([]string, len(turn.Agents))}
	for i, a := range turn.Agents {
		p.ids[i] = a.ID
	}
	return p
}

// nameAgents makes the agents' names when it is called first. The inputs of a panel of one need none.
func (p *panel) nameAgents() {
	p.naming.Do(func() {
		p.names, p.byName = contextbuild.Anonymous(p.ids), make(map[string]int, len(p.ids))
		for i, id := range p.ids {
			p.byName[p.names[id]] = i
		}
	})
}

// lastPanel keeps the panel of the last turn. The zero value is ready.
type lastPanel struct {
	mu     sync.Mutex
	agents *effect.Agent // the first of the turn's
	panel  *panel
}

// of returns a turn's panel.
func (l *lastPanel) of(turn *effect.Turn) *panel {
	if len(turn.Agents) == 0 {
		return newPanel(turn)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.agents != &turn.Agents[0] {
		l.agents, l.panel = &turn.Agents[0], newPanel(turn)
		l.panel.messages = map[blob.Ref]*backends.Message{}
	}
	return l.panel
}

func (p *panel) anonymous(agent int) string {
	if agent < 0 || agent >= len(p.ids) {
		return "that agent"
	}
	p.nameAgents()
	return p.names[p.ids[agent]]
}

// index returns the agent with a name that models use, in any case, or -1.
func (p *panel) index(name string) int {
	p.nameAgents()
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
	return p.params.of(ref, func(into *backends.Params) bool {
		s.decode(ref, into)
		return s.err == nil
	})
}

// textOf reads a text that inputs of the turn begin with, empty for a zero reference.
func (p *panel) textOf(s *textStore, ref blob.Ref) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.texts.of(ref, func(into *string) bool {
		*into = string(s.get(ref))
		return s.err == nil
	})
}

// messageOf reads a message of a model. Calls of many agents read theirs side by side, so the store is
// read without the lock.
func (p *panel) messageOf(s *textStore, ref blob.Ref) backends.Message {
	p.mu.Lock()
	m, ok := p.messages[ref]
	p.mu.Unlock()
	if ok {
		return *m
	}
	m = new(backends.Message)
	if s.decode(ref, m); s.err == nil && p.messages != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.messages[ref] = m
	}
	return *m
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
func (p *panel) toolsOf(s *textStore, of toolsOffered, answers *schema.Schema) toolList {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tools.of(of, func(list *toolList) bool {
		s.decode(of.own, &list.tools)
		own := slices.DeleteFunc(list.tools, func(t backends.Tool) bool { return t.Forwarded && !of.forwarded })
		if of.coordinates {
			own = append(p.coordinationTools(of.mayAnswer, answers), own...)
		} else if len(own) == len(list.tools) {
			list.stored = of.own
		}
		list.tools = slices.Clip(own) // many requests share it
		return s.err == nil
	})
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
