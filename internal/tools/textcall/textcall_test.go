package textcall_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/massgen/massgen/internal/tools/textcall"
	"github.com/massgen/massgen/tests/linear"
)

var tools = []textcall.Tool{
	{Name: "new_answer", IsAct: true, Schema: []byte(`{"properties":{"content":{"type":"string"}},"required":["content"]}`)},
	{Name: "vote", IsAct: true, Schema: []byte(`{"properties":{"agent_id":{"type":"string"}},"required":["agent_id","reason"]}`)},
	{Name: "search", Schema: []byte(`{"properties":{"q":{"type":"string"},"limit":{"type":"integer"},"tags":{"type":"array"},"of":{"type":["string","null"]}}}`)},
	{Name: "functions.own"},
	{Name: "lookup", Schema: []byte(`{"allOf":[{"$ref":"#/$defs/Args"}],"properties":{
		"zip":{"anyOf":[{"type":"string"},{"type":"null"}]},"code":{"$ref":"#/$defs/Code"},"size":{"enum":["1","2"]},"note":{"allOf":[{"type":"string"},{"maxLength":9}]},
		"one":{"const":"7"},"either":{"oneOf":[{"type":"array"},{"type":"string"}]},"mixed":{"enum":["1",2]},"count":{"anyOf":[{"type":"integer"},{"type":"null"}]},
		"loop":{"$ref":"#/properties/loop"},"far":{"$ref":"#/$defs/a~1b"},"map":{"$ref":"#/$defs/Map%3Cx%3E"},"lost":{"$ref":"https://example.com"}},
		"$defs":{"Code":{"anyOf":[{"$ref":"#/$defs/a~1b"},{"$ref":"#/$defs/Code"}]},"a/b":{"type":"string"},"Map<x>":{"type":"string"},"Args":{"properties":{"base":{"type":"string"}}}}}`)},
	{Name: "hidden", Withheld: true},
}

// TestScripts reads the texts in testdata. The tools are those above; hidden is not on offer.
func TestScripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "agent" {
				return numbers(d.Input)
			}
			return describe(textcall.Read(strings.ReplaceAll(d.Input, `\z`, ""), tools))
		})
	})
}

func describe(r textcall.Reading) string {
	var b strings.Builder
	for _, c := range r.Calls {
		fmt.Fprintf(&b, "%s %s\n", c.Name, c.Arguments)
	}
	switch {
	case r.HasMarkup:
		b.WriteString("markup\n")
	case len(r.Calls) == 0:
		b.WriteString("text\n")
	case r.Prose != "":
		fmt.Fprintf(&b, "prose: %q\n", r.Prose)
	}
	return b.String()
}

func numbers(names string) string {
	var b strings.Builder
	for name := range strings.Lines(names) {
		number, is := textcall.AgentNumber(name)
		fmt.Fprintln(&b, strings.TrimSpace(name), number, is)
	}
	return b.String()
}

// TestTheWorkIsLinear reads texts for which a careless reader needs the square of their length.
func TestTheWorkIsLinear(t *testing.T) {
	t.Parallel()
	for _, part := range []string{
		`[search(q="`, `[search(q='`, `search(q="`, `[search(q=""" `, "[search(q=[", "[search(),", "search()\n", "print(", "call:search{", `call:search{q:<|"|>`,
		`<|tool_call>call:search{q:{`, "```tool_code\n", "```tool_code\nsearch(\n```\n", "<|tool_call_start|>[search(", `[vote(agent_id="a")] `, "[search(q=x)] ", `[search(q="x"`,
		"```\n{\n```\n", "<tool_call>vote<arg_key>", "<tool_call>vote<arg_key>a</arg_key><arg_value>b</arg_value><arg_key>", "{\"a\":[}", "```\n{\"name\":\"search\",\"arguments\":{}}\n```\n \n",
		"<function=vote><parameter=a>", "<tool_call>{}", "`a``b", "to=functions.vote{", "{", "[", `{"name":`, "<tool_call>", "<function=vote>", "`", "```\n", `{"a":"`, "<|channel|>commentary to=", "{}", `{"tool_calls":[`, ", ", "<arg_key>",
	} {
		t.Run(part, func(t *testing.T) {
			linear.Check(t, 8<<10, func(n int) { textcall.Read(strings.Repeat(part, n/len(part)), tools) })
		})
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{
		`<tool_call>{"name": "vote", "arguments": {"agent_id": "agent1"}}</tool_call>`,
		"I vote:\n```json\n{\"action\":\"vote\",\"agent_id\":\"agent1\"}\n```",
		"<function=search><parameter=q>sun</parameter></function>", "[TOOL_CALLS]vote[ARGS]{}", "`{` {", "functools[{}]", `[search(q="sun", tags=[1, {"a": None}])]`, "```tool_code\nprint(search(q='sun'))\n```", `<|tool_call>call:search{q:<|"|>sun<|"|>,a:[b]}<tool_call|>`,
		`<tool_call>vote<arg_key>a</arg_key><arg_value>b</arg_value></tool_call>`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := textcall.Read(text, tools)
		if again := textcall.Read(text, tools); describe(again) != describe(r) {
			t.Errorf("read once more it is %+v", again)
		}
		if len(r.Calls) == 0 && r.Prose != text || len(r.Calls) > 0 && r.HasMarkup {
			t.Errorf("%+v", r)
		}
		for _, c := range r.Calls {
			known := c.Name == "new_answer" || c.Name == "vote" || r.Prose == "" && (c.Name == "search" || c.Name == "lookup" || c.Name == "functions.own")
			if !known || !strings.Contains(text, strings.TrimPrefix(c.Name, "functions.")) {
				t.Errorf("%+v", c)
			}
		}
		if fewer := textcall.Read(text, nil); len(fewer.Calls) > 0 {
			t.Errorf("without tools it calls %+v", fewer.Calls)
		}
	})
}
