package tests

import (
	"fmt"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/tests/backendtest"
)

// withHosted is a model of a panel of three providers, a, b and c, that searches the web and runs
// code before each of two calls of its own tools and before its answer. It refuses a request that
// has not all that its provider's tools left in its messages, each once and in order. All vote for b.
func withHosted(c backendtest.Call) backendtest.Reply {
	s := stepOf(c)
	if !s.isBlind {
		return s.act("vote", `{"agent_id":"agent2","reason":%q}`, "It has looked it up.")
	}
	var want, done []string
	for _, u := range s.used { // a tool whose call was interrupted is called again, without a search
		if !slices.Contains(done, u.Name) {
			want = append(want, queryOf(len(done)), outputOf(len(done)))
			done = append(done, u.Name)
		}
	}
	if got := hostedTexts(string(c.Body), len(done)); !slices.Equal(got, want) {
		return failed(400, fmt.Sprintf("the results of hosted tools are %q, want %q", got, want), nil)
	}
	who := map[string]string{"gpt-5": "a", "claude-opus-4-6": "b", "gemini-3.5-flash": "c"}[c.Model()]
	tools := []backends.ToolCall{
		writeNotes("notes of " + who), readNotes(), toolUse("new_answer", fmt.Sprintf(`{"content":%q}`, "By "+who+": "+s.noted())),
	}
	next := tools[slices.IndexFunc(tools, func(t backends.ToolCall) bool { return !s.knows(t) })]
	next.ID = fmt.Sprintf("call_%d", len(s.used))
	r := backendtest.Reply{Text: "I looked it up.", ToolCalls: []backends.ToolCall{next}}
	if !slices.Contains(done, next.Name) {
		n := len(done)
		r.Hosted = &backendtest.Hosted{
			Query: queryOf(n), Found: []backends.Citation{{URL: fmt.Sprintf("https://%s.example/%d", who, n), Title: fmt.Sprint("Tides ", n)}},
			Code: "print()", Output: outputOf(n),
		}
	}
	return s.reply(r)
}

func queryOf(n int) string  { return fmt.Sprintf("<tides %d>", n) }
func outputOf(n int) string { return fmt.Sprintf("<moon %d>", n) }

// hostedTexts are the queries and outputs of the first uses that stand in a body, in its order.
func hostedTexts(body string, uses int) (found []string) {
	body = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(body)
	for {
		at, next := len(body), ""
		for i := range uses {
			for _, text := range []string{queryOf(i), outputOf(i)} {
				if j := strings.Index(body, text); j >= 0 && j < at {
					at, next = j, text
				}
			}
		}
		if next == "" {
			return found
		}
		found, body = append(found, next), body[at+len(next):]
	}
}
