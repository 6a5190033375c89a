package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/massgen/massgen/internal/tools/mcp"
)

// TestHTTPManyQuestions: a server that asks faster than it takes answers has to wait, and its call succeeds when it
// has taken them.
func TestHTTPManyQuestions(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var now, most, all int
	enough := make(chan struct{})
	server := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m request
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		switch m.Method {
		case "":
			mu.Lock()
			now, all = now+1, all+1
			most = max(most, now)
			if all == 100 {
				close(enough)
			}
			mu.Unlock()
			<-enough // no answer is taken before there are as many as may wait
			mu.Lock()
			now--
			mu.Unlock()
			w.WriteHeader(http.StatusAccepted)
			return
		case "tools/call":
			w.Header().Set("Content-Type", "text/event-stream")
			for i := range 1_000 {
				fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"q%d\",\"method\":\"ping\"}\n\n", i)
			}
			fmt.Fprint(w, "data: ")
			defer fmt.Fprint(w, "\n")
		default:
			w.Header().Set("Content-Type", "application/json")
		}
		answerTruly(w, m)
	}))
	c, _ := start(t, server, mcp.Options{})
	if got := call(t, c, "tool", ""); got != "fine" {
		t.Errorf("the tool returned %q", got)
	}
	mu.Lock()
	defer mu.Unlock()
	if most > 100 {
		t.Errorf("%d answers waited at once", most)
	}
}
