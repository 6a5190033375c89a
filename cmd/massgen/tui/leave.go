package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// leaving is the key that leaves the program if it is pressed again, and the time of its first press.
type leaving struct {
	key   string // Esc or Ctrl+C, "" for none
	since time.Time
}

// The times of the keys that leave. A second press counts for leaveWithin. An Esc within quietAfter of the end of a turn or of a
// command of the shell counts for nothing: it may have been meant for that. An Esc may be the beginning of another
// key that a slow line delivers in pieces, so it leaves only if nothing follows it within lostKey.
const (
	leaveWithin = 3 * time.Second
	quietAfter  = 2 * time.Second
	lostKey     = 200 * time.Millisecond
)

// leaveMsg is sent if nothing followed a second Esc.
type leaveMsg struct{}

// stop takes Esc or Ctrl+C, which end the command of the shell, or the turn with the best answer so far. Without both,
// two presses leave the program.
func (s *screen) stop(key string) tea.Cmd {
	now := time.Now()
	switch {
	case s.shell.command.isRunning() && (!s.shell.command.ending || s.talk.running != nil): // keys that come too late must not end the turn
		s.shell.stop()
		return nil
	case s.talk.running != nil && !s.talk.running.ending:
		s.talk.stop()
		if key == "Ctrl+C" {
			s.leaving = leaving{key, now}
		}
		return nil
	case key == "Esc" && (s.talk.running != nil || now.Sub(s.talk.ended) < quietAfter || s.shell.command.endedWithin(quietAfter) || !s.entry.isEmpty()):
		return nil
	case s.leaving.key != key || now.Sub(s.leaving.since) > leaveWithin:
		s.leaving = leaving{key, now}
		return nil
	case key == "Esc":
		return tea.Tick(lostKey, func(time.Time) tea.Msg { return leaveMsg{} })
	}
	return tea.Quit
}

// fade forgets the first press, once its time is over.
func (l *leaving) fade(now time.Time) {
	if now.Sub(l.since) > leaveWithin {
		*l = leaving{}
	}
}
