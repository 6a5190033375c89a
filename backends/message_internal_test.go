package backends

import (
	"testing"

	"github.com/massgen/massgen/internal/system/plain"
)

// FuzzAppendPart: the parts that are encoded by hand have the bytes that encoding/json gives them,
// since journals have the hashes of stored messages.
func FuzzAppendPart(f *testing.F) {
	f.Add("", "", "")
	f.Add("call-1", "vote", `{"agent_id":"agent1"}`)
	f.Add("<b>", "\xff\u2028", "a\n\"b\"")
	f.Fuzz(func(t *testing.T, id, name, text string) {
		for _, p := range []Part{
			Text{text}, ToolCall{id, name, text},
			ToolResult{CallID: id, Name: name, Content: text}, ToolResult{CallID: id, Name: name, Content: text, IsError: true},
		} {
			body, err := plain.JSON(p)
			if err != nil {
				t.Fatal(err)
			}
			want := `{"type":"` + p.part() + `",` + string(body[1:])
			if got, err := appendPart(nil, p); err != nil || string(got) != want {
				t.Errorf("%#v: %v\n%s\nwant\n%s", p, err, got, want)
			}
		}
	})
}
