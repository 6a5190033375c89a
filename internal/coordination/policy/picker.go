package policy

// Turn is a turn of the history by its sizes.
type Turn struct {
	// Number is its number in the session; 0 where it has none.
	Number int
	// Units are its messages in order.
	Units []Unit
}

// Unit is what is shown or left out as a whole: a message, or one with tool calls
// and the one with their results.
type Unit struct{ Messages, Tokens int }

// Tokens returns what the whole turn takes.
func (t Turn) Tokens() int {
	sum := 0
	for _, u := range t.Units {
		sum += u.Tokens
	}
	return sum
}

// Range are turns by their numbers, from the first to the last.
type Range struct {
	First int `json:"first_turn"`
	Last  int `json:"last_turn"`
}

// Summary is a summary that there is: the turns that it stands for, and its size.
type Summary struct {
	Range
	Tokens int
}

// Picker chooses what of a history is shown. It is given turns, newest first, for
// as long as it asks for more, and so sees no more of a long history than it shows
// and one turn beside.
type Picker struct {
	settings Settings
	room     int // for turns and summary
	summary  Summary
	stop     stop
	// taken is all that fits both the policy and the room, whole how far that was at
	// the end of a turn, and recent how far it was within KeepRecent messages.
	taken, whole, recent mark
	// kept are the turns that stay as they are beside a new summary, and before is the
	// number of the turn before them, 0 if that was not seen.
	kept   mark
	before int
}

// mark is a place in the history, by what lies between it and the end.
type mark struct{ turns, messages, tokens, first int }

// stop is why a picker wants no more turns.
type stop int

const (
	goesOn     stop = iota
	tooMany         // messages, for the policy
	noRoom          // for the next message
	summarized      // is what comes before
)

// NewPicker returns a picker that has seen nothing. Room is how many tokens may be
// shown. Only Summarize uses the summary, which is zero if there is none.
func NewPicker(s Settings, room int, summary Summary) *Picker {
	if s.Kind != Summarize {
		summary = Summary{}
	}
	return &Picker{settings: s, room: room, summary: summary}
}

// Add gives the picker the next older turn, and says whether it wants another.
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

// take takes the messages of a turn, from its last, as far as they may be shown.
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

// fits says whether there is a summary that can be shown.
func (p *Picker) fits() bool { return p.summary.Last > 0 && p.summary.Tokens <= p.room }

func (p *Picker) roomForTurns() int {
	if p.fits() {
		return p.room - p.summary.Tokens
	}
	return p.room
}

// Selection returns what is shown of the turns that were added.
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

// NewSummary returns the turns that a new summary has to stand for, before what is
// shown is chosen again with it; false if none is needed. The new one replaces the
// one that there is, and is made from that and the turns after it. If none can be
// made, the Selection shows the newest turns that fit.
func (p *Picker) NewSummary() (Range, bool) {
	if p.settings.Kind != Summarize || p.before == 0 || p.stop != tooMany && p.stop != noRoom {
		return Range{}, false
	}
	return Range{First: 1, Last: p.before}, true
}
