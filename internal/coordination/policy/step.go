package policy

// StepLimits are how much is sent of what a step adds to its first input. They are
// journaled with the turn and reckon in bytes, whose number is journaled too, so that
// an input can be rebuilt to the byte.
type StepLimits struct {
	// Kind is the policy. Under Full there is no limit but Bytes.
	Kind Kind `json:"policy"`
	// Messages is up to how many messages all are sent, and Keep how many of the last are
	// of more.
	Messages int `json:"messages,omitempty"`
	Keep     int `json:"keep,omitempty"`
	// Bytes is the room for them beside the first input, 0 where the model's window is
	// not known: then there is no such limit. Of more, so much is sent as takes half.
	Bytes int `json:"bytes,omitempty"`
	// FirstTokens is what the first input of round 1 has, as it was counted, and Window
	// how many tokens the model can read; 0 if that is not known.
	FirstTokens int `json:"first_tokens,omitempty"`
	Window      int `json:"context_window,omitempty"`
	// SummaryWords is how many words the summary of what is left out may have; 0 if none is
	// made. Bytes is without the room for it.
	SummaryWords int `json:"summary_words,omitempty"`
}

// SummaryBytes is how much of a summary is sent.
func (l StepLimits) SummaryBytes() int { return l.SummaryWords * bytesPerWord }

// BytesOfPicture is how many bytes of text take about the room of a picture that a tool
// returned.
const BytesOfPicture = 4800

// bytesPerWord is more than a word of most languages has.
const bytesPerWord = 8

// StepLimits returns the limits for a model with a window, 0 if that is not known,
// whose first input has so many tokens. Output is as for Room. A token is reckoned as
// so many bytes.
//
// Prune and Summarize leave max_messages of the step alone and keep keep_recent of
// more; for Summarize a summary stands in the place of the others. Window leaves its messages alone and
// keeps its shown ones of more, but cuts none: a result is cut when it comes, and what
// the model has not read yet has to be whole.
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

// reserved is how many tokens of a window are kept for what one call writes.
func reserved(window, output int) int {
	if output > 0 {
		return min(output, window/2)
	}
	return min(usualOutput, window/4)
}

// StepUnit is a message of the model in a step with all that came back to it: it is
// sent or left out as a whole.
type StepUnit struct {
	Messages, Bytes int
	// Carried is how many bytes of it are told in the place of what is left out, until
	// a later unit that is left out has some of its own.
	Carried int
}

// StepCut says how much of a step a call is not sent.
type StepCut struct {
	// Units is how many are left out, from the oldest, and Bytes what is sent of the
	// others and carried of these.
	Units, Bytes int
	// NoRoom says that units were left out because they would not fit.
	NoRoom bool
}

// Cut returns what a call is not sent of the units of its step, which stand oldest
// first. Taken is how many bytes the step's first input has beside that of round 1. The
// newest unit is always sent.
//
// It goes through the step as the calls before did: what was left out stays left out,
// and once a limit is passed so much is that many calls follow before the next time.
// Between those times each input is the one before and something more, as prompt caches
// want it.
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
