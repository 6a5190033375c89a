package mcp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// request is what a liar reads of a message.
type request struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Name string
		Meta struct{ ProgressToken json.RawMessage } `json:"_meta"`
	}
}

// lies are what servers do that do not keep to the protocol, by the method that they
// do it at. What a liar does not lie about it answers like any server.
var lies = map[string]map[string]func(out io.Writer, r request){
	"dies at start": {"initialize": func(io.Writer, request) {
		fmt.Fprintln(os.Stderr, "Error: no database")
		os.Exit(7)
	}},
	"silent":      {"initialize": silence},
	"silent list": {"tools/list": silence},
	"silent forever": {"tools/call": func(out io.Writer, r request) {
		fmt.Fprintln(os.Stderr, "called")
		silence(out, r)
	}, "ping": silence},
	"closes output": {"tools/call": func(io.Writer, request) {
		os.Stdout.Close()
		block()
	}},
	"deaf": {"tools/call": func(io.Writer, request) { block() }},
	"prints garbage": {
		"initialize": func(out io.Writer, r request) {
			fmt.Fprint(out, "Listening on stdio\n[1,2]\n{}\n\n{\"jsonrpc\":\"2.0\"}\n\x00\xff\n")
			answerTruly(out, r)
		},
		"tools/call": func(out io.Writer, r request) {
			fmt.Fprintln(out, "calling")
			answerTruly(out, r)
		},
	},
	"asks": {"tools/call": func(out io.Writer, r request) {
		for i, method := range []string{"ping", "roots/list", "sampling/createMessage", "elicitation/create", "no/such"} {
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":"q%d","method":%q,"params":{}}`+"\n", i, method)
		}
		fmt.Fprintln(out, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":{"a":[]},"progress":1}}`)
		fmt.Fprintln(out, `{"jsonrpc":"2.0","method":"notifications/progress"}`)
		fmt.Fprintln(out, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`)
		fmt.Fprintln(out, `{"jsonrpc":"2.0","id":999,"result":{}}`)
		answerTruly(out, r)
	}},
	"asks for ever": {"tools/call": func(out io.Writer, _ request) {
		for i := 0; ; i++ {
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":"q%d","method":"ping"}`+"\n", i)
		}
	}},
	"floods": {"tools/call": func(out io.Writer, r request) {
		switch r.Params.Name {
		case "id first":
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, r.ID)
			flood(out, 100<<20)
			fmt.Fprintln(out, `"}]}}`)
		case "id last":
			fmt.Fprint(out, `{"result":{"content":[{"type":"text","text":"`)
			flood(out, 100<<20)
			fmt.Fprintf(out, `"}]},"jsonrpc":"2.0","id":%s}`+"\n", r.ID)
		case "no message":
			flood(out, 100<<20)
			fmt.Fprintln(out)
		case "many":
			notification := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1,"message":"%s"}}`,
				r.Params.Meta.ProgressToken, strings.Repeat("x", 16<<10))
			for range (100 << 20) / len(notification) {
				fmt.Fprintln(out, notification)
			}
			answerTruly(out, r)
		case "errors":
			for range 100 {
				_, _ = os.Stderr.WriteString(strings.Repeat("e", 1<<20))
			}
			answerTruly(out, r)
		default:
			answerTruly(out, r)
		}
	}},
	"results": {"tools/call": func(out io.Writer, r request) { answer(out, r, strangeResults[r.Params.Name]) }},
	"schemas": {"tools/list": func(out io.Writer, r request) { answer(out, r, strangeTools) }},
	"a schema of 10 MB": {"tools/list": func(out io.Writer, r request) {
		answer(out, r, `{"tools":[{"name":"big","inputSchema":{"type":"object","description":"`+strings.Repeat("x", 10<<20)+`"}}]}`)
	}},
	"lists for ever": {"tools/list": func(out io.Writer, r request) {
		answer(out, r, `{"tools":[{"name":"tool","inputSchema":{"type":"object"}}],"nextCursor":"again"}`)
	}},
	"no tools": {"tools/list": func(out io.Writer, r request) { answer(out, r, `{"tools":"none"}`) }},
	"nothing":  nil,
	"large schemas": {"tools/list": func(out io.Writer, r request) {
		var tools []string
		for i := range 100 {
			tools = append(tools, fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object","description":"%s"}}`, i, strings.Repeat("x", 50<<10)))
		}
		answer(out, r, `{"tools":[`+strings.Join(tools, ",")+`]}`)
	}},
	"empty pages": {"tools/list": func(out io.Writer, r request) { answer(out, r, `{"tools":[],"nextCursor":"again"}`) }},
	"modern":      modern(),
	"no list":     {"tools/list": func(out io.Writer, r request) { answerError(out, r, -32601) }},
	"untidy": {
		"initialize": func(out io.Writer, r request) {
			fmt.Fprint(out, "\uFEFF")
			answerTruly(out, asText(r))
		},
		"tools/list": func(out io.Writer, r request) { answerTruly(out, asText(r)) },
		"tools/call": func(out io.Writer, r request) { answerTruly(out, asText(r)) },
	},
}

