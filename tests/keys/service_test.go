package keys

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// protocol is one of the ways to talk to a model.
type protocol struct {
	typ, keyVar string
	// model is one that is called over the protocol.
	model string
	// text is an answer that comes in pieces, up to its end.
	text func(pieces ...string) string
	// tool is a call of a tool, whose arguments, an object of JSON, come in pieces if
	// the protocol has any.
	tool func(name string, pieces ...string) string
	// failure is an error in the middle of a stream.
	failure func(message string) string
}

func protocols() []protocol {
	return []protocol{chatProtocol(), responsesProtocol(), claudeProtocol(), geminiProtocol()}
}

func chatProtocol() protocol {
	delta := func(fields string) string {
		return `data: {"choices":[{"index":0,"delta":{` + fields + "}}]}\n\n"
	}
	end := func(reason string) string {
		return `data: {"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}` + "\n\ndata: [DONE]\n\n"
	}
	return protocol{
		typ: "openai", keyVar: "OPENAI_API_KEY", model: "m",
		text: func(pieces ...string) string {
			return each(pieces, func(p string) string { return delta(`"content":"` + quotedJSON(p) + `"`) }) + end("stop")
		},
		tool: func(name string, pieces ...string) string {
			return delta(`"tool_calls":[{"index":0,"id":"t","type":"function","function":{"name":"`+name+`","arguments":""}}]`) +
				each(pieces, func(p string) string {
					return delta(`"tool_calls":[{"index":0,"function":{"arguments":"` + quotedJSON(p) + `"}}]`)
				}) + end("tool_calls")
		},
		failure: func(message string) string {
			return delta(`"content":"half "`) + `data: {"error":{"message":"` + quotedJSON(message) + `","type":"server_error"}}` + "\n\n"
		},
	}
}

func responsesProtocol() protocol {
	event := func(name, fields string) string {
		return "event: " + name + "\ndata: {\"type\":\"" + name + `",` + fields + "}\n\n"
	}
	const thought = `"output_index":0,"item":{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"sealed"}`
	start := event("response.output_item.done", thought)
	end := event("response.completed", `"response":{"status":"completed"}`)
	return protocol{
		typ: "openai", keyVar: "OPENAI_API_KEY", model: "gpt-5.4",
		text: func(pieces ...string) string {
			return start + each(pieces, func(p string) string {
				return event("response.output_text.delta", `"output_index":1,"delta":"`+quotedJSON(p)+`"`)
			}) + end
		},
		tool: func(name string, pieces ...string) string {
			call := `"output_index":1,"item":{"type":"function_call","id":"fc","call_id":"t","name":"` + name + `"`
			return start + event("response.output_item.added", call+`,"arguments":""}`) + each(pieces, func(p string) string {
				return event("response.function_call_arguments.delta", `"output_index":1,"delta":"`+quotedJSON(p)+`"`)
			}) + event("response.output_item.done", call+"}") + end
		},
		failure: func(message string) string {
			return event("response.reasoning_summary_text.delta", `"output_index":0,"delta":"half "`) +
				event("error", `"code":"server_error","message":"`+quotedJSON(message)+`"`)
		},
	}
}

func claudeProtocol() protocol {
	event := func(name, fields string) string {
		return "event: " + name + "\ndata: {\"type\":\"" + name + `",` + fields + "}\n\n"
	}
	start := event("message_start", `"message":{"id":"m","type":"message","role":"assistant","content":[],"model":"m","usage":{"input_tokens":1,"output_tokens":1}}`)
	block := func(content string) string {
		return event("content_block_start", `"index":0,"content_block":{`+content+`}`)
	}
	delta := func(content string) string {
		return event("content_block_delta", `"index":0,"delta":{`+content+`}`)
	}
	end := func(reason string) string {
		return event("content_block_stop", `"index":0`) +
			event("message_delta", `"delta":{"stop_reason":"`+reason+`"},"usage":{"output_tokens":2}`) + event("message_stop", `"x":0`)
	}
	return protocol{
		typ: "claude", keyVar: "ANTHROPIC_API_KEY", model: "m",
		text: func(pieces ...string) string {
			return start + block(`"type":"text","text":""`) +
				each(pieces, func(p string) string { return delta(`"type":"text_delta","text":"` + quotedJSON(p) + `"`) }) + end("end_turn")
		},
		tool: func(name string, pieces ...string) string {
			return start + block(`"type":"tool_use","id":"t","name":"`+name+`","input":{}`) +
				each(pieces, func(p string) string {
					return delta(`"type":"input_json_delta","partial_json":"` + quotedJSON(p) + `"`)
				}) + end("tool_use")
		},
		failure: func(message string) string {
			return start + event("error", `"error":{"type":"api_error","message":"`+quotedJSON(message)+`"}`)
		},
	}
}

