package anthropic

import (
	"encoding/json"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/wire"
)

// counts has the numbers of a usage object of the API.
type counts struct {
	Input       wire.Count `json:"input_tokens"`
	CacheWrites wire.Count `json:"cache_creation_input_tokens"`
	CacheReads  wire.Count `json:"cache_read_input_tokens"`
	CacheKinds  struct {
		Hour wire.Count `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	Output        wire.Count `json:"output_tokens"`
	OutputDetails struct {
		Thinking wire.Count `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
	Hosted struct {
		WebSearches wire.Count `json:"web_search_requests"`
	} `json:"server_tool_use"`
}

func (c counts) readable() bool {
	return min(c.Input, c.CacheWrites, c.CacheReads, c.CacheKinds.Hour, c.Output, c.Hosted.WebSearches) >= 0
}

// usage is what the stream told until now. message_start has the input, and each
// message_delta has totals, and may omit those that have not changed.
type usage struct {
	counts

	// codeRuns is 1 if the answer had code run: all of it runs in one container.
	codeRuns int
	unknown  bool
}

// add takes a usage object as it came, or nothing. One that cannot be read makes all
// unknown. The library's own reading is not asked: it takes 1.5 for 1.
func (u *usage) add(raw string) {
	if raw == "" {
		return
	}
	var c counts
	if json.Unmarshal([]byte(raw), &c) != nil || !c.readable() {
		u.unknown = true
		return
	}
	u.Input = max(u.Input, c.Input)
	u.CacheWrites = max(u.CacheWrites, c.CacheWrites)
	u.CacheReads = max(u.CacheReads, c.CacheReads)
	u.CacheKinds.Hour = max(u.CacheKinds.Hour, c.CacheKinds.Hour)
	u.Output = max(u.Output, c.Output)
	u.OutputDetails.Thinking = max(u.OutputDetails.Thinking, c.OutputDetails.Thinking)
	u.Hosted.WebSearches = max(u.Hosted.WebSearches, c.Hosted.WebSearches)
}

// events returns the usage, if any was told: an input has at least a token. The
// input_tokens of the API are those that were neither read from a cache nor written
// to one.
func (u *usage) events() []backends.Event {
	input := u.Input + u.CacheWrites + u.CacheReads
	if u.unknown || input == 0 {
		return nil
	}
	return []backends.Event{backends.Usage{
		InputTokens:       int(input),
		OutputTokens:      int(u.Output),
		CachedInputTokens: int(u.CacheReads),
		ReasoningTokens:   wire.Reasoning(int(u.OutputDetails.Thinking), int(u.Output)),
		CacheWriteTokens:  int(u.CacheWrites),
		CacheHourTokens:   int(min(u.CacheKinds.Hour, u.CacheWrites)),
		WebSearches:       int(u.Hosted.WebSearches),
		CodeRuns:          u.codeRuns,
	}}
}
