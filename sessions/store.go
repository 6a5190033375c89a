package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/blob"
)

// Store is a store of sessions: the rules of all stores, over a Backing. It is safe for
// concurrent use.
type Store struct {
	backing Backing
	redact  func(string) string
	takes   func(id string) error // refuses new turns and branches of a session
}

// Keeper has a Store: sqlite.Store, postgres.Store and Store itself.
type Keeper interface {
	Masked(redact func(string) string) *Store
}

// NewStore returns the store on a Backing.
func NewStore(b Backing) *Store {
	return &Store{b, func(text string) string { return text }, func(string) error { return nil }}
}

// Masked returns a store on the same Backing that masks secrets before it stores a text: it
// applies redact to the texts that models receive. Inputs are built from stored texts, so
// models do not get these secrets either.
func (s *Store) Masked(redact func(string) string) *Store { return &Store{s.backing, redact, s.takes} }

// Only returns a store on the same Backing whose Begin and Branch return the error that takes has
// for a session.
func (s *Store) Only(takes func(id string) error) *Store { return &Store{s.backing, s.redact, takes} }

// Mask returns data with its secrets masked. Without secrets it returns data itself.
func (s *Store) Mask(data []byte) []byte {
	text := string(data)
	if masked := s.redact(text); masked != text {
		return []byte(masked)
	}
	return data
}

// Put stores a text under its content's hash, for the events that will name it. The caller may
// change data afterwards. A text that no event names is deleted when the turns that ran at the
// time are over.
func (s *Store) Put(ctx context.Context, data []byte) (blob.Ref, error) {
	return s.backing.Put(ctx, s.Mask(data))
}

// Get returns a stored text; the caller must not change it.
func (s *Store) Get(ctx context.Context, ref blob.Ref) ([]byte, error) {
	return s.backing.Get(ctx, ref)
}

// Begin holds a session for a turn that asks question. A new session exists from the turn's
// first event on. If any process holds the session, Begin returns ErrBusy.
func (s *Store) Begin(ctx context.Context, id, question string) (Begun, error) {
	if err := s.takes(id); err != nil {
		return Begun{}, err
	}
	question = s.redact(question)
	if err := checkQuestion(question); err != nil {
		return Begun{}, err
	}
	return hold(ctx, s.backing, id, func(last Last) (Held, error) {
		return Held{Number: last.Number + 1, Question: question, History: last.History}, nil
	})
}

// Resume holds a session for its last turn, which Interrupted must name, so that its journal
// continues where it stopped.
func (s *Store) Resume(ctx context.Context, id string) (Begun, error) {
	return hold(ctx, s.backing, id, func(last Last) (Held, error) {
		switch {
		case last.Number == 0:
			return Held{}, NoSession(id)
		case last.Status != Running:
			return Held{}, fmt.Errorf("session %s has no interrupted turn to go on with", id)
		}
		return Held{Number: last.Number, Question: last.Question, History: last.History, Stored: true}, nil
	})
}

// hold holds a session for the turn that next returns.
func hold(ctx context.Context, backing Turns, id string, next func(Last) (Held, error)) (b Begun, err error) {
	if err := CheckID(id); err != nil {
		return Begun{}, err
	}
	err = backing.Hold(ctx, id, func(last Last) (Held, error) {
		h, err := next(last)
		b = last.Begun(h.Number)
		return h, err
	})
	if err != nil {
		return Begun{}, err
	}
	return b, nil
}

// RecordCut records the usage of the interrupted turn that the running turn abandons. It
// counts from the running turn's first event on, and later calls change nothing.
func (s *Store) RecordCut(ctx context.Context, id string, turn int, u Usage) error {
	return s.backing.Append(ctx, "note what a turn of session "+id+" has cost", id, turn, false, func(h *Held) (*Change, error) {
		h.Cut = u
		return nil, nil
	})
}

// Append adds events to the journal of a running turn, all or none. Every text that they name
// must be stored. When Append returns, they are committed. The caller must not change them
// afterwards.
func (s *Store) Append(ctx context.Context, id string, turn int, events ...[]byte) error {
	return s.append(ctx, id, turn, nil, events)
}

// AppendAt adds events as Append does, at a place in the journal, counted from 0. It omits
// events whose places are taken, so a caller that missed the reply can repeat the call. A gap
// before the place is an error.
func (s *Store) AppendAt(ctx context.Context, id string, turn, place int, events ...[]byte) error {
	return s.append(ctx, id, turn, &place, events)
}

func (s *Store) append(ctx context.Context, id string, turn int, place *int, events [][]byte) error {
	masked, names, err := maskedEvents(s.redact, id, turn, events)
	if err != nil {
		return err
	}
	change := &Change{Events: masked, At: place, Names: names}
	return s.backing.Append(ctx, "write the journal of session "+id, id, turn, false, func(h *Held) (_ *Change, err error) {
		if !h.Stored {
			change.Metadata, err = maskedMetadata(MetadataOf(ctx, id), s.redact)
		}
		return change, err
	})
}

