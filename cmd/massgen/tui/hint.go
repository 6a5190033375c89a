package tui

// hint returns the keys that work now, the most important first.
func (s *screen) hint() []string {
	agent := []string{"Enter its whole text", "Esc back", "arrows another agent", "i its input"}
	switch {
	case s.leaving.key != "" && s.overlay == nil:
		return []string{s.leaving.key + " again leaves"}
	case isBoxed(s.overlay, s.rows()):
		return []string{"the keys above answer"}
	case s.focus >= 0 && s.talk.running != nil:
		return append(agent, "p pause", "x go on without it", "Ctrl+X tool calls")
	case s.focus >= 0:
		return append(agent, "Ctrl+X tool calls")
	case s.menu.isOpen():
		if s.menu.list[0].Name[0] == '@' {
			return []string{"↑↓ choose", "Enter takes it", "Esc closes"}
		}
		return []string{"↑↓ choose", "Tab takes it", "Enter runs it", "Esc closes"}
	case s.shell.command.isRunning():
		return []string{"a command is running: Esc ends it", "? keys"}
	case s.talk.running != nil:
		return s.talk.hint()
	case s.entry.context != "":
		return []string{"the output of the command goes with the next question", "Ctrl+U drops it"}
	case !s.entry.isEmpty():
		return []string{"Enter send", "Ctrl+J new line", "@FILE attaches", "Ctrl+U clear", "Ctrl+O edit in $EDITOR"}
	}
	return s.talk.idleHint()
}

// idleHint returns the keys for an empty line while no turn runs: those for the last answer first.
func (t *talk) idleHint() []string {
	hints := []string{"Enter send", "/ commands", "? keys"}
	switch {
	case t.last.hasFailed:
		hints = append(hints, "/retry asks again")
	case t.last.answer != "":
		hints = append(hints, "Ctrl+Y copy", "Ctrl+G compare")
	default:
		hints = append(hints, "@FILE attaches")
	}
	return append(hints, "Ctrl+S sessions", "Esc Esc leaves", "Ctrl+N new session", "Tab agents", "Ctrl+X progress")
}

// hint returns the newest sentence about the turn, and the keys that work while it runs.
func (t *talk) hint() (hints []string) {
	if n := len(t.shown.News); n > 0 {
		hints = append(hints, t.conv.Redact(t.shown.News[n-1].Text))
	}
	if t.running.ending {
		return append(hints, "the turn is ending", "Ctrl+C twice leaves at once")
	}
	return append(hints, "Esc ends the turn", "Enter adds a note", "Tab agents", "? keys")
}
