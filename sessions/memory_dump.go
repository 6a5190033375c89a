package sessions

import (
	"context"
	"io"

	"github.com/massgen/massgen/internal/blob"
)

// Export writes a session as JSONL, which Import reads.
func (m *Memory) Export(ctx context.Context, id string, w io.Writer) error {
	d, err := m.dump(ctx, id)
	if err != nil {
		return err
	}
	return d.Write(w)
}

func (m *Memory) dump(ctx context.Context, id string) (*Dump, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[id]
	if s == nil {
		return nil, NoSession(id)
	}
	d := &Dump{Session: s.copied(), Texts: map[blob.Ref][]byte{}}
	for _, t := range s.turns {
		d.Turns = append(d.Turns, t.Turn)
		d.Journals = append(d.Journals, t.events[:len(t.events):len(t.events)])
		for ref := range t.names {
			d.Texts[ref] = m.texts.texts[ref].data
		}
	}
	return d, nil
}

// Import takes in a session that Export wrote, under its own id or, if as is not
// empty, under that one. It takes all of it, or nothing and says why; a session
// whose id is taken is refused.
func (m *Memory) Import(ctx context.Context, r io.Reader, as string) (Session, error) {
	d, err := ReadDumpAs(r, as)
	if err != nil {
		return Session{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.mayHold(ctx, d.Session.ID); err != nil {
		return Session{}, err
	}
	if m.sessions[d.Session.ID] != nil {
		return Session{}, Exists(d.Session.ID)
	}
	s := &memorySession{Session: d.Session}
	s.Messages = 0 // add counts them
	for i, turn := range d.Turns {
		names := d.Names(i)
		for _, ref := range names {
			m.texts.put(d.Texts[ref])
		}
		t := s.add(m, turn)
		for _, ref := range names {
			m.texts.name(t, ref)
		}
		t.events = d.Journals[i]
	}
	m.sessions[s.ID] = s
	return s.copied(), nil
}
