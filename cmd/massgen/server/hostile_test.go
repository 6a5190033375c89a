package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/cmd/massgen/server"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/tests/leaks"
)

// holdingModel has a server's one model, "one", answer when a channel is closed.
func holdingModel(until chan struct{}) func(*server.Settings) {
	return func(s *server.Settings) {
		s.Models = []server.Model{{ID: "one", Open: func(ctx context.Context) (*massgen.Panel, error) {
			return massgen.New(ctx, []massgen.Agent{{ID: "ada", Backend: holding{until}}}, massgen.WithStore(s.Store))
		}}}
	}
}

// inUse is how much memory is in use, once nothing is left to free.
func inUse() uint64 {
	runtime.GC()
	runtime.GC() // what had a finaliser
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// malformed returns a request, head and body, that is not as it should be. It may be by chance.
func malformed(r *rand.Rand) string {
	paths := []string{"/v1/chat/completions", "/v1/responses", "/v1/models/one", "/v1/sessions", "/mcp", "/debug/session/x", "/../../etc/passwd", "/%00", "/v1/sessions/..%2f..%2fetc"}
	path := paths[r.IntN(len(paths))]
	if r.IntN(2) == 0 {
		path = paths[0]
	}
	body := `{"model":"one","stream":true,"metadata":{"session_id":"x"},"tools":[{"type":"function","function":{"name":"f"}}],"messages":[{"role":"user","content":[{"type":"text","text":"?"}]}]}`
	switch r.IntN(8) {
	case 0: // other bytes
		b := []byte(body)
		for range 1 + r.IntN(8) {
			b[r.IntN(len(b))] = byte(r.IntN(256))
		}
		body = string(b)
	case 1: // less
		body = body[:r.IntN(len(body))]
	case 2: // something of it twice, or many times
		at, n := r.IntN(len(body)), r.IntN(30)
		body = body[:at] + strings.Repeat(body[at:min(len(body), at+n)], r.IntN(50)) + body[at:]
	case 3: // deep
		open := []string{"[", `{"a":`, `{"messages":[`}[r.IntN(3)]
		body = strings.Repeat(open, 1+r.IntN(20_000))
	case 4:
		body = strings.Replace(body, `"?"`, []string{strings.Repeat("9", 10_000), "1e999999999", "-0", `"\ud800"`, `"` + "\xff\xfe" + `"`, `"` + strings.Repeat("x", 100_000) + `"`}[r.IntN(6)], 1)
	case 5: // another type
		for _, key := range []string{`"one"`, "true", `"x"`, `"f"`, `"user"`, `"text"`} {
			if r.IntN(3) == 0 {
				body = strings.Replace(body, key, []string{"null", "[]", "{}", "7", `""`, "1e400", `"../../etc/passwd"`}[r.IntN(7)], 1)
			}
		}
	case 6:
		body = string([]byte{byte(r.IntN(256)), byte(r.IntN(256)), 0, 0xff})
	}
	head := []string{"POST", "GET", "PUT", "DELETE", "\x00", "PRI"}[min(5, r.IntN(12)/2*r.IntN(2))] + " " + path + " HTTP/1.1\r\nHost: localhost\r\n"
	for range r.IntN(3) {
		head += []string{
			"Content-Type: application/json", "Content-Type: \x01", "Transfer-Encoding: chunked", "Content-Length: 18446744073709551616", "Expect: 100-continue",
			"Authorization: Bearer " + strings.Repeat("x", 1000), ": nothing", "X: " + strings.Repeat("y", 70_000), "Connection: upgrade\r\nUpgrade: h2c", "Origin: \x7f", "Last-Event-ID: -1", "Range: bytes=0-99999999999",
		}[r.IntN(12)] + "\r\n"
	}
	return head + fmt.Sprintf("Content-Length: %d\r\n\r\n", max(0, len(body)+r.IntN(5)/4*(r.IntN(9)-4))) + body
}

// shout sends bytes, perhaps not all, and returns the status of the first response, 0 for none.
func (s served) shout(text string, r *rand.Rand) (status int, body string, err error) {
	c, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = c.Close() }() // as a client that is gone
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return 0, "", err
	}
	isCut := r.IntN(5) == 0
	if isCut {
		text = text[:r.IntN(len(text))]
	}
	if _, err := io.WriteString(c, text); err != nil || isCut && r.IntN(2) == 0 {
		return 0, "", nil // the server has heard enough
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		return 0, "", nil // it has closed the connection
	}
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return 0, "", err
	}
	if err != nil {
		return 0, "", nil // there is none
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	data, err := io.ReadAll(response.Body)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return 0, "", err
	}
	return response.StatusCode, string(data), nil
}