// maskedEvents returns events of a turn with their secrets masked, and the texts that they name,
// each once. It refuses an empty event.
func maskedEvents(redact func(string) string, id string, turn int, events [][]byte) (masked [][]byte, names []blob.Ref, err error) {
	masked = make([][]byte, len(events))
	for i, event := range events {
		text := redact(string(event))
		if text == "" {
			return nil, nil, fmt.Errorf("an event of turn %d of session %s is empty", turn, id)
		}
		if masked[i] = event; text != string(event) {
			masked[i] = []byte(text)
		}
		names = append(names, Refs(masked[i])...)
	}
	slices.SortFunc(names, func(a, b blob.Ref) int {
		return cmp.Or(strings.Compare(a.SHA256, b.SHA256), cmp.Compare(a.Bytes, b.Bytes))
	})
	return masked, slices.Compact(names), nil
}

// Journal returns the events of a turn in their order, from a place on, counted from 0. A
// missing turn has none.
func (s *Store) Journal(ctx context.Context, id string, turn, from int) ([][]byte, error) {
	return s.backing.Journal(ctx, id, turn, from)
}

// Commit stores a turn's outcome, as End does, and still holds the session for calls that
// follow the answer: their events may be appended until End, whose usage is added. If the
// process ends before End, the turn does not count as interrupted. If Commit fails, it releases
// the session.
func (s *Store) Commit(ctx context.Context, id string, turn int, e Ended) error {
	e.Answer = s.redact(e.Answer)
	page := pageFor(ctx, s.backing, id, turn)
	return end(ctx, s.backing, id, turn, false, func(h *Held) (*Change, error) {
		if h.Committed {
			return nil, NotRunning(id, turn)
		}
		return h.outcome(e, page)
	})
}

// End releases a session and stores the turn's outcome. A turn with neither an answer nor a
// journal is not stored, and the next turn gets its number. A turn with an answer joins the
// history in one transaction, whole or not at all. After Commit, End stores only the additional
// usage. It releases the session even if it fails.
func (s *Store) End(ctx context.Context, id string, turn int, e Ended) error {
	e.Answer = s.redact(e.Answer)
	page := pageFor(ctx, s.backing, id, turn)
	return end(ctx, s.backing, id, turn, true, func(h *Held) (*Change, error) {
		switch {
		case h.Committed:
			return &Change{Later: &e.Usage}, nil
		case !h.Stored && e.Winner == "":
			return nil, nil
		}
		return h.outcome(e, page)
	})
}

// EndWith is Append of the journal's last events and End in one transaction. After an error the turn
// still holds its session, unless the store does not know whether the transaction was committed.
func (s *Store) EndWith(ctx context.Context, id string, turn int, e Ended, events ...[]byte) error {
	masked, names, err := maskedEvents(s.redact, id, turn, events)
	if err != nil {
		return err
	}
	e.Answer = s.redact(e.Answer)
	page := pageFor(ctx, s.backing, id, turn)
	return s.backing.Append(ctx, "end a turn of session "+id, id, turn, true, func(h *Held) (*Change, error) {
		if h.Committed {
			return nil, NotRunning(id, turn)
		}
		change, err := h.outcome(e, page)
		if err == nil {
			change.Events, change.Names = masked, names
		}
		return change, err
	})
}

// end appends to a turn. If that fails, it releases the session, unless the turn does not hold it.
func end(ctx context.Context, backing Turns, id string, turn int, ends bool, do func(*Held) (*Change, error)) error {
	err := backing.Append(ctx, "end a turn of session "+id, id, turn, ends, do)
	if err == nil || errors.Is(err, ErrNotRunning) {
		return err
	}
	_, alsoErr := backing.Leave(ctx, id, turn)
	return errors.Join(err, alsoErr)
}

// pageFor returns the page for the link of a turn, or nil. It reads outside of the transaction that
// ends the turn. If the history cannot be read, the turn ends without the page.
func pageFor(ctx context.Context, backing Turns, id string, turn int) []byte {
	if !isPaged(turn) {
		return nil
	}
	var head blob.Ref
	err := backing.Append(ctx, "look at a turn of session "+id, id, turn, false, func(h *Held) (*Change, error) {
		if !h.Committed {
			head = h.History
		}
		return nil, nil
	})
	if err != nil {
		return nil // what ends the turn fails too, and says why
	}
	page, err := pageOf(ctx, backing, head)
	if err != nil {
		return nil // the history is read without it
	}
	return page
}

