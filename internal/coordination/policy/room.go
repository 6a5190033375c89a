package policy

import "math"

const noLimit = math.MaxInt

// Unlimited is the room in a model whose context window is not known.
const Unlimited = noLimit

// usualOutput is how much of an output is reckoned with where nothing says (DESIGN
// §6).
const usualOutput = 8192

// Room returns how many tokens of a model's context window the history of a turn
// may take. A window of 0 is unknown. Fixed is what the first input has besides: its
// tokens with a history of one empty turn. Output is the most that an agent writes
// in a call, 0 where no limit is sent.
//
// The window has to hold more than the first input: what the model writes, and in
// later rounds an answer of each of the agents, which for a panel of one is the
// room for its tools. As much as half of the window is kept free for that, and no
// more, so that small models still see a history.
func Room(window, fixed, output, agents int) int {
	if window <= 0 {
		return Unlimited
	}
	if output <= 0 {
		output = usualOutput
	}
	free := window / 2
	if output < free/(agents+1) {
		free = output * (agents + 1)
	}
	return max(window-free-fixed, 0)
}

// SummaryWords returns how many words a summary may have where the history has the
// given room: 500, in a small window fewer, so that it takes about a quarter.
func SummaryWords(room int) int { return min(max(room/6, 50), 500) }
