package server_test

import (
	"net/http"
	"runtime"
	"strings"
	"testing"
)

// allocated returns how many bytes a function allocates.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestBodiesOfManyValuesAreRefusedUnread: an empty object takes three bytes, and decoded hundreds.
func TestBodiesOfManyValuesAreRefusedUnread(t *testing.T) {
	ended := make(chan struct{})
	close(ended)
	s := serve(t, holdingModel(ended))
	many := func(value string) string {
		return strings.TrimSuffix(strings.Repeat(value+",", (15<<20)/(len(value)+1)), ",")
	}
	for name, test := range map[string]struct {
		path, body string
		status     int
	}{
		"parts of a message":       {"/v1/chat/completions", `{"model":"one","messages":[{"role":"user","content":[` + many("{}") + `]}]}`, http.StatusRequestEntityTooLarge},
		"messages":                 {"/v1/chat/completions", `{"model":"one","messages":[` + many("{}") + `]}`, http.StatusRequestEntityTooLarge},
		"tools":                    {"/v1/chat/completions", `{"model":"one","tools":[` + many("{}") + `],"messages":[]}`, http.StatusRequestEntityTooLarge},
		"metadata":                 {"/v1/chat/completions", `{"model":"one","metadata":{` + many(`"a":1`) + `}}`, http.StatusRequestEntityTooLarge},
		"items of a response":      {"/v1/responses", `{"model":"one","input":[` + many("{}") + `]}`, http.StatusRequestEntityTooLarge},
		"files":                    {"/sessions", `{"question":"?","files":[` + many("{}") + `]}`, http.StatusRequestEntityTooLarge},
		"arguments of an MCP call": {"/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a":[` + many("0") + `]}}`, http.StatusRequestEntityTooLarge},
		"depth":                    {"/v1/chat/completions", `{"model":"one","tools":` + strings.Repeat(`[`, 1<<20), http.StatusBadRequest},
		"texts with escapes":       {"/v1/chat/completions", `{"model":"one","messages":[{"role":"user","content":"` + strings.Repeat(`\"{,`, 200_000) + `"}],"n":2}`, http.StatusBadRequest},
	} {
		var got reply
		used := allocated(func() { got = s.send(t, http.MethodPost, test.path, test.body) })
		if got.status != test.status {
			t.Errorf("%s: status %d, %.200s", name, got.status, got.body)
		}
		if most := uint64(64 << 20); used > most { // client and server together
			t.Errorf("%s: the request took %d MB", name, used>>20)
		}
	}
}

// TestBodyMayBeginWithAByteOrderMark, as programs of Windows write it. A second mark is no JSON.
func TestBodyMayBeginWithAByteOrderMark(t *testing.T) {
	s := serve(t, nil)
	for path, body := range map[string]string{
		"/v1/chat/completions": `{"model":"pair","messages":[{"role":"user","content":"?"}]}`,
		"/v1/responses":        `{"model":"pair","input":"?"}`,
		"/sessions":            `{"model":"pair","question":"?"}`,
	} {
		if r := s.send(t, http.MethodPost, path, "\uFEFF"+body); r.status != http.StatusOK {
			t.Errorf("%s: status %d, %s", path, r.status, r.body)
		}
		if r := s.send(t, http.MethodPost, path, "\uFEFF\uFEFF"+body); r.status != http.StatusBadRequest {
			t.Errorf("%s with two marks: status %d, %s", path, r.status, r.body)
		}
	}
}
