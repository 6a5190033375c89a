package effect

import (
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/system/blob"
)

// LeftOut describes the oldest transcript entries that a call omits.
type LeftOut struct {
	// Entries counts the omitted entries, Messages and Results the messages and tool results
	// among them.
	Entries, Messages, Results int
	// NoRoom reports whether they did not fit.
	NoRoom bool
	// Update is the newest set of answers among the omitted entries, or nil, and Notes are all
	// notes among them. Final reports whether they had the sentence about the last turn. The input
	// repeats these in their place.
	Update *kernel.Offer
	Notes  []blob.Ref
	Final  bool
	// AllMessages counts all messages of the step, and Bytes is about how much of it is sent,
	// with the answers in its first input.
	AllMessages, Bytes int
}

// LeftOut applies limits to the step's additions before the call. It always returns the same
// for a call, and never parts an assistant's message from its results. Without limits it omits
// nothing.
func (c ModelCall) LeftOut(limits *policy.StepLimits) LeftOut {
	taken := answerBytes(c.Offer) + noteBytes(c.Notes) + bytesOf(c.Carried)
	for _, v := range c.Votes {
		taken += len(v.Reason)
	}
	units, starts := stepUnits(c.Transcript)
	var left LeftOut
	for _, u := range units {
		left.AllMessages += u.Messages
		left.Bytes += u.Bytes
	}
	if limits != nil && len(units) > 0 {
		cut := limits.Cut(units, taken)
		left.Entries, left.Bytes, left.NoRoom = starts[cut.Units], cut.Bytes, cut.NoRoom
	}
	left.Bytes += taken
	for _, e := range c.Transcript[:left.Entries] {
		left.add(e)
	}
	return left
}

func (l *LeftOut) add(e Entry) {
	switch {
	case e.Kind == FinalTurn:
	case e.Kind == Result && !e.JSON:
		l.Results++
	default:
		l.Messages++
	}
	if e.Update != nil {
		l.Update = e.Update
	}
	l.Notes = append(l.Notes, e.Notes...)
	l.Final = l.Final || e.Final || e.Kind == FinalTurn
}

// wordBytes is about the length of one of the machine's own texts.
const wordBytes = 300

// stepUnits parts a transcript before each message of the assistant, and returns the first
// entry of each unit. The results of a message stand in one message.
func stepUnits(entries []Entry) (units []policy.StepUnit, starts []int) {
	var update, notes int // the bytes that are repeated when their units are left out
	for i, e := range entries {
		if e.Kind == Assistant || len(units) == 0 {
			units, starts = append(units, policy.StepUnit{}), append(starts, i)
		}
		u := &units[len(units)-1]
		u.Bytes += e.Text.Bytes + len(e.Files)*policy.BytesOfPicture
		if e.Kind == Reminder || e.Notice != nil {
			u.Bytes += wordBytes
		}
		isFurther := e.Kind == Result && !e.JSON && entries[max(i-1, 0)].Kind == Result
		if !isFurther && e.Kind != FinalTurn {
			u.Messages++
		}
		if e.Update != nil {
			update = wordBytes + answerBytes(*e.Update)
			u.Bytes += update
		}
		if len(e.Notes) > 0 {
			told := noteBytes(e.Notes)
			notes, u.Bytes = notes+told, u.Bytes+told
		}
		if e.Update != nil || len(e.Notes) > 0 {
			u.Carried = update + notes
		}
	}
	return units, starts
}

func answerBytes(o kernel.Offer) int {
	sum := 0
	for _, a := range o.Shown {
		sum += a.Text.Bytes
	}
	return sum
}

// noteBytes is about the size of notes in an input.
func noteBytes(notes []blob.Ref) int {
	sum := 0
	for _, n := range notes {
		sum += n.Bytes + noteBlock
	}
	return sum
}

// noteBlock is about the length of the text around a note.
const noteBlock = 60