// TestMalformedRequestsLeaveNothing behind, neither goroutines nor memory, and none is taken for a
// fault of the server's own.
func TestMalformedRequestsLeaveNothing(t *testing.T) {
	leaks.Check(t)
	ended := make(chan struct{})
	close(ended)
	s := serve(t, holdingModel(ended))
	const seed = 1
	statuses := map[int]int{}
	var mu sync.Mutex
	send := func(count int) {
		var senders sync.WaitGroup
		for i := range 8 {
			senders.Go(func() {
				r := rand.New(rand.NewPCG(seed, uint64(count*8+i)))
				for range count / 8 {
					text := malformed(r)
					status, body, err := s.shout(text, r)
					if err != nil || status == http.StatusInternalServerError || strings.Contains(body, "goroutine ") {
						t.Errorf("%v, status %d, %.300s, for %.300q", err, status, body, text)
					}
					mu.Lock()
					statuses[status]++
					mu.Unlock()
				}
			})
		}
		senders.Wait()
	}
	send(2_000) // what is made once
	before := inUse()
	send(10_000)
	const most = 16 << 20 // the sessions of those that were well-formed by chance are in memory
	if after := inUse(); after > before+most {
		t.Errorf("%d bytes were in use before, and %d after", before, after)
	}
	if statuses[http.StatusBadRequest] < 1_000 || statuses[http.StatusOK] < 100 {
		t.Errorf("the statuses are %v", statuses)
	}
	if r := s.do(t, http.MethodGet, "/healthz", ""); r.status != http.StatusOK {
		t.Errorf("status %d afterwards", r.status)
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestClientsThatVanishEndTheirTurns in the middle of a stream.
func TestClientsThatVanishEndTheirTurns(t *testing.T) {
	leaks.Check(t)
	s := serve(t, holdingModel(make(chan struct{})))
	const clients = 1_000
	var begun atomic.Int64
	var all sync.WaitGroup
	places := make(chan struct{}, 100)
	for range clients {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			c, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = c.Close() }() // this is what is tested
			const body = `{"model":"one","stream":true,"messages":[{"role":"user","content":"?"}]}`
			if _, err := fmt.Fprintf(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
				t.Error(err)
			}
			for lines := bufio.NewScanner(c); lines.Scan(); {
				if strings.Contains(lines.Text(), "The ") {
					begun.Add(1)
					return
				}
			}
			t.Error("a stream has ended")
		})
	}
	all.Wait()
	for running := true; running; time.Sleep(time.Millisecond) {
		running = !strings.Contains(s.do(t, http.MethodGet, "/metrics", "").body, "massgen_turns_running{model=\"one\"} 0\n")
	}
	list, err := s.store.List(t.Context(), sessions.Filter{Unended: true})
	if err != nil || len(list) != 0 || begun.Load() != clients {
		t.Errorf("%d have begun, %d sessions have not ended, %v", begun.Load(), len(list), err)
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestBodiesThatDoNotComeHoldUpNobody else.
func TestBodiesThatDoNotComeHoldUpNobody(t *testing.T) {
	ended := make(chan struct{})
	close(ended)
	s := serve(t, holdingModel(ended))
	for range 200 {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }() // it was never answered
		if _, err := io.WriteString(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"); err != nil {
			t.Fatal(err)
		}
	}
	if r := s.chat(t, `{"model":"one","messages":[{"role":"user","content":"?"}]}`); r.status != http.StatusOK {
		t.Errorf("status %d: %s", r.status, r.body)
	}
}

