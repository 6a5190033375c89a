package policy

// Turn is a turn of the history by its sizes.
type Turn struct {
	// Number is its number in the session, 0 if it has no number.
	Number int
	// Units are its messages in order.
	Units []Unit
}

// Unit is shown or left out as a whole: a message, or a message with tool calls and
// the message with their results.
type Unit struct{ Messages, Tokens int }

// Tokens returns the size of the whole turn.
func (t Turn) Tokens() int {
	sum := 0
	for _, u := range t.Units {
		sum += u.Tokens
	}
	return sum
}

// Range is a range of turns by their numbers, with both ends.
type Range struct {
	First int `json:"first_turn"`
	Last  int `json:"last_turn"`
}

// Summary is an existing summary: the turns that it replaces, and its size.
type Summary struct {
	Range
	Tokens int
}

// Picker chooses the shown part of a history. The caller adds turns, newest first, for
// as long as Add wants more: of a long history it needs only the shown part and one
// more turn.
type Picker struct {
	settings Settings
	room     int // for turns and summary
	summary  Summary
	stop     stop
	// taken is the part that fits the policy and the room. whole is its extent at the
	// last end of a turn, and recent its extent within KeepRecent messages.
	taken, whole, recent mark
	// kept are the turns that stay unchanged beside a new summary, and before is the
	// number of the turn before them, 0 if the picker has not seen it.
	kept   mark
	before int
}

// mark is a place in the history, counted from the end.
type mark struct{ turns, messages, tokens, first int }

// stop is the reason why a picker wants no more turns.
type stop int

const (
	goesOn     stop = iota
	tooMany         // messages, for the policy
	noRoom          // for the next message
	summarized      // is what comes before
)

// NewPicker returns a picker without turns. room is the most tokens to show. Only
// Summarize uses the summary; the zero value means that there is no summary.
func NewPicker(s Settings, room int, summary Summary) *Picker {
	if s.Kind != Summarize {
		summary = Summary{}
	}
	return &Picker{settings: s, room: room, summary: summary}
}

// Add gives the picker the next older turn, and reports whether it wants another.
func (p *Picker) Add(t Turn) (more bool) {
	if p.stop == goesOn && t.Number <= p.summary.Last && p.summary.Last > 0 {
		p.stop = summarized
	}
	if p.stop != goesOn {
		return false
	}
	p.take(t)
	if p.stop == goesOn {
		p.whole = p.taken
		if p.whole.messages <= p.settings.KeepRecent && p.whole.tokens <= p.room/2 {
			p.kept = p.whole
			return true
		}
	}
	if p.before == 0 {
		p.before = t.Number
	}
	return p.stop == goesOn
}

// take adds the messages of a turn, from its last, as far as they fit.
func (p *Picker) take(t Turn) {
	next := p.taken
	next.turns++
	next.first = t.Number
	for i := len(t.Units) - 1; i >= 0; i-- {
		next.messages += t.Units[i].Messages
		next.tokens += t.Units[i].Tokens
		if next.messages > p.settings.most() {
			p.stop = tooMany
			return
		}
		if next.tokens > p.roomForTurns() {
			p.stop = noRoom
			return
		}
		p.taken = next
		if next.messages <= p.settings.KeepRecent {
			p.recent = next
		}
	}
}

// fits reports whether there is a summary that fits.
func (p *Picker) fits() bool { return p.summary.Last > 0 && p.summary.Tokens <= p.room }

func (p *Picker) roomForTurns() int {
	if p.fits() {
		return p.room - p.summary.Tokens
	}
	return p.room
}

// Selection returns the shown part of the added turns.
func (p *Picker) Selection() Selection {
	shown := p.taken
	if p.stop == tooMany || p.stop == noRoom {
		switch p.settings.Kind {
		case Prune:
			shown = p.recent
		case Full, Summarize:
			if p.whole.turns > 0 {
				shown = p.whole
			}
		}
	}
	s := Selection{
		Kind: p.settings.Kind, Turns: shown.turns, Messages: shown.messages, FirstTurn: shown.first, Tokens: shown.tokens,
		Cut: p.settings.Cut(), LeftOut: p.stop == tooMany || p.stop == noRoom, NoRoom: p.stop == noRoom,
	}
	switch {
	case p.fits():
		covered := p.summary.Range
		s.Summary = &covered
		s.Tokens += p.summary.Tokens
	case p.summary.Last > 0:
		s.LeftOut, s.NoRoom = true, true
	}
	return s
}

// NewSummary returns the turns that a new summary must replace. It returns false if no
// new summary is needed. The new summary is made from the existing one and the turns
// after it, and replaces both; then the caller picks again with it. If it cannot be made,
// Selection shows the newest turns that fit.
func (p *Picker) NewSummary() (Range, bool) {
	if p.settings.Kind != Summarize || p.before == 0 || p.stop != tooMany && p.stop != noRoom {
		return Range{}, false
	}
	return Range{First: 1, Last: p.before}, true
}
