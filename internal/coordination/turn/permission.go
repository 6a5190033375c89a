package turn

import (
	"errors"
	"fmt"
	"slices"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
)

// Decided is a person's answer to a RequestPermission.
type Decided struct {
	At  kernel.Time `json:"at"`
	Key effect.Key  `json:"key"`
	// Allow lets the call run. Reason is the reason of a denial, for the model; it may be
	// empty.
	Allow  bool   `json:"allow"`
	Reason string `json:"reason,omitempty"`
}

func (e Decided) When() kernel.Time { return e.At }

// RequestPermission asks a person whether a tool call may run. It gets one Decided; there is
// one question at a time. A Cancel of its agent withdraws the question, and a later answer
// changes nothing.
type RequestPermission struct{ Request effect.PermissionRequest }

// requestPermissions adds questions to those that wait for a person, and puts the first.
func (m *Machine) requestPermissions(list []effect.PermissionRequest) {
	m.s.Permissions = append(m.s.Permissions, list...)
	m.requestNext()
}

// requestNext puts the first waiting question, if none is open.
func (m *Machine) requestNext() {
	if len(m.s.Permissions) > 0 && !m.s.IsPermissionOpen {
		m.s.IsPermissionOpen = true
		m.out = append(m.out, RequestPermission{m.s.Permissions[0]})
	}
}

// IsPermissionOpen reports whether a question was put, and was neither answered nor withdrawn.
func (m *Machine) IsPermissionOpen(key effect.Key) bool {
	return m.s.IsPermissionOpen && m.s.Permissions[0].Key == key
}

// OpenPermission returns the open question; ok is false if there is none.
func (m *Machine) OpenPermission() (ask effect.PermissionRequest, ok bool) {
	if !m.s.IsPermissionOpen {
		return effect.PermissionRequest{}, false
	}
	return m.s.Permissions[0], true
}

func (m *Machine) decided(ev Decided) error {
	if ev.Key.Agent < 0 || ev.Key.Agent >= len(m.s.Steps) {
		return errors.New("there is no such agent")
	}
	if i := slices.Index(m.s.Withdrawn, ev.Key); i >= 0 {
		m.s.Withdrawn = slices.Delete(m.s.Withdrawn, i, i+1)
		return nil
	}
	if !m.IsPermissionOpen(ev.Key) {
		return fmt.Errorf("nobody is asked about %s", ev.Key)
	}
	m.s.Permissions, m.s.IsPermissionOpen = slices.Delete(m.s.Permissions, 0, 1), false
	m.requestNext()
	return m.permit(ev.At, ev.Key, ev.Allow, ev.Reason)
}

// withdraw withdraws the questions of a cancelled agent. They are denied when the kernel's
// commands are carried out.
func (m *Machine) withdraw(agent int) {
	if m.s.IsPermissionOpen && m.s.Permissions[0].Key.Agent == agent {
		m.s.IsPermissionOpen = false
		m.s.Withdrawn = append(m.s.Withdrawn, m.s.Permissions[0].Key)
	}
	m.s.Permissions = slices.DeleteFunc(m.s.Permissions, func(a effect.PermissionRequest) bool {
		if a.Key.Agent == agent {
			m.withdrawn = append(m.withdrawn, a)
		}
		return a.Key.Agent == agent
	})
}

// refuse denies the withdrawn questions, and puts the next one.
func (m *Machine) refuse(at kernel.Time) error {
	for len(m.withdrawn) > 0 {
		ask := m.withdrawn[0]
		m.withdrawn = m.withdrawn[1:]
		if err := m.permit(at, ask.Key, false, "cancelled"); err != nil {
			return err
		}
	}
	m.requestNext()
	return nil
}

// permit gives a step the answer to its question.
func (m *Machine) permit(at kernel.Time, key effect.Key, allow bool, reason string) error {
	return m.stepped(at, key.Agent, m.s.Steps[key.Agent].Step.Permit(key.Index, allow, reason))
}
