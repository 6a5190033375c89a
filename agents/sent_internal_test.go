package agents

import (
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// FuzzPart: a part of a history is encoded by hand as JSON, since its hash is journaled.
func FuzzPart(f *testing.F) {
	f.Add("\nUser: what?\nAssistant: that.", true)
	f.Add("\n", false)
	f.Add("ends\n", true)
	for _, text := range []string{"a\"b", "a\\b", "<b>", "a&b", "tab\t", "\r\n", "\u2028", "ü", "\x7f", "\xff", "~ "} {
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, follows bool) {
		one := []backends.Message{backends.User(text)}
		for _, p := range []sentPart{{Text: text}, {Messages: one}, {Messages: append(one, backends.Assistant(text))}, {Text: text, Messages: one}} {
			if follows {
				p.Previous = sessions.RefOf([]byte("before"))
			}
			b := &inputBuilder{}
			if got, want := b.encodePart(p), b.marshal(p); b.err != nil || string(got) != string(want) {
				t.Errorf("%s\nwant\n%s", got, want)
			}
		}
	})
}

// FuzzStoredMessage: a message is stored as encoding/json writes it, since its hash is journaled.
func FuzzStoredMessage(f *testing.F) {
	f.Add("hello", "{\"a\": 1}")
	f.Add("<b> & \u2028", "[1,\n2]")
	f.Add("\xff\x00", "null")
	f.Fuzz(func(t *testing.T, text, data string) {
		m := backends.Message{Role: backends.RoleAssistant, Parts: []backends.Part{
			backends.Text{Text: text}, backends.ToolCall{ID: "1", Name: text, Arguments: data}, backends.Opaque{Provider: "p", Data: []byte(data)},
		}}
		b := &inputBuilder{}
		got := b.marshalMessage(m)
		want, err := plain.JSON(m)
		if (err != nil) != (b.err != nil) || err == nil && string(got) != string(want) {
			t.Errorf("%s, %v\nwant\n%s, %v", got, b.err, want, err)
		}
	})
}

// TestListOfToolsThatIsStored: a list names the text that its encoding would be stored as, if there is one.
func TestListOfToolsThatIsStored(t *testing.T) {
	store := sessions.NewMemory()
	own := []backends.Tool{
		{Name: "search", Description: "Searches <all> & \"more\"\u2028.", Schema: []byte(`{"type": "object", "properties": {}}`)},
		{Name: "pay", Forwarded: true},
	}
	put := func(tools []backends.Tool) blob.Ref {
		ref, err := PutJSON(t.Context(), store, tools)
		if err != nil {
			t.Fatal(err)
		}
		return ref
	}
	all, some := put(own), put(own[:1])
	for of, want := range map[toolsOffered]blob.Ref{
		{}:                           {},
		{own: all, forwarded: true}:  all,
		{own: all}:                   {},
		{own: some, forwarded: true}: some,
		{own: some}:                  some,
		{own: some, coordinates: true, mayAnswer: true}: {},
	} {
		s := textStore{ctx: t.Context(), blobs: store}
		list := newPanel(&effect.Turn{}).toolsOf(&s, of, nil)
		if s.err != nil || list.stored != want {
			t.Errorf("%+v: %v, not %v, %v", of, list.stored, want, s.err)
		}
		if list.stored != (blob.Ref{}) && put(list.tools) != list.stored {
			t.Errorf("%+v: the text has other tools", of)
		}
	}
}