// TestNoAddressOfARequestIsCalled: a request cannot make the server call or read an address in it. The server
// calls only the operator's models, as their configs say.
func TestNoAddressOfARequestIsCalled(t *testing.T) {
	var called atomic.Int64
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called.Add(1) }))
	defer inside.Close()
	s := serve(t, nil)
	for _, model := range []string{"URL", "URL/v1#pair", "file:///etc/passwd", "/etc/passwd", "../pair", "pair.yaml", "@examples/three_agents", "pair/../pair"} {
		body := strings.ReplaceAll(`{"model":"`+model+`","messages":[{"role":"user","content":"?"}],"input":"?","question":"?"}`, "URL", inside.URL)
		for _, path := range []string{"/v1/chat/completions", "/v1/responses", "/sessions"} {
			refused(t, path+" "+body, s.send(t, http.MethodPost, path, body), http.StatusNotFound, "model_not_found")
		}
	}
	for body, status := range map[string]int{
		`"base_url":"URL","api_base":"URL","backend":{"base_url":"URL"},"extra_body":{"base_url":"URL"},"config":"URL","agents":[{"backend":{"base_url":"URL"}}]`: http.StatusOK,
		`"metadata":{"base_url":"URL","config":"/etc/passwd"}`:                                        http.StatusOK,
		`"tools":[{"type":"mcp","server_label":"x","server_url":"URL"}]`:                              http.StatusBadRequest,
		`"tools":[{"type":"web_search","filters":{"allowed_domains":["URL"]}}]`:                       0,
		`"tools":[{"type":"function","function":{"name":"f","parameters":{"$ref":"URL"}}}]`:           0,
		`"tools":[{"type":"function","name":"f","parameters":{"$ref":"URL","$schema":"URL"}}]`:        0,
		`"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"$ref":"URL"}}}`: 0,
	} {
		rest := strings.ReplaceAll(body, "URL", inside.URL) + "}"
		for path, asked := range map[string]string{
			"/v1/chat/completions": `{"model":"pair/ada","messages":[{"role":"user","content":"?"}],`, "/v1/responses": `{"model":"pair/ada","input":"?",`,
		} {
			r := s.do(t, http.MethodPost, path, asked+rest, "X-Base-Url: "+inside.URL, "X-Forwarded-Host: "+inside.Listener.Addr().String(), "Openai-Base-Url: "+inside.URL)
			if status > 0 && r.status != status || strings.Contains(r.body, "root:") {
				t.Errorf("%s: status %d: %s", rest, r.status, r.body)
			}
		}
	}
	for _, part := range []string{
		`{"type":"image_url","image_url":{"url":"URL"}}`, `{"type":"input_image","image_url":"URL"}`, `{"type":"input_file","file_url":"URL"}`,
		`{"type":"file","file":{"file_data":"URL"}}`, `{"type":"text","text":"URL"}`,
	} {
		content := strings.ReplaceAll(`{"role":"user","content":[`+part+`]}`, "URL", inside.URL)
		for path, body := range map[string]string{
			"/v1/chat/completions": `{"model":"pair/ada","messages":[` + content + `]}`, "/v1/responses": `{"model":"pair/ada","input":[` + content + `]}`,
		} {
			if r := s.send(t, http.MethodPost, path, body); r.status >= http.StatusInternalServerError {
				t.Errorf("%s: status %d: %s", body, r.status, r.body)
			}
		}
	}
	if called.Load() != 0 {
		t.Errorf("the server has called an address of a request %d times", called.Load())
	}
}
