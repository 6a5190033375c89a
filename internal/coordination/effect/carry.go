package effect

import (
	"slices"

	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/system/blob"
)

// Carry lets the inputs of an agent of a panel have its own tool calls and their results from earlier rounds and
// turns.
type Carry struct {
	// Bytes is the most bytes of them, and Earlier are those of earlier turns.
	Bytes   int     `json:"bytes"`
	Earlier []Entry `json:"earlier,omitempty"`
}

// mostCarriedMessages is the most messages with tool calls that are carried.
const mostCarriedMessages = 50

// With returns carried entries with those of a step at their end: each message that called own tools, with their
// results. Of more than Bytes it keeps the newest messages, whole. It changes no entry.
func (c Carry) With(carried, step []Entry) []Entry {
	units := append(unitsOf(carried), toolUnits(step)...)
	first, bytes := len(units), 0
	for first > 0 && len(units)-first < mostCarriedMessages {
		if bytes += bytesOf(units[first-1]); bytes > c.Bytes {
			break
		}
		first--
	}
	return append([]Entry{}, slices.Concat(units[first:]...)...) // not nil, which would mean Earlier
}

// unitsOf parts entries before each message of the assistant.
func unitsOf(entries []Entry) (units [][]Entry) {
	for _, e := range entries {
		if e.Kind == Assistant || len(units) == 0 {
			units = append(units, nil)
		}
		last := len(units) - 1
		units[last] = append(units[last], e)
	}
	return units
}

// toolUnits returns the messages of a step that called own tools, with the results of these calls. It omits a
// message with a call that never came back.
func toolUnits(step []Entry) (units [][]Entry) {
	for _, all := range unitsOf(step) {
		unit := []Entry{}
		isWhole := all[0].Kind == Assistant
		for _, e := range all {
			isAct := e.Kind == Result && (e.Name == NewAnswer || e.Name == Vote)
			if e.Kind != Assistant && e.Kind != Result || isAct {
				continue
			}
			isWhole = isWhole && !e.JSON && (e.Kind == Assistant || e.Notice != nil || e.Text != (blob.Ref{}))
			unit = append(unit, Entry{
				Kind: e.Kind, Text: e.Text, CallID: e.CallID, Name: e.Name, Error: e.Error, Files: e.Files, Notice: e.Notice,
			})
		}
		if isWhole && len(unit) > 1 {
			units = append(units, unit)
		}
	}
	return units
}

func bytesOf(entries []Entry) (sum int) {
	for _, e := range entries {
		sum += e.Text.Bytes + len(e.Files)*policy.BytesOfPicture
		if e.Notice != nil {
			sum += wordBytes
		}
	}
	return sum
}
