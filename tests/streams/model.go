package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// modelRole makes this program the model server.
const modelRole = "model"

// serveModel serves a model, which says the same to each: so many chunks, one at a time. A chunk
// has the question, the chunk's number and when it was sent. A member of a panel acts at once: it
// answers if there are no answers yet, and else votes for the first one.
func serveModel(out io.Writer, chunks, every string) error {
	count, err := strconv.Atoi(chunks)
	if err != nil {
		return err
	}
	pause, err := time.ParseDuration(every)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "http://%s\n", l.Addr()); err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Messages []struct{ Content string }
			Tools    []struct{ Function struct{ Name string } }
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || len(q.Messages) == 0 {
			http.Error(w, "no question", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		question := q.Messages[len(q.Messages)-1].Content
		if len(q.Tools) > 0 {
			name, arguments := "vote", `{"agent_id":"agent1","reason":"It is right."}`
			if strings.Contains(question, "(no answers available yet)") {
				name, arguments = "new_answer", `{"content":"This is an answer."}`
			}
			call := fmt.Sprintf(`{"index":0,"id":"1","type":"function","function":{"name":%q,"arguments":%q}}`, name, arguments)
			_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[%s]},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n", call) // who asked may be gone
			return
		}
		ticks := time.NewTicker(pause)
		defer ticks.Stop()
		flush := http.NewResponseController(w).Flush
		for i := range count {
			_, err := fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s:%d:%d \"}}]}\n\n", question, i, time.Now().UnixNano())
			if err != nil || flush() != nil {
				return // who asked is gone
			}
			<-ticks.C
		}
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n") // as above
	})
	return (&http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}).Serve(l)
}
