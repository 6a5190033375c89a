package sessions

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"

	"github.com/massgen/massgen/internal/blob"
	"github.com/massgen/massgen/internal/kernel"
)

// Memory is a store that lives as long as the process. It is safe for
// concurrent use.
type Memory struct {
	memoryFacts
	mu       sync.Mutex
	sessions map[string]*memorySession
	running  map[string]*memoryRunning
	texts    *memoryTexts
}

type memorySession struct {
	Session
	head  blob.Ref
	turns []*memoryTurn
}

type memoryTurn struct {
	Turn
	events [][]byte
	names  map[blob.Ref]bool
}

// memoryRunning is a turn that holds its session.
type memoryRunning struct {
	number   int
	question string
	began    int64
	kept     *memoryTurn // nil before there is anything to keep
	cut      Usage       // of the turn that it gives up
	// committed says that only usage may be added.
	committed bool
}

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{
		sessions: map[string]*memorySession{}, running: map[string]*memoryRunning{},
		texts: &memoryTexts{texts: map[blob.Ref]*memoryText{}, unnamed: map[blob.Ref]bool{}},
	}
}

// Begin holds a session, which begins to exist with the turn's first event, for a
// turn that asks question. On a session that is held it returns ErrBusy.
func (m *Memory) Begin(ctx context.Context, id, question string) (Begun, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := cmp.Or(CheckQuestion(question), m.mayHold(ctx, id)); err != nil {
		return Begun{}, err
	}
	b := Begun{Turn: 1}
	if s := m.sessions[id]; s != nil {
		b.Turn, b.History = s.Turns+1, s.head
		if s.turns[s.Turns-1].Status == Running {
			b.Interrupted = s.Turns
		}
	}
	m.running[id] = &memoryRunning{number: b.Turn, question: question, began: m.texts.tick()}
	return b, nil
}

// Resume holds a session for its last turn, which must be one that Interrupted
// names, so that its journal goes on where it stopped.
func (m *Memory) Resume(ctx context.Context, id string) (Begun, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.mayHold(ctx, id); err != nil {
		return Begun{}, err
	}
	s := m.sessions[id]
	if s == nil {
		return Begun{}, NoSession(id)
	}
	last := s.turns[s.Turns-1]
	if last.Status != Running {
		return Begun{}, NothingInterrupted(id)
	}
	m.running[id] = &memoryRunning{number: s.Turns, question: last.Question, began: m.texts.tick(), kept: last}
	return Begun{Turn: s.Turns, History: s.head}, nil
}

// mayHold says why a session cannot be held.
func (m *Memory) mayHold(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := CheckID(id); err != nil {
		return err
	}
	if m.running[id] != nil {
		return ErrBusy
	}
	return nil
}

// NoteCut says what the calls of an interrupted turn have cost, which the running turn
// after it gives up: it counts from the running turn's first event on, and what is said
// after that does not count.
func (m *Memory) NoteCut(ctx context.Context, id string, turn int, u Usage) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	r, err := m.held(id, turn)
	if err == nil {
		r.cut = u
	}
	return err
}

// Append adds events to the journal of a running turn, all or none. Every text that they
// name must have been put.
func (m *Memory) Append(ctx context.Context, id string, turn int, events ...[]byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	r, err := m.held(id, turn)
	if err != nil {
		return err
	}
	refs, err := RefsOfEvents(id, turn, events)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		if m.texts.texts[ref] == nil {
			return NoText(ref)
		}
	}
	t := m.keep(id, r)
	for _, ref := range refs {
		m.texts.name(t, ref)
	}
	for _, event := range events {
		t.events = append(t.events, slices.Clone(event))
	}
	return nil
}

// held returns the turn that holds a session.
func (m *Memory) held(id string, turn int) (*memoryRunning, error) {
	if r := m.running[id]; r != nil && r.number == turn {
		return r, nil
	}
	return nil, NotRunning(id, turn)
}

// keep returns a running turn as it is kept, and begins to.
func (m *Memory) keep(id string, r *memoryRunning) *memoryTurn {
	if r.kept != nil {
		return r.kept
	}
	s := m.sessions[id]
	if s == nil {
		s = &memorySession{Session: Session{ID: id, Created: now(), Metadata: ParseID(id)}}
		m.sessions[id] = s
	}
	if s.Turns > 0 && s.turns[s.Turns-1].Status == Running {
		given := s.turns[s.Turns-1]
		given.Status, given.Usage = kernel.Cut, r.cut
		s.Usage = s.Usage.Plus(r.cut)
	}
	s.Turns, s.Updated = r.number, now()
	r.kept = &memoryTurn{
		Turn:  Turn{Number: r.number, Question: r.question, Status: Running, Started: s.Updated},
		names: map[blob.Ref]bool{},
	}
	m.texts.name(r.kept, m.texts.put([]byte(r.question)))
	s.turns = append(s.turns, r.kept)
	return r.kept
}

