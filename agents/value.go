package agents

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/plain"
)

// valueOf returns the hash of an answer's value, "" if the turn has no values or the answer has none.
func (r *replyReader) valueOf(answer string) string {
	if r.turn.Value == nil || r.call.Sidecall != nil || r.call.Key.Purpose.IsStepSummary() {
		return ""
	}
	value, ok, err := readValue(*r.turn.Value, answer)
	if r.err == nil {
		r.err = err
	}
	if !ok {
		return ""
	}
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:])
}

// readValue returns the value of an answer: the trimmed first group of the last match of the pattern,
// the match itself for a pattern without groups, and without a pattern the answer as a JSON value
// whose spelling does not count. ok is false for an answer without a value.
func readValue(how effect.Value, answer string) (value string, ok bool, err error) {
	if how.Pattern == "" {
		value, ok = canonical(answer)
		return value, ok, nil
	}
	pattern, err := regexp.Compile(how.Pattern)
	if err != nil {
		return "", false, fmt.Errorf("the answer_pattern of the turn: %w", err)
	}
	matches := pattern.FindAllStringSubmatch(answer, -1)
	if len(matches) == 0 {
		return "", false, nil
	}
	last := matches[len(matches)-1]
	return strings.TrimSpace(last[min(1, len(last)-1)]), true, nil
}

// canonical returns a JSON value in one spelling.
func canonical(text string) (string, bool) {
	var value any
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil || decoder.More() {
		return "", false
	}
	data, err := plain.JSON(value)
	return string(data), err == nil
}
