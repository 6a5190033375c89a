package wire

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
)

// counts have the names of package backends, as no protocol does.
type counts struct{ of backends.Usage }

func (c *counts) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &c.of) }

func (c *counts) Usage() backends.Usage { return c.of }

// Counts that cannot be true make a usage unknown, which costs the most that it may: fewer
// tokens than there were would be room in a budget that is not there.
func TestUsageThatCannotBeTrue(t *testing.T) {
	for counted, want := range map[string][]backends.Event{
		`{"input_tokens": 10, "output_tokens": 2, "cached_input_tokens": 10}`:                           {backends.Usage{InputTokens: 10, OutputTokens: 2, CachedInputTokens: 10}},
		`{"input_tokens": 10, "output_tokens": 2, "cached_input_tokens": 4, "cache_write_tokens": 6}`:   {backends.Usage{InputTokens: 10, OutputTokens: 2, CachedInputTokens: 4, CacheWriteTokens: 6}},
		`{"input_tokens": 10, "output_tokens": 2, "cached_input_tokens": 11}`:                           nil,
		`{"input_tokens": 10, "output_tokens": 2, "cached_input_tokens": 4, "cache_write_tokens": 7}`:   nil,
		`{"input_tokens": 10, "output_tokens": -2}`:                                                     nil,
		`{"input_tokens": 10, "output_tokens": 2, "cached_input_tokens": -1, "cache_write_tokens": 11}`: nil,
		`{"input_tokens": "ten"}`:                                                                  nil,
		`{"input_tokens": 100000001, "output_tokens": 2}`:                                          nil,
		`{"input_tokens": 10, "output_tokens": 1000000000000000000}`:                               nil,
		`{"input_tokens": 1, "cached_input_tokens": 9223372036854775807, "cache_write_tokens": 1}`: nil,
	} {
		var k UsageKeeper
		k.Add(json.RawMessage(`{"input_tokens": 1, "output_tokens": 1}`), &counts{})
		k.Add(json.RawMessage(counted), &counts{})
		if diff := cmp.Diff(want, k.Events()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", counted, diff)
		}
	}
}
