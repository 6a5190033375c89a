package wire

import (
	"encoding/json"

	"github.com/massgen/massgen/backends"
)

// Counts are a usage in the words of a protocol.
type Counts interface {
	// Usage returns the counts in the words of package backends. One that is not known is
	// negative.
	Usage() backends.Usage
}

// UsageKeeper keeps the newest usage of a stream.
type UsageKeeper struct{ last *backends.Usage }

// mostTokens is more than any model reads or writes in one call. What stays below it can be
// paid for in amounts that are counted exactly: at the highest price that a config may have
// it is less than budget.USD holds.
const mostTokens = 100_000_000

// Add reads a usage into counts, if there is one. Of one that cannot be read, all is
// unknown. Zeros mean that the service did not count: an input has at least a token.
func (k *UsageKeeper) Add(raw json.RawMessage, counts Counts) {
	if len(raw) == 0 || string(raw) == "null" {
		return
	}
	err := json.Unmarshal(raw, counts)
	u := counts.Usage()
	switch {
	case err != nil, min(u.InputTokens, u.OutputTokens, u.CachedInputTokens, u.CacheWriteTokens) < 0:
		k.last = nil
	case u.CachedInputTokens > u.InputTokens || u.CacheWriteTokens > u.InputTokens-u.CachedInputTokens:
		k.last = nil // a part is larger than the whole
	case max(u.InputTokens, u.OutputTokens) > mostTokens:
		k.last = nil
	case u.InputTokens > 0:
		u.ReasoningTokens = Reasoning(u.ReasoningTokens, u.OutputTokens)
		k.last = &u
	}
}

// Reasoning returns how many tokens of an output were spent on thinking: no more than there are, and
// 0 for an unknown count. No price depends on it, so a count that cannot be true leaves the others
// as they are.
func Reasoning(counted, output int) int { return max(min(counted, output), 0) }

// Events returns the usage, if it is known.
func (k *UsageKeeper) Events() []backends.Event {
	if k.last == nil {
		return nil
	}
	return []backends.Event{*k.last}
}
