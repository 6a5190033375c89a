package report

import "github.com/massgen/massgen/contextbuild"

// masked returns an event without the secrets in its whole texts. The events of pieces have none.
func (s *State) masked(ev Event) Event {
	if s.Mask == nil {
		return ev
	}
	switch ev := ev.(type) {
	case Answered:
		return hidden(&ev, s.Mask, &ev.Content)
	case Voted:
		return hidden(&ev, s.Mask, &ev.Reason)
	case Abstained:
		return hidden(&ev, s.Mask, &ev.Reason)
	case Failed:
		return hidden(&ev, s.Mask, &ev.Reason)
	case Consulted:
		if ev.Analysis != nil {
			ev.Analysis = new(ev.Analysis.Rewritten(s.Mask))
		}
		if ev.Review != nil {
			ev.Review = &contextbuild.Review{Action: ev.Review.Action, Reason: s.Mask(ev.Review.Reason), Instructions: s.Mask(ev.Review.Instructions)}
		}
		return hidden(&ev, s.Mask, &ev.Why)
	case CallEnded:
		return hidden(&ev, s.Mask, &ev.Why)
	case Retrying:
		return hidden(&ev, s.Mask, &ev.Why)
	case FellBack:
		return hidden(&ev, s.Mask, &ev.Why)
	case SidecallFailed:
		return hidden(&ev, s.Mask, &ev.Why)
	case Noted:
		return hidden(&ev, s.Mask, &ev.Text)
	case ToolStarted:
		return hidden(&ev, s.Mask, &ev.Tool.Arguments, &ev.Tool.Result)
	case ToolProgress:
		return hidden(&ev, s.Mask, &ev.Text)
	case ToolEnded:
		return hidden(&ev, s.Mask, &ev.Tool.Arguments, &ev.Tool.Result)
	case PermissionRequested:
		return hidden(&ev, s.Mask, &ev.Tool.Arguments, &ev.Why)
	}
	return ev
}

// hidden returns an event after mask has replaced some of its texts.
func hidden[E Event](ev *E, mask func(text string) string, texts ...*string) Event {
	for _, text := range texts {
		*text = mask(*text)
	}
	return *ev
}
