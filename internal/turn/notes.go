package turn

import (
	"errors"
	"slices"

	"github.com/massgen/massgen/internal/blob"
	"github.com/massgen/massgen/internal/kernel"
	"github.com/massgen/massgen/internal/machine"
)

// Noted is what a person has added to the question while the turn runs (rule 11). Note is
// a text of the store.
type Noted struct {
	At   kernel.Time `json:"at"`
	Note blob.Ref    `json:"note"`
	// ID names a note that came from another process, whose sender waits for it. The text may
	// not be the one that was sent: secrets in it are masked where it is stored.
	ID string `json:"id,omitempty"`
}

func (e Noted) at() kernel.Time { return e.At }

func (Noted) kind() string { return "noted" }

// NoteTaken tells that a note was taken.
type NoteTaken struct{ Text blob.Ref }

func (NoteTaken) command() {}

// notes are those of the turn. An agent that has seen one has seen those before it.
type notes struct {
	Texts []blob.Ref `json:"texts,omitempty"`
	// Seen is how many each agent has seen, in the config's order.
	Seen []int `json:"seen,omitempty"`
}

// Note is what a person has added to the question. SeenBy counts the agents one of whose
// calls was sent it and came back with a message.
type Note struct {
	Text   blob.Ref
	SeenBy int
}

// Notes returns the notes of the turn, in the order in which they came.
func (m *Machine) Notes() (list []Note) {
	for i, text := range m.s.Notes.Texts {
		note := Note{Text: text}
		for _, seen := range m.s.Notes.Seen {
			if seen > i {
				note.SeenBy++
			}
		}
		list = append(list, note)
	}
	return list
}

// noted is rule 11. The kernel does not know of it: what has been answered and voted
// stands, and nobody acts again for it.
func (m *Machine) noted(ev Noted) error {
	if m.Over() {
		return errors.New("the turn is over")
	}
	if m.s.Notes.Seen == nil {
		m.s.Notes.Seen = make([]int, len(m.s.Steps))
	}
	m.s.Notes.Texts = append(m.s.Notes.Texts, ev.Note)
	m.out = append(m.out, NoteTaken{ev.Note})
	for agent, s := range m.s.Steps {
		if s == nil {
			continue
		}
		if err := m.tell(agent, machine.Note{Text: ev.Note}); err != nil {
			return err
		}
	}
	return nil
}

// notesSoFar are those that a step begins with.
func (m *Machine) notesSoFar() []blob.Ref { return slices.Clone(m.s.Notes.Texts) }

// noteSeen books which notes were in the input of an agent's call that came back.
func (m *Machine) noteSeen(ev ModelDone) {
	if ev.Reply.Failure == nil && m.s.Notes.Seen != nil {
		m.s.Notes.Seen[ev.Key.Agent] = max(m.s.Notes.Seen[ev.Key.Agent], m.s.Steps[ev.Key.Agent].Step.NotesTold())
	}
}
