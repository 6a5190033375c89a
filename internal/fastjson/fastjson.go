// Package fastjson reads JSON as encoding/json does, in half of the time. Replaying a journal of
// thousands of events consists mostly of reading JSON.
package fastjson

import (
	"encoding/json"

	fast "github.com/segmentio/encoding/json"
)

// Unmarshal does what json.Unmarshal of encoding/json does. It returns that function's errors, which
// quote no data.
func Unmarshal(data []byte, v any) error {
	if fast.Unmarshal(data, v) == nil {
		return nil
	}
	return json.Unmarshal(data, v)
}
