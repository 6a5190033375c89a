package agents

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// storedTexts are texts that a writer of JSON may treat in its own way.
var storedTexts = []string{
	"", "hello", "\nUser: what?\nAssistant: that.", "a\"b", "a\\b", "<b>", "a&b", "tab\t", "\r\n", "\b\f", "\x00\x1f", "\u2028\u2029", "ü日𝄞", "\x7f", "\xff",
	"a\n\xe2\x80", "\ufffd", "~ ", `{"q":"<city>","r":"a & b"}`,
}

// storedForms are the values with a text that are stored as JSON, and whose hashes are journaled.
func storedForms(text string) []any {
	before := sessions.RefOf([]byte("before"))
	one := []backends.Message{backends.User(text)}
	picture := backends.File{File: blob.File{Name: text, MediaType: "image/png", Content: before}}
	list := []any{
		sentPart{Text: text}, sentPart{Previous: before, Text: text},
		sentPart{Messages: one}, sentPart{Previous: before, Messages: append(one, backends.Assistant(text))},
		sentPart{Text: text, Messages: one},
	}
	for _, parts := range [][]backends.Part{
		nil, {backends.Text{Text: text}}, {backends.Reasoning{Text: text}, backends.Text{Text: text}},
		{backends.ToolCall{ID: "1", Name: text, Arguments: text}}, {backends.ToolCall{}},
		{backends.ToolResult{CallID: text, Name: "search", Content: text}}, {backends.ToolResult{Content: text, IsError: true, Files: []backends.File{picture}}},
		{picture, backends.Text{Text: text}}, {backends.Image{MediaType: "image/png", Data: []byte(text)}}, {backends.Image{URL: text}},
		{backends.Opaque{Provider: text, Model: "m", Data: json.RawMessage(`{"a": "<1> & \u2028` + "\u2028" + `"}`)}},
		{backends.HostedCall{Name: text}, backends.Citation{URL: text}},
	} {
		list = append(list, backends.Message{Role: backends.RoleAssistant, Parts: parts})
	}
	return list
}

// TestStoredBytes: the bytes do not change, since journals have their hashes. Texts are stored without the escapes
// of HTML, and the digest of an input is made from tool calls with them. testdata/stored.txt has the bytes of each
// form of each text, and the digest of an input with that message. No flag writes it anew.
func TestStoredBytes(t *testing.T) {
	var got strings.Builder
	for _, text := range storedTexts {
		for _, v := range storedForms(text) {
			s := textStore{}
			fmt.Fprintf(&got, "%q", s.marshal(v))
			if s.err != nil {
				t.Fatal(s.err)
			}
			if m, ok := v.(backends.Message); ok {
				digest, err := backends.Request{Messages: []backends.Message{m}}.Digest()
				if err != nil {
					t.Fatal(err)
				}
				got.WriteString(" " + digest)
			}
			got.WriteString("\n")
		}
	}
	want, err := os.ReadFile("testdata/stored.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMessageThatCannotBeStored: data of a provider that is no JSON is an error.
func TestMessageThatCannotBeStored(t *testing.T) {
	s := textStore{}
	s.marshal(backends.Message{Role: backends.RoleAssistant, Parts: []backends.Part{backends.Opaque{Data: []byte("{")}}})
	if s.err == nil {
		t.Error("no error")
	}
}

// TestListOfToolsIsRecordedAsItIsStored: the record of an agent's own tools is the text that describes them.
func TestListOfToolsIsRecordedAsItIsStored(t *testing.T) {
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
	shared := newShared(&effect.Turn{}, store)
	for of, want := range map[toolsOffered]blob.Ref{
		{own: all, forwarded: true}:  all,
		{own: all}:                   some,
		{own: some, forwarded: true}: some,
		{own: some}:                  some,
		{own: some, coordinates: true, mayAnswer: true}: put(append(shared.coordinationTools(true, nil), own[0])),
	} {
		b := newInputBuilder(t.Context(), shared, &effect.Turn{}, effect.ModelCall{})
		b.offers = &of
		if got := b.recordTools(shared.toolsOf(&b.textStore, of, nil)); b.err != nil || got != want {
			t.Errorf("%+v: %v, want %v, %v", of, got, want, b.err)
		}
	}
}
