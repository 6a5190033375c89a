package policy

// StepLimits limit the part of a step's additions that a call sends. They are journaled
// with the turn and count bytes, which the journal has too, so that an input can be
// rebuilt to the byte.
type StepLimits struct {
	// Kind is the policy. Under Full there is no limit but Bytes.
	Kind Kind `json:"policy"`
	// Up to Messages messages, all are sent; beyond that, only the last Keep.
	Messages int `json:"messages,omitempty"`
	Keep     int `json:"keep,omitempty"`
	// Bytes is the room for them beside the first input. If they take more, the newest
	// ones that fit half of it are sent. 0 means no limit, as for an unknown window.
	Bytes int `json:"bytes,omitempty"`
	// FirstTokens is the counted size of the first input of round 1, and Window the
	// size of the model's window, 0 if unknown.
	FirstTokens int `json:"first_tokens,omitempty"`
	Window      int `json:"context_window,omitempty"`
	// SummaryWords is the most words of the summary of the omitted messages, 0 without a
	// summary. Bytes does not include the room for it.
	SummaryWords int `json:"summary_words,omitempty"`
}

// Limit returns the number of tokens of the largest input of the step that is sent whole, 0
// if the window is unknown. A token counts as so many bytes.
func (l StepLimits) Limit(bytesPerToken int) int {
	if l.Bytes == 0 {
		return l.Window
	}
	return l.FirstTokens + l.Bytes/bytesPerToken
}

// SummaryBytes returns the most bytes of a summary that are sent.
func (l StepLimits) SummaryBytes() int { return l.SummaryWords * bytesPerWord }

// BytesOfPicture is the number of bytes of text that take about as much room as a
// picture from a tool.
const BytesOfPicture = 4800

// bytesPerWord is more than a word of most languages has.
const bytesPerWord = 8

// StepLimits returns the limits for a model with a window, 0 if unknown, whose first
// input has so many tokens. output is as for Room. A token counts as so many bytes.
//
// Prune and Summarize send up to max_messages of the step, and beyond that the last
// keep_recent; with Summarize a summary replaces the others. Window sends up to
// window.messages, and beyond that the last window.shown. It does not cut them: a result
// is cut when it arrives, and the model must read new messages whole.
func (s Settings) StepLimits(window, first, output, bytesPerToken int) StepLimits {
	l := StepLimits{Kind: s.Kind, FirstTokens: first, Window: max(window, 0)}
	switch s.Kind {
	case Prune, Summarize:
		l.Messages, l.Keep = s.MaxMessages, s.KeepRecent
	case Window:
		l.Messages, l.Keep = s.WindowMessages, s.WindowShown
	}
	room := noLimit
	if window > 0 {
		room = max(window-reserved(window, output)-first, 0)
		l.Bytes = max(room*bytesPerToken, 1)
	}
	if s.Kind != Summarize {
		return l
	}
	l.SummaryWords = SummaryWords(room)
	if l.Bytes > 0 {
		l.Bytes = max(l.Bytes-l.SummaryBytes(), 1)
	}
	return l
}

// reserved returns the tokens of a window that are kept for the output of one call.
func reserved(window, output int) int {
	if output > 0 {
		return min(output, window/2)
	}
	return min(usualOutput, window/4)
}

// StepUnit is a message of the model in a step with its results. It is sent or left out
// as a whole.
type StepUnit struct {
	Messages, Bytes int
	// Carried is the number of its bytes that the input repeats if the unit is left out,
	// until a later omitted unit has carried bytes.
	Carried int
}

// StepCut is the part of a step that a call omits.
type StepCut struct {
	// Units counts the omitted units, from the oldest. Bytes is the size of the others,
	// with the carried bytes of the omitted ones.
	Units, Bytes int
	// NoRoom reports whether units were left out because they would not fit.
	NoRoom bool
}

// Cut returns the part of a step that a call omits. units are the step's units, oldest
// first; taken is the number of bytes that the step's first input has beyond that of
// round 1. The newest unit is always sent.
//
// It follows the calls before: omitted units stay omitted, and when a limit is passed it
// omits enough for many further calls. Between two such cuts each input only appends to
// the one before, so that prompt caches work.
func (l StepLimits) Cut(units []StepUnit, taken int) StepCut {
	cut, carried := StepCut{}, 0
	messages, room := 0, max(l.Bytes-taken, 1)
	for i, u := range units {
		messages += u.Messages
		cut.Bytes += u.Bytes
		fits := l.Bytes == 0 || cut.Bytes <= room
		if fits && (l.Kind == Full || messages <= l.Messages) {
			continue
		}
		isSmall := func() bool {
			return (l.Kind == Full || messages <= l.Keep) && (l.Bytes == 0 || cut.Bytes <= room/2)
		}
		for ; cut.Units < i && !isSmall(); cut.Units++ {
			out := units[cut.Units]
			messages -= out.Messages
			cut.Bytes -= out.Bytes
			if out.Carried > 0 {
				cut.Bytes += out.Carried - carried
				carried = out.Carried
			}
			cut.NoRoom = cut.NoRoom || !fits
		}
	}
	return cut
}