// outcome returns the change that ends a turn. An answer adds a link to the history, with a page
// that is not nil.
func (h *Held) outcome(e Ended, page []byte) (*Change, error) {
	e, err := e.checked()
	if err != nil {
		return nil, err
	}
	t := &Turn{
		Number: h.Number, Question: cmp.Or(e.Question, h.Question), Answer: e.Answer, Winner: e.Winner, Status: e.Status,
		Usage: e.Usage, Messages: e.Messages, MessageCount: e.MessageCount,
	}
	c := &Change{Outcome: t}
	if e.Question != "" {
		c.Texts = append(c.Texts, []byte(e.Question))
	}
	if t.Winner != "" {
		link, err := t.link(h.History, page)
		if err != nil {
			return nil, err
		}
		t.Link, c.Title = RefOf(link), TitleOf(t.Question)
		c.Texts = append(c.Texts, link, []byte(t.Answer))
		if page != nil {
			c.Texts = append(c.Texts, page)
		}
	}
	h.Committed = true
	return c, nil
}

// link returns the link that adds a turn to the history with the newest link head. It names the page,
// unless page is nil.
func (t *Turn) link(head blob.Ref, page []byte) ([]byte, error) {
	l := Link{
		Previous: head, Turn: t.Number, Messages: t.Messages, Question: RefOf([]byte(t.Question)), Answer: RefOf([]byte(t.Answer)),
	}
	if page != nil {
		l.Page = RefOf(page)
	}
	return l.Encode()
}

// Leave releases a session whose turn is not over. The turn then counts as interrupted, as if
// its process had ended, unless it was committed.
func (s *Store) Leave(ctx context.Context, id string, turn int) error {
	held, err := s.backing.Leave(ctx, id, turn)
	if err == nil && !held {
		err = NotRunning(id, turn)
	}
	return err
}

// Session returns a session, or ErrNoSession.
func (s *Store) Session(ctx context.Context, id string) (Session, error) {
	list, err := s.backing.List(ctx, Filter{ID: id})
	switch {
	case err != nil:
		return Session{}, err
	case len(list) == 0:
		return Session{}, NoSession(id)
	}
	return list[0], nil
}

// List returns the sessions that f chooses, the most recently used first; sessions of the same time in the order of
// their ids. A page reads as much as it has. Sessions that are used while their pages are read move to the front, so
// that no page has a session again.
func (s *Store) List(ctx context.Context, f Filter) ([]Session, error) { return s.backing.List(ctx, f) }

// Turns returns a session's last turns, oldest first; last 0 means all. They include turns that
// have no answer or never ended.
func (s *Store) Turns(ctx context.Context, id string, last int) ([]Turn, error) {
	turns, err := s.backing.Last(ctx, id, last, false)
	if err == nil && len(turns) == 0 {
		err = NoSession(id)
	}
	return turns, err
}

// History returns a session's turns with an answer, oldest first. A missing session has none.
func (s *Store) History(ctx context.Context, id string) ([]Turn, error) {
	turns, err := s.backing.Last(ctx, id, 0, false)
	return slices.DeleteFunc(turns, func(t Turn) bool { return t.Winner == "" }), err
}

// Interrupted returns the turn of a session that has begun, has not ended, and that no process
// works on, or no turn.
func (s *Store) Interrupted(ctx context.Context, id string) ([]Turn, error) {
	last, err := s.Turns(ctx, id, 1)
	if err != nil || last[0].Status != Running {
		return nil, err
	}
	// The turn may have ended since it was read.
	return s.backing.Last(ctx, id, 1, true)
}

// Search returns the places where the words of a query are found: in titles, and in questions
// and answers of the sessions that f chooses, in the order of List, and within a session in the
// order of its turns. The title of a session is before its turns.
func (s *Store) Search(ctx context.Context, query string, f Filter) ([]Hit, error) {
	q := ParseQuery(query)
	if len(q) == 0 {
		return []Hit{}, ctx.Err()
	}
	return s.backing.Search(ctx, q, f)
}

// AddUp returns the sums over the sessions that f chooses.
func AddUp(ctx context.Context, s *Store, f Filter) (Totals, error) {
	return s.backing.Totals(ctx, f)
}

// SetTitle sets a session's title.
func (s *Store) SetTitle(ctx context.Context, id, title string) error {
	if err := CheckTitle(title); err != nil {
		return err
	}
	return s.backing.Set(ctx, id, &title, nil)
}

// SetMetadata adds to a session's metadata, or changes it. An empty value removes its key.
func (s *Store) SetMetadata(ctx context.Context, id string, metadata map[string]string) error {
	masked, err := maskedMetadata(metadata, s.redact)
	if err != nil {
		return err
	}
	return s.backing.Set(ctx, id, nil, masked)
}

type metadataKey struct{ session string }