// Commit keeps what a turn came to, as End does, and goes on holding its session, for
// calls that follow the answer: their events may be appended until End, whose usage is
// added to this one. The session is let go of if Commit fails.
func (m *Memory) Commit(ctx context.Context, id string, turn int, e Ended) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.held(id, turn)
	if err != nil {
		return err
	}
	if r.committed {
		return NotRunning(id, turn)
	}
	if err := m.end(ctx, id, r, e); err != nil {
		m.letGo(id)
		return err
	}
	r.committed = true
	return nil
}

// End lets go of a session. What the turn came to is kept unless it has neither
// an answer nor a journal: then its number is given to the next one. A turn that
// has an answer joins the history, and is there whole or not at all. Of a turn that was
// committed, only the usage is kept, in addition. The session is let go of also if End
// fails.
func (m *Memory) End(ctx context.Context, id string, turn int, e Ended) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.held(id, turn)
	if err != nil {
		return err
	}
	defer m.letGo(id)
	if !r.committed {
		return m.end(ctx, id, r, e)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	r.kept.Usage = r.kept.Usage.Plus(e.Usage)
	s := m.sessions[id]
	s.Usage = s.Usage.Plus(e.Usage)
	return nil
}

func (m *Memory) letGo(id string) {
	delete(m.running, id)
	m.sweep()
}

func (m *Memory) end(ctx context.Context, id string, r *memoryRunning, e Ended) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.kept == nil && e.Winner == "" {
		return nil
	}
	if e, err = e.Checked(); err != nil {
		return err
	}
	if e.Messages != (blob.Ref{}) && m.texts.texts[e.Messages] == nil {
		return NoText(e.Messages)
	}
	t := m.keep(id, r)
	if e.Question != "" {
		t.Question = e.Question
		m.texts.name(t, m.texts.put([]byte(t.Question)))
	}
	t.Status, t.Winner, t.Answer, t.Usage, t.Ended = e.Status, e.Winner, e.Answer, e.Usage, now()
	t.Messages, t.MessageCount = e.Messages, e.MessageCount
	s := m.sessions[id]
	if e.Winner != "" {
		if err := m.link(s, t); err != nil {
			return err
		}
	}
	s.Usage, s.Updated = s.Usage.Plus(e.Usage), t.Ended
	s.Messages += e.MessageCount
	if s.Title == "" && e.Winner != "" {
		s.Title = TitleOf(t.Question)
	}
	return nil
}

// Leave lets go of a session whose turn is not over: it counts as interrupted then,
// unless it was committed.
func (m *Memory) Leave(_ context.Context, id string, turn int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.held(id, turn); err != nil {
		return err
	}
	m.letGo(id)
	return nil
}

// link adds a turn to its session's history.
func (m *Memory) link(s *memorySession, t *memoryTurn) error {
	l := Link{Previous: s.head, Turn: t.Number, Messages: t.Messages}
	l.Question, l.Answer = m.texts.put([]byte(t.Question)), m.texts.put([]byte(t.Answer))
	data, err := l.Encode()
	if err != nil {
		return err
	}
	t.Link = m.texts.put(data)
	s.head = t.Link
	for _, ref := range []blob.Ref{l.Question, l.Answer, t.Link} {
		m.texts.name(t, ref)
	}
	if t.Messages != (blob.Ref{}) {
		m.nameMessages(t)
	}
	return nil
}

// nameMessages keeps a turn's list of messages with the texts that it names.
func (m *Memory) nameMessages(t *memoryTurn) {
	m.texts.name(t, t.Messages)
	for _, ref := range Refs(m.texts.texts[t.Messages].data) {
		if m.texts.texts[ref] != nil {
			m.texts.name(t, ref)
		}
	}
}

// Put keeps a text, under its content's hash, for the events that will name it.
// The caller may change data afterwards. What no event names is forgotten when
// the turns that were running are over.
func (m *Memory) Put(ctx context.Context, data []byte) (blob.Ref, error) {
	if err := ctx.Err(); err != nil {
		return blob.Ref{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.texts.put(data), nil
}

// Get returns what Put stored; the caller must not change it.
func (m *Memory) Get(ctx context.Context, ref blob.Ref) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if data, ok := m.texts.get(ref); ok {
		return data, nil
	}
	return nil, NoText(ref)
}

// sweep forgets the texts that nobody names and no running turn can have put.
func (m *Memory) sweep() {
	first := int64(math.MaxInt64)
	for _, r := range m.running {
		first = min(first, r.began)
	}
	m.texts.sweep(first)
}

// Journal returns the events of a turn in their order, from a place on, which counts from 0.
// A turn that is not there has none.
func (m *Memory) Journal(ctx context.Context, id string, turn, from int) ([][]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.sessions[id]; s != nil && 0 < turn && turn <= s.Turns {
		events := s.turns[turn-1].events
		return slices.Clone(events[min(from, len(events)):]), nil
	}
	return nil, nil
}
