package keys

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// outcome is a way in which a turn ends.
type outcome struct {
	name string
	// reply is the service's answer. It is nil for an outcome that reaches no service at address.
	reply   func(g *gossip, w http.ResponseWriter, r *http.Request, body string)
	address string
	// unseen is true if the program need not show that the service repeated the key.
	unseen bool
	// flags are the flags of a run with this outcome.
	flags []string
	// panel is true if several agents have to coordinate.
	panel bool
	// interrupt is true if a person ends the turn once the service is called.
	interrupt bool
}

func outcomes() []outcome {
	return []outcome{
		{name: "success", unseen: true, reply: func(g *gossip, w http.ResponseWriter, _ *http.Request, _ string) {
			say(w, g.protocol.text("all ", "is well"))
		}},
		{name: "error 401", reply: status(http.StatusUnauthorized, jsonError)},
		{name: "error 429", reply: status(http.StatusTooManyRequests, func(tale string) string { return `{"error":"` + quotedJSON(tale) + `"}` })},
		{name: "error 500 in text", reply: status(http.StatusInternalServerError, asItIs)},
		{name: "error 502 in HTML", reply: status(http.StatusBadGateway, page)},
		{name: "error 400 of another form", reply: status(http.StatusBadRequest, func(tale string) string {
			return `{"message":{"why":"` + quotedJSON(tale) + `"}}`
		})},
		// What is left of a header may end before the key that it begins to tell.
		{name: "cut error", unseen: true, reply: status(http.StatusBadRequest, func(tale string) string {
			return strings.Repeat("x", 490-strings.Index(tale, " ")) + tale
		})},
		{name: "headers", unseen: true, reply: func(g *gossip, w http.ResponseWriter, r *http.Request, body string) {
			for _, name := range []string{"WWW-Authenticate", "Retry-After", "X-Request-Id", "Content-Type", "Date"} {
				w.Header().Set(name, g.tale(r, body))
			}
			w.WriteHeader(http.StatusUnauthorized)
		}},
		{name: "page", reply: func(g *gossip, w http.ResponseWriter, r *http.Request, body string) {
			w.Header().Set("Content-Type", "text/html")
			say(w, page(g.tale(r, body)))
		}},
		{name: "answer", reply: func(g *gossip, w http.ResponseWriter, r *http.Request, body string) {
			say(w, g.protocol.text(g.tale(r, body)))
		}},
		{name: "pieces", reply: func(g *gossip, w http.ResponseWriter, _ *http.Request, _ string) {
			say(w, g.protocol.text(append([]string{"it is "}, pieces(g.key)...)...))
		}},
		{name: "tools", panel: true, reply: tools(func(text string) []string { return []string{text} })},
		{name: "tools in pieces", panel: true, reply: tools(pieces)},
		{name: "cut tool", panel: true, unseen: true, reply: func(g *gossip, w http.ResponseWriter, _ *http.Request, _ string) {
			whole := g.protocol.tool("new_answer", pieces(`{"content":"`+quotedJSON(g.key)+`"}`)...)
			say(w, whole[:strings.LastIndex(whole, "data: {")])
		}},
		{name: "error in a stream", reply: func(g *gossip, w http.ResponseWriter, r *http.Request, body string) {
			say(w, g.protocol.failure(g.tale(r, body)))
		}},
		{name: "broken stream", unseen: true, reply: func(g *gossip, w http.ResponseWriter, r *http.Request, body string) {
			say(w, "data: {"+g.tale(r, body)+"\n\ndata: x"+g.tale(r, body)+"\n\n")
		}},
		{name: "cut stream", unseen: true, reply: func(g *gossip, w http.ResponseWriter, _ *http.Request, _ string) {
			before, _, _ := strings.Cut(g.protocol.text("the key is "+g.key), quotedJSON(g.key))
			say(w, before+quotedJSON(g.key))
		}},
		{name: "redirects", reply: func(g *gossip, w http.ResponseWriter, _ *http.Request, _ string) {
			w.Header().Set("Location", fmt.Sprintf("/%s?key=%s#%[2]s", url.PathEscape(g.key), url.QueryEscape(g.key)))
			w.WriteHeader(http.StatusTemporaryRedirect)
		}},
		{name: "interrupt", interrupt: true, unseen: true, reply: hang},
		{name: "interrupted answer", interrupt: true, unseen: true, reply: func(g *gossip, w http.ResponseWriter, r *http.Request, body string) {
			whole := g.protocol.text(g.tale(r, body), "more")
			say(w, whole[:strings.LastIndex(whole, "more")])
			hang(g, w, r, body)
		}},
		{name: "time limit", flags: []string{"--orchestrator-timeout", "0.05"}, unseen: true, reply: hang},
		{name: "refused connection", address: "http://127.0.0.1:1/v1"},
		{name: "unknown host", address: "http://no..host/v1"},
		{name: "malformed address", address: "http://[::1/v1"},
		{name: "address of another scheme", address: "socks5://host/v1"},
	}
}

func say(w http.ResponseWriter, text string) {
	if _, err := io.WriteString(w, text); err != nil {
		return // the program has gone
	}
}

// hang sends the answer so far, and nothing more.
func hang(g *gossip, w http.ResponseWriter, r *http.Request, _ string) {
	if err := http.NewResponseController(w).Flush(); err != nil {
		return // the program has gone
	}
	g.called <- struct{}{}
	<-r.Context().Done()
}

// status replies with an HTTP status and the tale in some form.
func status(code int, form func(tale string) string) func(*gossip, http.ResponseWriter, *http.Request, string) {
	return func(g *gossip, w http.ResponseWriter, r *http.Request, body string) {
		w.WriteHeader(code)
		say(w, form(g.tale(r, body)))
	}
}

func jsonError(tale string) string {
	return `{"error":{"message":"` + quotedJSON(tale) + `","type":"` + quotedJSON(tale) + `","code":"invalid_api_key"}}`
}

func page(tale string) string {
	return "<!DOCTYPE html><html><title>" + html.EscapeString(tale) + "</title><body><p>" + html.EscapeString(tale) + "</p></body></html>"
}

// pieces returns a text in three parts, as a model may write it. The first is half of it.
func pieces(text string) []string {
	half, end := len(text)/2, len(text)-2
	return []string{text[:half], text[half:end], text[end:]}
}

// tools repeats the key in an answer and in the reason of a vote. To one agent alone it repeats the key in
// text.
func tools(cut func(string) []string) func(*gossip, http.ResponseWriter, *http.Request, string) {
	return func(g *gossip, w http.ResponseWriter, r *http.Request, body string) {
		tale := quotedJSON(g.tale(r, body))
		switch {
		case !strings.Contains(body, "new_answer"):
			say(w, g.protocol.text(cut(g.key)...))
		case strings.Contains(body, "(no answers available yet)"):
			say(w, g.protocol.tool("new_answer", cut(fmt.Sprintf(`{"content":"answer %d: %s"}`, g.number(), tale))...))
		default:
			reason := strings.Repeat("x", 60) + quotedJSON(g.key) + tale
			say(w, g.protocol.tool("vote", cut(`{"agent_id":"agent1","reason":"`+reason+`"}`)...))
		}
	}
}
