package anthropic

import (
	"testing"

	"github.com/massgen/massgen/backends"
)

// TestNumbersOfASchemaStayAsTheyAre: an integer above 2^53 has more digits than a float64.
func TestNumbersOfASchemaStayAsTheyAre(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"id":{"enum":[1234567890123456789,1.50]}},"minProperties":1}`
	const want = `{"additionalProperties":false,"properties":{"id":{"enum":[1234567890123456789,1.50]}},"type":"object"}`
	got, ok := enforced(backends.Request{Model: "claude-sonnet-4-5", Schema: []byte(schema), Lenient: true})
	if !ok || string(got) != want {
		t.Errorf("%s, %v", got, ok)
	}
}
