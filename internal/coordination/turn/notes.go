package turn

import (
	"errors"
	"slices"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/blob"
)

// Noted is a person's addition to the question while the turn runs (rule 11). Note is a text of
// the store.
type Noted struct {
	At   kernel.Time `json:"at"`
	Note blob.Ref    `json:"note"`
	// ID names a note from another process, whose sender waits for it. The stored text may
	// differ from the sent one: secrets are masked.
	ID string `json:"id,omitempty"`
}

func (e Noted) When() kernel.Time { return e.At }

// NoteAccepted reports that a note was accepted.
type NoteAccepted struct{ Text blob.Ref }

// notes are the turn's notes. An agent that has seen one has seen those before it.
type notes struct {
	Texts []blob.Ref `json:"texts,omitempty"`
	// Seen counts the notes that each agent has seen, in the config's order.
	Seen []int `json:"seen,omitempty"`
}

// Note is a person's addition to the question. SeenBy counts the agents of the panel one of whose
// calls had it and came back with a message.
type Note struct {
	Text   blob.Ref
	SeenBy int
}

// Notes returns the notes of the turn, in the order of their arrival.
func (m *Machine) Notes() (list []Note) {
	for i, text := range m.s.Notes.Texts {
		note := Note{Text: text}
		for agent, seen := range m.s.Notes.Seen {
			if agent < len(m.s.Turn.Agents) && seen > i {
				note.SeenBy++
			}
		}
		list = append(list, note)
	}
	return list
}

// noted is rule 11. The kernel does not know of it: answers and votes stand, and no agent acts
// again for it.
func (m *Machine) noted(ev Noted) error {
	if m.Over() {
		return errors.New("the turn is over")
	}
	if m.s.Notes.Seen == nil {
		m.s.Notes.Seen = make([]int, len(m.s.Steps))
	}
	m.s.Notes.Texts = append(m.s.Notes.Texts, ev.Note)
	m.out = append(m.out, NoteAccepted{ev.Note})
	for _, s := range m.s.Steps {
		if s != nil {
			s.Step.AddNote(ev.Note)
		}
	}
	return nil
}

// notesSoFar returns the notes that a step begins with.
func (m *Machine) notesSoFar() []blob.Ref { return slices.Clone(m.s.Notes.Texts) }

// noteSeen records the notes in the input of an agent's call that returned.
func (m *Machine) noteSeen(ev ModelDone) {
	if ev.Reply.Failure == nil && m.s.Notes.Seen != nil {
		m.s.Notes.Seen[ev.Key.Agent] = max(m.s.Notes.Seen[ev.Key.Agent], m.s.Steps[ev.Key.Agent].Step.NotesTold())
	}
}
