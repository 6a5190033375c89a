package wire

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/plain"
)

// CallID names a call that came without an id. It depends on nothing but the
// model call and the position, so a replay gives the same; it is short enough
// and plain enough for every provider.
func CallID(key backends.Key, position int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d %q %d %q %d %d",
		key.Session, key.Turn, key.Agent, key.Round, key.Purpose, key.Index, position))
	return fmt.Sprintf("call_%x", sum[:12])
}

// ShortID returns the id that a call has where the id that another service gave it is refused. The
// same id gives the same, of 29 letters, digits and "_".
func ShortID(id string) string {
	sum := sha256.Sum256([]byte(id))
	return fmt.Sprintf("call_%x", sum[:12])
}

// TidyArguments returns arguments as JSON where they are JSON in some disguise
// that models use (a code fence, a fault that plain.MendJSON corrects, a JSON string around
// it, or nothing for no arguments), else as they are.
func TidyArguments(arguments string) string {
	text := strings.TrimSpace(arguments)
	if text == "" {
		return "{}"
	}
	var inner string
	if json.Unmarshal([]byte(text), &inner) == nil && json.Valid([]byte(inner)) {
		return inner
	}
	if json.Valid([]byte(text)) {
		return arguments
	}
	text = withoutFence(text)
	if value, length := plain.MendJSON(text); length == len(text) && value != "" {
		return value
	}
	return arguments
}

func withoutFence(text string) string {
	body, ok := strings.CutPrefix(text, "```")
	if !ok {
		return text
	}
	body = strings.TrimSuffix(strings.TrimSpace(body), "```")
	if start := strings.IndexAny(body, "{["); start >= 0 {
		return strings.TrimSpace(body[start:])
	}
	return text
}
