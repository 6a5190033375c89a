package backends

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"

	"github.com/massgen/massgen/internal/system/blob"
)

// goldens are messages, the bytes that stores have of each, and the digest of a request with this
// message alone. Stored sessions and journals have both, so neither may change.
var goldens = []struct {
	name    string
	message Message
	stored  string
	digest  string
}{
	{
		"no parts", Message{Role: RoleUser},
		`{"role":"user","parts":[]}`,
		"6a1f5f499df1b7adb1dedd4991e280e9ea9d6322955140c52860382dbd243be5",
	},
	{
		"an empty text", Message{RoleUser, []Part{Text{}}},
		`{"role":"user","parts":[{"type":"text","text":""}]}`,
		"a2171682d34c9da76a6adeda6c556fd1576667b47c04c79dc10c4f2bc3cf7208",
	},
	{
		"a role with HTML", Message{"<r>", []Part{Text{"a"}}},
		`{"role":"<r>","parts":[{"type":"text","text":"a"}]}`,
		"07df20e050f1d325117f341f76fec616c7e78c03d4e04f119385c2abf1e21dc0",
	},
	{
		"HTML in a text", Message{RoleUser, []Part{Text{"<b> & </b>"}}},
		`{"role":"user","parts":[{"type":"text","text":"<b> & </b>"}]}`,
		"fb5416f46b1ba0b1aee2efb1b046223b1964922007cb501e115daf28de8ba11a",
	},
	{
		"escapes in a text", Message{RoleSystem, []Part{Text{"\"\\/\b\f\n\r\t\x00\x1f\x7f"}}},
		"{\"role\":\"system\",\"parts\":[{\"type\":\"text\",\"text\":\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\x7f\"}]}",
		"01c6cf5b435a75e3c2e0b4f0986797c374dbf0154fc514692ccfe03f3fbbe5e4",
	},
	{
		"separators of lines", Message{RoleUser, []Part{Text{"\u2028\u2029"}}},
		`{"role":"user","parts":[{"type":"text","text":"\u2028\u2029"}]}`,
		"4ecbb5d6e9eea03866cd0785530679026ff7e530c073bb38a62f1b8680f5cff8",
	},
	{
		"invalid UTF-8", Message{RoleUser, []Part{Text{"\xff a\xe2\x80 \xed\xa0\x80 \ufffd"}}},
		`{"role":"user","parts":[{"type":"text","text":"\ufffd a\ufffd\ufffd \ufffd\ufffd\ufffd �"}]}`,
		"6eb00281c9019fe090f1d424140a67fd0b233e118a79863eaec94774683348c2",
	},
	{
		"letters of all sizes", Message{RoleAssistant, []Part{Text{"ü日𝄞"}, Text{"a"}}},
		`{"role":"assistant","parts":[{"type":"text","text":"ü日𝄞"},{"type":"text","text":"a"}]}`,
		"2848b56501585c2d92619e60ceea63b957c1dc7b0a64994d203f028b644ba4fc",
	},
	{
		"reasoning", Message{RoleAssistant, []Part{Reasoning{}, Reasoning{"a < b\u2028\xff"}}},
		`{"role":"assistant","parts":[{"type":"reasoning","text":""},{"type":"reasoning","text":"a < b\u2028\ufffd"}]}`,
		"8c92077e9f8a0ef51ab94b4b69294d072082a56839f994ec9b9420cfc931a4eb",
	},
	{
		"an empty call", Message{RoleAssistant, []Part{ToolCall{}}},
		`{"role":"assistant","parts":[{"type":"tool_call","id":"","name":"","arguments":""}]}`,
		"95abf819ef8663a4d6549db567dceb9fc69473ec1456501d5ad6db20c6fcd19b",
	},
	{
		"a call", Message{RoleAssistant, []Part{ToolCall{"1", "look", `{"a":[1, "é"]}`}}},
		`{"role":"assistant","parts":[{"type":"tool_call","id":"1","name":"look","arguments":"{\"a\":[1, \"é\"]}"}]}`,
		"8897784260cc26b462f6d2f8038ba97c48dcd8157e7e7a3d5b3996ec76cd385b",
	},
	{
		"HTML in a call", Message{RoleAssistant, []Part{ToolCall{"<1>", "a&b", `{"a":"<b> & \u003c"}`}}},
		`{"role":"assistant","parts":[{"type":"tool_call","id":"<1>","name":"a&b","arguments":"{\"a\":\"<b> & \\u003c\"}"}]}`,
		"04ef549fedfb35a79edafeaabcb31da223aa68110569b19eddddf7bdd5e96aea",
	},
	{
		"separators in a call", Message{RoleAssistant, []Part{ToolCall{"1", "look", "\u2028\u2029\xff\n"}}},
		`{"role":"assistant","parts":[{"type":"tool_call","id":"1","name":"look","arguments":"\u2028\u2029\ufffd\n"}]}`,
		"75b12b4eb52312b580b397f738f6fdb9b47d8546bbf3753610230ecdfb1e822b",
	},
	{
		"an empty result", Message{RoleTool, []Part{ToolResult{}}},
		`{"role":"tool","parts":[{"type":"tool_result","call_id":"","name":"","content":""}]}`,
		"ca5005d162815ed6d272bb261a5cd169ed8b39fb6bc9a98113401bae8c83c964",
	},
	{
		"HTML in a result", Message{RoleTool, []Part{ToolResult{CallID: "<1>", Name: "a&b", Content: "<b>\u2028\xff", IsError: true}}},
		`{"role":"tool","parts":[{"type":"tool_result","call_id":"<1>","name":"a&b","content":"<b>\u2028\ufffd","is_error":true}]}`,
		"0cc5e010c4d577921d00aaa6a49b8aa5cc23c844a6270768b35e707d490328d2",
	},
	{
		"files in a result", Message{RoleTool, []Part{ToolResult{CallID: "1", Name: "look", Content: "c", Files: []File{{File: blob.File{Name: "<a>.png", MediaType: "image/png", Width: 2, Height: 3}, Data: []byte("not stored")}}}}},
		`{"role":"tool","parts":[{"type":"tool_result","call_id":"1","name":"look","content":"c","files":[{"name":"<a>.png","media_type":"image/png","content":{"sha256":"","bytes":0},"width":2,"height":3}]}]}`,
		"8d73f3aee6961c84595458fcad15ea1d64c0bc457c043297191769aa16c4471c",
	},
	{
		"a file", Message{RoleUser, []Part{File{File: blob.File{Name: "a&b.pdf", MediaType: "application/pdf", Pages: 2}, Data: []byte("not stored")}}},
		`{"role":"user","parts":[{"type":"file","name":"a&b.pdf","media_type":"application/pdf","content":{"sha256":"","bytes":0},"pages":2}]}`,
		"708c570df6007089c2aa74a5cd4eea3124cdae132945956c1a1582eccef3c886",
	},
	{
		"an empty image", Message{RoleUser, []Part{Image{}}},
		`{"role":"user","parts":[{"type":"image"}]}`,
		"e2fcfde1e1116ef2d9ff5cfab72a886294c7aaefa753a4ab38a4ebfa1cfd39ce",
	},
	{
		"images", Message{RoleUser, []Part{Image{MediaType: "image/png", Data: []byte{0xff, 0xfe, '<'}}, Image{URL: "https://a.example/?a=1&b=<2>"}}},
		`{"role":"user","parts":[{"type":"image","media_type":"image/png","data":"//48"},{"type":"image","url":"https://a.example/?a=1&b=<2>"}]}`,
		"f15797cbe1c5cb8eb610b887db57b40dc53ff914663febe17a657e70aa791c9a",
	},
	{
		"hosted", Message{RoleAssistant, []Part{HostedCall{}, HostedCall{ID: "1", Name: "web_search", Arguments: `{"q":"<a>"}`, Result: "a & b", Error: true}, Citation{}, Citation{URL: "https://a.example/?a&b", Title: "<t>", Text: "\u2029"}}},
		`{"role":"assistant","parts":[{"type":"hosted_call","id":"","name":""},{"type":"hosted_call","id":"1","name":"web_search","arguments":"{\"q\":\"<a>\"}","result":"a & b","error":true},{"type":"citation","url":""},{"type":"citation","url":"https://a.example/?a&b","title":"<t>","text":"\u2029"}]}`,
		"f26fa840e0cc0b13b92eb477933661a9051622680e5bb8d2151cb68d3d1bafdb",
	},
	{
		"raw JSON", Message{RoleAssistant, []Part{Opaque{Provider: "p", Model: "<m>", Data: json.RawMessage(` { "sig" : "<a> & \u003c \u2028", "list": [ 1.50, {"null":null} ] } `)}}},
		`{"role":"assistant","parts":[{"type":"opaque","provider":"p","model":"<m>","data":{"sig":"<a> & \u003c \u2028","list":[1.50,{"null":null}]}}]}`,
		"fe22dca856fa89e42c0083a8cb6a026e8350b25f9c024944969d6cd000a110a4",
	},
	{
		"no raw JSON", Message{RoleAssistant, []Part{Opaque{}}},
		`{"role":"assistant","parts":[{"type":"opaque","provider":"","model":"","data":null}]}`,
		"a0dd940d088cd414d85def0f96873a9fb2d23fea54e070f48cc20efcc0c8003b",
	},
	{
		"a separator in raw JSON", Message{RoleAssistant, []Part{Opaque{Data: json.RawMessage("[ \"\u2028<\xff\" ]")}}},
		"{\"role\":\"assistant\",\"parts\":[{\"type\":\"opaque\",\"provider\":\"\",\"model\":\"\",\"data\":[\"\u2028<\xff\"]}]}",
		"d625a984ab050c85104f1ab533971ede3135ce2dc8bf8efed04c3d90c7723066",
	},
}

