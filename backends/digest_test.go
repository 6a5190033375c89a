package backends_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/massgen/massgen/backends"
)

// TestDigestIsOfAllThatIsSent: each of these requests differs from the others in what a
// model is sent, or only in where one text ends and the next begins.
func TestDigestIsOfAllThatIsSent(t *testing.T) {
	one := 1
	requests := map[string]backends.Request{
		"empty":      {},
		"model":      {Model: "m"},
		"message":    {Messages: []backends.Message{{Role: backends.RoleUser}}},
		"text":       {Messages: []backends.Message{backends.User("ab")}},
		"two texts":  {Messages: []backends.Message{{Role: backends.RoleUser, Parts: []backends.Part{backends.Text{Text: "a"}, backends.Text{Text: "b"}}}}},
		"system":     {Messages: []backends.Message{backends.System("ab")}},
		"reasoning":  {Messages: []backends.Message{{Role: backends.RoleUser, Parts: []backends.Part{backends.Reasoning{Text: "ab"}}}}},
		"result":     {Messages: []backends.Message{{Role: backends.RoleTool, Parts: []backends.Part{backends.ToolResult{CallID: "1", Name: "n", Content: "c"}}}}},
		"failed":     {Messages: []backends.Message{{Role: backends.RoleTool, Parts: []backends.Part{backends.ToolResult{CallID: "1", Name: "n", Content: "c", IsError: true}}}}},
		"moved":      {Messages: []backends.Message{{Role: backends.RoleTool, Parts: []backends.Part{backends.ToolResult{CallID: "1n", Content: "c"}}}}},
		"tool":       {Tools: []backends.Tool{{Name: "t", Description: "d", Schema: []byte(`{}`)}}},
		"other tool": {Tools: []backends.Tool{{Name: "td", Schema: []byte(`{}`)}}},
		"schema":     {Schema: []byte(`{}`)},
		"params":     {Params: backends.Params{MaxTokens: &one}},
		"opaque":     {Messages: []backends.Message{{Role: backends.RoleAssistant, Parts: []backends.Part{backends.Opaque{Provider: "p", Model: "m", Data: []byte(`1`)}}}}},
	}
	seen := map[string]string{}
	for name, req := range requests {
		digest, err := req.Digest()
		if err != nil || seen[digest] != "" {
			t.Errorf("%s has the digest of %q, %v", name, seen[digest], err)
		}
		seen[digest] = name
		req.Key, req.History = backends.Key{Session: "s", Turn: 3}, "the last 2 turns"
		req.Params.Headers, req.Params.ExtraBody = map[string]string{"x": "secret"}, map[string]any{"y": 1}
		if again, err := req.Digest(); err != nil || again != digest {
			t.Errorf("%s has another digest with what is no part of the input, %v", name, err)
		}
	}
	broken := backends.Request{Messages: []backends.Message{{Parts: []backends.Part{backends.Opaque{Data: []byte(`{`)}}}}}
	if _, err := broken.Digest(); err == nil {
		t.Error("a part that is no JSON has a digest")
	}
}

// TestDigestKeepsItsForm: journals have it. Each text is hashed behind its length, and a part that is
// neither a text nor a result as encoding/json writes it.
func TestDigestKeepsItsForm(t *testing.T) {
	long := strings.Repeat("a long text, ", 500)
	for _, args := range []string{`{"a":1}`, "", "<b> & \"c\"\n", "\u2028é\x00", long} {
		seed := int64(3)
		params := backends.Params{Seed: &seed}
		call := backends.ToolCall{ID: "1", Name: "look", Arguments: args}
		req := backends.Request{
			Model: "m", Schema: []byte(long), Params: params,
			Messages: []backends.Message{{Role: backends.RoleAssistant, Parts: []backends.Part{backends.Text{Text: long}, call}}},
			Tools:    []backends.Tool{{Name: "look", Description: args, Schema: []byte(`{}`)}},
		}
		encodedCall, err := json.Marshal(call)
		if err != nil {
			t.Fatal(err)
		}
		encodedParams, err := json.Marshal(params)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.New()
		count := func(n int) { sum.Write(binary.AppendUvarint(nil, uint64(n))) }
		text := func(s string) { count(len(s)); sum.Write([]byte(s)) }
		text("m")
		count(1)
		text("assistant")
		count(2)
		text("text")
		text(long)
		text("tool_call")
		text(string(encodedCall))
		count(1)
		text("look")
		text(args)
		text("{}")
		text(long)
		text(string(encodedParams))
		if got, err := req.Digest(); err != nil || got != hex.EncodeToString(sum.Sum(nil)) {
			t.Errorf("the digest with %.20q is %s, want %x, %v", args, got, sum.Sum(nil), err)
		}
	}
}