// WithMetadata returns a context for a new turn of a session. The Append of the turn's first events
// also sets the metadata, as SetMetadata does, in the same transaction.
func WithMetadata(ctx context.Context, session string, metadata map[string]string) context.Context {
	return context.WithValue(ctx, metadataKey{session}, metadata)
}

// MetadataOf returns the metadata that a context carries for a session, nil for none.
func MetadataOf(ctx context.Context, session string) map[string]string {
	metadata, _ := ctx.Value(metadataKey{session}).(map[string]string)
	return metadata
}

func maskedMetadata(metadata map[string]string, redact func(string) string) (map[string]string, error) {
	masked := make(map[string]string, len(metadata))
	for key, value := range metadata {
		masked[key] = redact(value)
	}
	return masked, CheckMetadata(masked)
}

// Branch makes a new session, to, that continues after a turn of another one without the later
// turns. It has the other session's turns, but not their journals, and its usage begins at
// zero.
func (s *Store) Branch(ctx context.Context, from string, turn int, to string) (Session, error) {
	if err := cmp.Or(s.takes(to), CheckID(to)); err != nil {
		return Session{}, err
	}
	created := now()
	err := s.backing.Copy(ctx, "branch session "+from, from, turn, to, func(parent Session, status kernel.Status) (Session, error) {
		if status == "" || status == Running {
			return Session{}, fmt.Errorf("session %s has no turn %d that is over", from, turn)
		}
		return Session{ID: to, Title: parent.Title, Parent: from, ParentTurn: turn, Created: created, Updated: created, Metadata: parent.Metadata}, nil
	})
	if err != nil {
		return Session{}, err
	}
	return s.Session(ctx, to)
}

// Export writes a session as JSONL, which Import reads. It includes the events so far of a
// running turn.
func (s *Store) Export(ctx context.Context, id string, w io.Writer) error {
	d, err := s.backing.Dump(ctx, id)
	if err != nil {
		return err
	}
	return d.Write(w)
}

// Import adds a session that Export wrote, under its own id or, if as is not empty, under that
// one. It adds all of it, or nothing and returns an error; it refuses an id that exists. It lets others write
// meanwhile: the session appears at the end.
func (s *Store) Import(ctx context.Context, r io.Reader, as string) (Session, error) {
	d, err := ReadDump(endingReader{ctx, r})
	if err != nil {
		return Session{}, err
	}
	d.Session.ID = cmp.Or(as, d.Session.ID)
	if err := CheckID(d.Session.ID); err != nil {
		return Session{}, err
	}
	if err := s.backing.Load(ctx, "import session "+d.Session.ID, d); err != nil {
		return Session{}, err
	}
	return s.Session(ctx, d.Session.ID)
}

// endingReader is a reader that fails when its context has ended.
type endingReader struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (r endingReader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, r.ctx.Err()
	}
	return r.Reader.Read(p)
}

// Delete deletes a session, with the texts that no other session names. Its branches stay
// whole. While a turn runs on the session, in any process, it returns ErrBusy.
func (s *Store) Delete(ctx context.Context, id string) error {
	if err := CheckID(id); err != nil {
		return err
	}
	return s.backing.Delete(ctx, id, time.Time{})
}

// DeleteUnused is Delete for a session that was last used before a time. Otherwise it returns ErrUsed.
func DeleteUnused(ctx context.Context, s *Store, id string, since time.Time) error {
	if err := CheckID(id); err != nil {
		return err
	}
	return s.backing.Delete(ctx, id, since)
}

// AddFact stores a fact about a user; an empty user means the user of this machine. If the fact
// is stored already, AddFact returns that one.
func (s *Store) AddFact(ctx context.Context, user, text string) (Fact, error) {
	text = s.redact(text)
	if err := checkFact(user, text); err != nil {
		return Fact{}, err
	}
	return s.backing.AddFact(ctx, user, text)
}

// Facts returns the facts about a user, oldest first.
func (s *Store) Facts(ctx context.Context, user string) ([]Fact, error) {
	return s.backing.Facts(ctx, user, nil)
}

// SearchFacts returns the facts about a user that have the words of a query, oldest first.
func (s *Store) SearchFacts(ctx context.Context, user, query string) ([]Fact, error) {
	q := ParseQuery(query)
	if len(q) == 0 {
		return []Fact{}, ctx.Err()
	}
	return s.backing.Facts(ctx, user, q)
}

// Forget deletes a fact, or returns ErrNoFact. A store on disk overwrites its bytes.
func (s *Store) Forget(ctx context.Context, id int64) error { return s.backing.Forget(ctx, id) }

// Compact makes a store as small as possible. Other writes may wait meanwhile.
func (s *Store) Compact(ctx context.Context) error { return s.backing.Compact(ctx) }

// Check looks for damage. It reads the whole store.
func (s *Store) Check(ctx context.Context) error { return s.backing.Check(ctx) }
