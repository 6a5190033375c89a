package policy

import "math"

const noLimit = math.MaxInt

// Unlimited is the room in a model with an unknown context window.
const Unlimited = noLimit

// usualOutput is the assumed size of an output without a limit (DESIGN §6).
const usualOutput = 8192

// Room returns the number of tokens of a model's context window that the history of a
// turn may take. A window of 0 is unknown. fixed is the size of the rest of the first
// input: its tokens with a history of one empty turn. output is the most tokens that an
// agent writes in a call, 0 if the call has no limit.
//
// The window also holds the model's output and, in later rounds, an answer of each
// agent; for a panel of one this is the room for its tools. Room keeps at most half of the
// window free for them, so that small models still see a history.
func Room(window, fixed, output, agents int) int {
	if window <= 0 {
		return Unlimited
	}
	return max(FirstLimit(window, output, agents)-fixed, 0)
}

// FirstLimit returns the number of tokens of the largest first input that is sent whole,
// 0 for a window of 0. The parameters are those of Room.
func FirstLimit(window, output, agents int) int {
	if window <= 0 {
		return 0
	}
	if output <= 0 {
		output = usualOutput
	}
	free := window / 2
	if output < free/(agents+1) {
		free = output * (agents + 1)
	}
	return window - free
}

// SummaryWords returns the most words of a summary for a history with the given room:
// 500, or fewer in a small window, so that the summary takes about a quarter.
func SummaryWords(room int) int { return min(max(room/6, 50), 500) }
