package agents

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/election"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/internal/tools/schema"
	"github.com/massgen/massgen/internal/tools/textcall"
)

// shared holds what the calls of one turn share, so that each part is made once: a hundred agents get the same
// history, answers and tools. It translates between an agent's index, its config id, and its name to models.
// It is safe for concurrent use.
type shared struct {
	cache *Cache
	ids   []string
	rule  election.Rule
	// naming makes names, which maps ids to the names that models use, and byName, which maps these to indices.
	naming sync.Once
	names  map[string]string
	byName map[string]int

	histories memo[historyKey]
	// sent has the stored records of histories, and sentTools those of lists of tools.
	sent      memo[historyKey]
	tools     memo[toolsOffered]
	sentTools memo[toolsOffered]

	mu sync.Mutex // guards the fields below
	// repairs are the repairs in the history that was read last, newest turn first.
	repairs []string
	// user is the user message of a coordination step that was built last: the agents of a round share it.
	user view
	// recorded has the last recorded message of each role.
	recorded map[backends.Role]record
}

// toolsOffered identifies a list of tools: an agent's own, if the call has any, and the
// coordination tools, if the agent coordinates.
type toolsOffered struct {
	own                    blob.Ref
	coordinates, mayAnswer bool
	// forwarded also offers the agent's own tools that the client runs, and notOwn offers no others.
	forwarded, notOwn bool
}

// view is the user message of a coordination step, with what it is made from.
type view struct {
	question blob.Ref
	history  historyKey
	answers  []kernel.Answer
	notes    []blob.Ref
	text     string
}

func (v view) isOf(other view) bool {
	return v.question == other.question && v.history == other.history &&
		slices.Equal(v.answers, other.answers) && slices.Equal(v.notes, other.notes)
}

// record is a message of one text, with the reference of its record.
type record struct {
	text string
	ref  blob.Ref
}

func newShared(turn *effect.Turn, blobs Blobs) *shared {
	s := &shared{cache: NewCache(blobs), ids: make([]string, len(turn.Agents)), rule: turn.Rule, recorded: map[backends.Role]record{}}
	for i, a := range turn.Agents {
		s.ids[i] = a.ID
	}
	return s
}

// nameAgents makes the agents' names at its first call. A panel of one does not need them.
func (s *shared) nameAgents() {
	s.naming.Do(func() {
		s.names, s.byName = contextbuild.Anonymous(s.ids), make(map[string]int, len(s.ids))
		for i, id := range s.ids {
			s.byName[s.names[id]] = i
		}
	})
}

// anonymous returns the name that models use for an agent.
func (s *shared) anonymous(agent int) string {
	if agent < 0 || agent >= len(s.ids) {
		return "that agent"
	}
	s.nameAgents()
	return s.names[s.ids[agent]]
}

// index returns the agent that a model means by a name, or -1. A name such as agent1, Agent 1 or 1 is one that
// models use, even if it is also a config id.
func (s *shared) index(name string) int {
	s.nameAgents()
	if number, isNumber := textcall.AgentNumber(name); isNumber {
		if i, ok := s.byName[fmt.Sprint("agent", number)]; ok {
			return i
		}
		return -1
	}
	for _, id := range []string{strings.TrimSpace(name), textcall.WithoutMarks(name)} {
		if i := slices.Index(s.ids, id); i >= 0 {
			return i
		}
	}
	isNamed := func(id string) bool { return strings.EqualFold(id, textcall.WithoutMarks(name)) }
	if i := slices.IndexFunc(s.ids, isNamed); i >= 0 && !slices.ContainsFunc(s.ids[i+1:], isNamed) {
		return i
	}
	return -1
}

// list returns the names of all agents.
func (s *shared) list() string {
	names := make([]string, len(s.ids))
	for i := range s.ids {
		names[i] = fmt.Sprint("agent", i+1)
	}
	return strings.Join(names, ", ")
}

// schemaOf returns what the answers of a turn have to fit, nil if any text is one.
func schemaOf(t *textStore, ref blob.Ref) *schema.Schema {
	return readWith(t, ref, func(data []byte) (*schema.Schema, error) {
		answers, err := schema.ParseStored(data)
		if err != nil {
			err = fmt.Errorf("read the schema of the turn's answers: %w", err)
		}
		return answers, err
	})
}

// toolsOf returns the tools of a call in a turn with a schema of answers, which may be nil. The caller must not
// change them.
func (s *shared) toolsOf(t *textStore, of toolsOffered, answers *schema.Schema) []backends.Tool {
	if t.err != nil {
		return nil
	}
	var tools []backends.Tool
	tools, t.err = remember(&s.tools, of, 0, func() (list []backends.Tool, err error) {
		if of.coordinates {
			list = s.coordinationTools(of.mayAnswer, answers)
		}
		for _, tool := range decoded[[]backends.Tool](t, of.own) {
			if tool.Forwarded && of.forwarded || !tool.Forwarded && !of.notOwn {
				list = append(list, tool)
			}
		}
		return slices.Clip(list), t.err
	})
	return tools
}

// userOf returns the user message of a step. It calls build if the last one differs.
func (s *shared) userOf(t *textStore, of view, build func() string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.user.text != "" && s.user.isOf(of) {
		return s.user.text
	}
	of.text = build()
	if t.err == nil {
		s.user = of
	}
	return of.text
}

// record stores a message, unless the last record of its role is equal. Most agents of a round are sent the same
// user message, and most of a panel the same system message.
func (s *shared) record(t *textStore, m backends.Message) blob.Ref {
	text := m.Text()
	if (m.Role != backends.RoleUser && m.Role != backends.RoleSystem) || len(m.Parts) != 1 || text == "" {
		return t.encode(m)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, ok := s.recorded[m.Role]; ok && last.text == text {
		return last.ref
	}
	ref := t.encode(m)
	if t.err == nil {
		s.recorded[m.Role] = record{text, ref}
	}
	return ref
}