// modern knows no initialization. It has other tools after a call, and says that its list
// holds for a day.
func modern() map[string]func(out io.Writer, r request) {
	name := "tool"
	return map[string]func(out io.Writer, r request){
		"initialize": func(out io.Writer, r request) { answerError(out, r, -32601) },
		"tools/list": func(out io.Writer, r request) {
			answer(out, r, fmt.Sprintf(`{"resultType":"complete","ttlMs":86400000,"tools":[{"name":%q,"inputSchema":{"type":"object"}}]}`, name))
		},
		"tools/call": func(out io.Writer, r request) {
			name = "other"
			fmt.Fprintln(out, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			answer(out, r, `{"resultType":"complete","content":[{"type":"text","text":"fine"}]}`)
		},
	}
}

// strangeResults are results by the name of the tool that is called.
var strangeResults = map[string]string{
	"null":    `null`,
	"nulls":   `{"content":[null]}`,
	"kind":    `{"content":[{"type":"smell"}]}`,
	"text":    `{"content":"text"}`,
	"number":  `7`,
	"torn":    `{"content":[{"type":"text"`,
	"no part": `{"content":[]}`,
}

// strangeTools are a list of which few can be had.
const strangeTools = `{"tools":[
	{"name":"good","inputSchema":{"type":"object","properties":{"path":{"type":"string","pattern":"^(?!x)"}},"required":["path"]}},
	{"name":"no type","inputSchema":{"properties":{}}},
	{"name":"a.b c","inputSchema":{"type":"object"}},
	{"name":"a b.c","inputSchema":{"type":"object"}},
	{"name":"a_b_c","inputSchema":{"type":"object"}},
	{"name":"very-long-name-very-long-name-very-long-name-very-long-name-very-long-name","inputSchema":{"type":"object"}},
	{"name":"twice","description":"the first","inputSchema":{"type":"object"}},
	{"name":"twice","description":"the second","inputSchema":{"type":"object"}},
	{"name":"string","inputSchema":"object"},
	{"name":"nothing"},
	{"name":"array","inputSchema":{"type":"array"}},
	{"name":"broken","inputSchema":{"type":"object","properties":5}},
	{"name":"required","inputSchema":{"type":"object","required":"path"}},
	{"name":"large","inputSchema":{"type":"object","description":"LARGE"}},
	{"name":"","inputSchema":{"type":"object"}},
	null]}`

func flood(out io.Writer, size int) {
	piece := strings.Repeat("x", 1<<20)
	for range size / len(piece) {
		fmt.Fprint(out, piece)
	}
}

// asText returns a request whose id is a text.
func asText(r request) request {
	r.ID = json.RawMessage(fmt.Sprintf("%q", r.ID))
	return r
}

// silence says nothing any more, and does not end when it is asked to.
func silence(io.Writer, request) {
	signal.Ignore(syscall.SIGTERM)
	block()
}

func answer(out io.Writer, r request, result string) {
	result = strings.ReplaceAll(strings.ReplaceAll(result, "\n", ""), "LARGE", strings.Repeat("x", 100<<10))
	fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", r.ID, result)
}

func answerError(out io.Writer, r request, code int) {
	fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"no"}}`+"\n", r.ID, code)
}

func answerTruly(out io.Writer, r request) {
	switch r.Method {
	case "initialize":
		answer(out, r, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"liar","version":"1"}}`)
	case "tools/list":
		var tools []string
		for _, name := range []string{"tool", "id first", "id last", "no message", "many", "errors",
			"null", "nulls", "kind", "text", "number", "torn", "no part"} {
			tools = append(tools, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name))
		}
		answer(out, r, `{"tools":[`+strings.Join(tools, ",")+`]}`)
	case "tools/call":
		answer(out, r, `{"content":[{"type":"text","text":"fine"}]}`)
	case "server/discover":
		answer(out, r, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)
	default:
		if r.ID != nil {
			answer(out, r, `{}`)
		}
	}
}

func serveLies(args []string) {
	lie, ok := lies[args[0]]
	if !ok {
		fmt.Fprintln(os.Stderr, "Error: there is no lie", args[0])
		os.Exit(2)
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	out := bufio.NewWriter(os.Stdout)
	for lines.Scan() {
		var r request
		if json.Unmarshal(lines.Bytes(), &r) != nil || r.Method == "" {
			continue
		}
		act := lie[r.Method]
		if act == nil {
			act = answerTruly
		}
		act(out, r)
		if out.Flush() != nil {
			return
		}
	}
}
