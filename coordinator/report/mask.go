package report

// masked returns an event without the secrets in its whole texts. The events of pieces have none.
func (s *State) masked(ev Event) Event {
	if s.Mask == nil {
		return ev
	}
	switch ev := ev.(type) {
	case Answered:
		ev.Content = s.Mask(ev.Content)
		return ev
	case Voted:
		ev.Reason = s.Mask(ev.Reason)
		return ev
	case Abstained:
		ev.Reason = s.Mask(ev.Reason)
		return ev
	case Failed:
		ev.Reason = s.Mask(ev.Reason)
		return ev
	case CallEnded:
		ev.Why = s.Mask(ev.Why)
		return ev
	case Retrying:
		ev.Why = s.Mask(ev.Why)
		return ev
	case FellBack:
		ev.Why = s.Mask(ev.Why)
		return ev
	case SidecallFailed:
		ev.Why = s.Mask(ev.Why)
		return ev
	case Noted:
		ev.Text = s.Mask(ev.Text)
		return ev
	}
	return s.maskedTool(ev)
}

func (s *State) maskedTool(ev Event) Event {
	switch ev := ev.(type) {
	case ToolStarted:
		ev.Tool = s.maskedCall(ev.Tool)
		return ev
	case ToolProgress:
		ev.Text = s.Mask(ev.Text)
		return ev
	case ToolEnded:
		ev.Tool = s.maskedCall(ev.Tool)
		return ev
	case PermissionRequested:
		ev.Tool, ev.Why = s.maskedCall(ev.Tool), s.Mask(ev.Why)
		return ev
	}
	return ev
}

func (s *State) maskedCall(c ToolCall) ToolCall {
	c.Arguments, c.Result = s.Mask(c.Arguments), s.Mask(c.Result)
	return c
}