func TestStoredMessagesKeepTheirBytes(t *testing.T) {
	for _, g := range goldens {
		got, err := g.message.MarshalJSON()
		if err != nil || string(got) != g.stored {
			t.Errorf("%s: %v\n%s\nwant\n%s", g.name, err, got, g.stored)
		}
	}
}

func TestDigestsKeepTheirValues(t *testing.T) {
	for _, g := range goldens {
		got, err := Request{Messages: []Message{g.message}}.Digest()
		if err != nil || got != g.digest {
			t.Errorf("%s: %s, %v; want %s", g.name, got, err, g.digest)
		}
	}
}

// TestDigestEscapesHTML: a tool call is stored with its <, > and & as they are, and hashed with
// escapes in their place.
func TestDigestEscapesHTML(t *testing.T) {
	call := ToolCall{ID: "1", Name: "look", Arguments: "<&>"}
	digest, err := Request{Messages: []Message{{RoleAssistant, []Part{call}}}}.Digest()
	if err != nil {
		t.Fatal(err)
	}
	hashed := func(call string) string {
		text := func(s string) string { return string(rune(len(s))) + s } // a length below 128 is one byte
		sum := sha256.Sum256([]byte(text("") + "\x01" + text("assistant") + "\x01" + text("tool_call") + text(call) + "\x00" + text("") + text("{}")))
		return hex.EncodeToString(sum[:])
	}
	if want := hashed(`{"id":"1","name":"look","arguments":"\u003c\u0026\u003e"}`); digest != want {
		t.Errorf("the digest is %s, want %s", digest, want)
	}
	if digest == hashed(`{"id":"1","name":"look","arguments":"<&>"}`) {
		t.Error("the digest is the hash of the stored form")
	}
}