func geminiProtocol() protocol {
	candidate := func(part, rest string) string {
		return `data: {"candidates":[{"content":{"role":"model","parts":[{` + part + `}]}` + rest + "}]}\n\n"
	}
	const end = `,"finishReason":"STOP"`
	return protocol{
		typ: "gemini", keyVar: "GEMINI_API_KEY", model: "m",
		text: func(pieces ...string) string {
			return each(pieces, func(p string) string { return candidate(`"text":"`+quotedJSON(p)+`"`, "") }) + candidate(`"text":""`, end)
		},
		tool: func(name string, pieces ...string) string {
			return candidate(`"functionCall":{"name":"`+name+`","args":`+strings.Join(pieces, "")+`}`, end)
		},
		failure: func(message string) string {
			return candidate(`"text":"half "`, "") + `data: {"error":{"code":500,"message":"` + quotedJSON(message) + `"}}` + "\n\n"
		},
	}
}

func each(pieces []string, write func(string) string) string {
	var b strings.Builder
	for _, p := range pieces {
		b.WriteString(write(p))
	}
	return b.String()
}

// gossip is a service that repeats the key that it is told.
type gossip struct {
	*httptest.Server
	protocol protocol
	key      string
	// reply writes an answer, in which what it was told is told.
	reply func(g *gossip, w http.ResponseWriter, r *http.Request, body string)
	// called takes one for each call that hangs.
	called chan struct{}

	mu    sync.Mutex
	calls int
	heard bool // the key
}

func newGossip(t *testing.T, p protocol, key string, reply func(*gossip, http.ResponseWriter, *http.Request, string)) *gossip {
	g := &gossip{protocol: p, key: key, reply: reply, called: make(chan struct{}, 1000)}
	g.Server = httptest.NewServer(http.HandlerFunc(g.serve))
	t.Cleanup(g.Close)
	return g
}

func (g *gossip) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the program has gone
	}
	g.mu.Lock()
	g.calls++
	g.heard = g.heard || len(g.secrets(r, string(body))) > 0
	g.mu.Unlock()
	g.reply(g, w, r, string(body))
}

// interrupt interrupts the program for each call, until it has ended.
func (g *gossip) interrupt(interrupts chan<- os.Signal, ended <-chan struct{}) {
	for {
		select {
		case <-g.called:
		case <-ended:
			return
		}
		select {
		case interrupts <- os.Interrupt:
		case <-ended:
			return
		}
	}
}

// wasTold reports whether the service has got the key.
func (g *gossip) wasTold() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.heard
}

func (g *gossip) number() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.calls
}

// secrets returns the parts of a request that show the key.
func (g *gossip) secrets(r *http.Request, body string) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		all = append(all, r.Header[name]...)
	}
	if user, password, ok := r.BasicAuth(); ok {
		all = append(all, user, password)
	}
	if query, err := url.QueryUnescape(r.URL.RawQuery); err == nil {
		all = append(all, r.URL.RawQuery, query)
	}
	if shows(body, g.key) {
		all = append(all, g.key)
	}
	return slices.DeleteFunc(all, func(text string) bool { return !shows(text, g.key) })
}

// tale returns the service's words about a request: the key in all its forms. The forms take turns to
// stand first, since a text may be cut.
func (g *gossip) tale(r *http.Request, body string) string {
	var all []string
	for _, s := range g.secrets(r, body) {
		all = append(all, encoded(s)...)
	}
	if len(all) == 0 {
		return "nothing"
	}
	turn := len(r.URL.Path) + len(body) + g.number()
	turn %= len(all)
	return fmt.Sprintf("told %s", strings.Join(append(all[turn:], all[:turn]...), " "))
}
