package contextbuild

import (
	"strconv"
	"strings"

	"github.com/massgen/massgen/backends"
)

// SummaryCall returns the messages of the call that requests a summary of turns, oldest first,
// and how many of them it covers: those that fit in room tokens, but at least one, whose texts
// are cut if necessary. There must be a turn; the call has each turn's question and answer.
// earlier is the summary of the turns before, zero if there is none; the new one covers these
// too, from turn 1 on. The reply's text is the Answer of an Exchange with that range.
func SummaryCall(earlier Exchange, turns []Exchange, words, room int, count Counter) (messages []backends.Message, covered int) {
	prompt := strings.ReplaceAll(summarizePrompt, "{words}", strconv.Itoa(words))
	var history []Exchange
	if earlier.isSummary() {
		history = append(history, earlier)
	}
	withEmpty := append(history[:len(history):len(history)], Exchange{})
	room -= messageTokens(summaryCall(prompt, withEmpty, turns[len(turns)-1].Turn), count)
	for _, e := range turns {
		e.Messages = nil
		size := Measure(e, 0, count).Tokens()
		if size > room {
			if covered > 0 {
				break
			}
			e = cutToFit(e, room, count)
		}
		room -= size // below 0 for a turn that was cut: it is the only one
		history = append(history, e)
		covered++
	}
	return summaryCall(prompt, history, turns[covered-1].Turn), covered
}

func summaryCall(prompt string, history []Exchange, last int) []backends.Message {
	request := fillTurns(summaryQuestion, Exchange{FirstTurn: 1, LastTurn: last})
	return []backends.Message{backends.System(prompt), backends.User(joinSections(HistorySection(history), request))}
}

func messageTokens(messages []backends.Message, count Counter) int {
	sum := 0
	for _, m := range messages {
		sum += count(m)
	}
	return sum
}

// cutToFit cuts the texts of a turn until they fit, or have a character each.
func cutToFit(e Exchange, room int, count Counter) Exchange {
	for most := max(len(e.Question), len(e.Answer)); most > 1; {
		most /= 2
		if short := cutExchange(e, most); Measure(short, 0, count).Tokens() <= room {
			return short
		}
	}
	return cutExchange(e, 1)
}
