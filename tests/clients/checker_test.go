//go:build clients

package clients

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/massgen/massgen/tests/described"
)

// The routes, by where OpenAI's description has the form of what they send.
const (
	chatRoute      = "/paths/~1chat~1completions/post/responses/200/content/application~1json/schema"
	chatStream     = "/paths/~1chat~1completions/post/responses/200/content/text~1event-stream/schema"
	responseRoute  = "/paths/~1responses/post/responses/200/content/application~1json/schema"
	responseStream = "/paths/~1responses/post/responses/200/content/text~1event-stream/schema"
	showRoute      = "/paths/~1responses~1{response_id}/get/responses/200/content/application~1json/schema"
	cancelRoute    = "/paths/~1responses~1{response_id}~1cancel/post/responses/200/content/application~1json/schema"
	modelsRoute    = "/paths/~1models/get/responses/200/content/application~1json/schema"
	modelRoute     = "/paths/~1models~1{model}/get/responses/200/content/application~1json/schema"
	errorRoute     = "/components/schemas/ErrorResponse"
)

// checker passes requests on to a server, and holds what comes back to OpenAI's description.
type checker struct {
	*httptest.Server
	t       *testing.T
	schemas func(route string) *jsonschema.Schema

	mu   sync.Mutex
	seen []string // routes
}

func check(t *testing.T, server string) *checker {
	t.Helper()
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	c := &checker{t: t, schemas: schemas(t)}
	connections := &http.Transport{} // of its own: when a server of tests ends, it closes some of the shared one
	t.Cleanup(connections.CloseIdleConnections)
	c.Server = httptest.NewServer(&httputil.ReverseProxy{
		Transport:     connections,
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1,
		ModifyResponse: func(r *http.Response) error {
			r.Body = &readBody{ReadCloser: r.Body, then: func(body []byte) { c.check(r, body) }}
			return nil
		},
	})
	t.Cleanup(c.Close)
	return c
}

// schemas returns what compiles the schemas of routes.
func schemas(t *testing.T) func(route string) *jsonschema.Schema {
	t.Helper()
	description, err := described.Read(installed(t, "python"), "openai", "openapi.yml")
	if err != nil {
		t.Fatal(err)
	}
	all := description["components"].(described.Object)["schemas"].(described.Object)
	described.Update(all)
	described.Close(all)
	var mu sync.Mutex
	compiled := map[string]*jsonschema.Schema{}
	return func(route string) *jsonschema.Schema {
		mu.Lock()
		defer mu.Unlock()
		if compiled[route] == nil {
			schema, err := described.Compile(description, "#"+strings.NewReplacer("{", "%7B", "}", "%7D").Replace(route))
			if err != nil {
				t.Error(err)
				return nil
			}
			compiled[route] = schema
		}
		return compiled[route]
	}
}

// readBody calls then with all that was read of a body, once that is closed.
type readBody struct {
	io.ReadCloser
	read bytes.Buffer
	then func(body []byte)
	once sync.Once
}

func (b *readBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read.Write(p[:n])
	return n, err
}

func (b *readBody) Close() error {
	b.once.Do(func() { b.then(b.read.Bytes()) })
	return b.ReadCloser.Close()
}

// routeOf is the route of a response.
func routeOf(r *http.Response) string {
	path, isStream := r.Request.URL.Path, strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream")
	switch {
	case r.StatusCode >= http.StatusBadRequest:
		return errorRoute
	case r.Request.Method == http.MethodDelete: // nothing is said of what it sends
		return ""
	case path == "/v1/chat/completions" && isStream:
		return chatStream
	case path == "/v1/chat/completions":
		return chatRoute
	case strings.HasPrefix(path, "/v1/responses") && isStream:
		return responseStream
	case path == "/v1/responses":
		return responseRoute
	case strings.HasSuffix(path, "/cancel"):
		return cancelRoute
	case strings.HasPrefix(path, "/v1/responses/"):
		return showRoute
	case path == "/v1/models":
		return modelsRoute
	}
	return modelRoute
}

// check holds a response to its description: its body, or each of its events.
func (c *checker) check(r *http.Response, body []byte) {
	route := routeOf(r)
	if route == "" {
		return
	}
	c.mu.Lock()
	c.seen = append(c.seen, route)
	c.mu.Unlock()
	texts := [][]byte{body}
	if route == chatStream || route == responseStream {
		texts = nil
		for line := range bytes.Lines(body) {
			if data, isData := bytes.CutPrefix(line, []byte("data: ")); isData && bytes.HasSuffix(data, []byte("\n")) {
				texts = append(texts, bytes.TrimSpace(data))
			}
		}
		if route == chatStream && string(texts[len(texts)-1]) == "[DONE]" {
			texts = texts[:len(texts)-1]
		}
	}
	schema := c.schemas(route)
	if schema == nil {
		return
	}
	for _, text := range texts {
		if err := described.Check(schema, onlyDescribed(c.t, route, text)); err != nil {
			c.t.Errorf("%s %s: %s: %v", r.Request.Method, r.Request.URL.Path, text, err)
		}
	}
}

// onlyDescribed leaves out of a chat completion what its description does not have and services send all
// the same: reasoning_content, which OpenAI's own models keep to themselves, and the annotations of the
// last piece of a stream, which OpenAI sends and describes for a whole message alone.
func onlyDescribed(t *testing.T, route string, text []byte) []byte {
	if route != chatRoute && route != chatStream {
		return text
	}
	var value map[string]any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Errorf("%s: %v", text, err)
		return text
	}
	choices, _ := value["choices"].([]any)
	for _, choice := range choices {
		for _, name := range []string{"message", "delta"} {
			message, _ := choice.(map[string]any)[name].(map[string]any)
			delete(message, "reasoning_content")
			if name == "delta" {
				delete(message, "annotations")
			}
		}
	}
	text, err := json.Marshal(value)
	if err != nil {
		t.Error(err)
	}
	return text
}

// checkRoutes fails if a client has not used one of the routes.
func (c *checker) checkRoutes(t *testing.T, routes []string) {
	t.Helper()
	c.Close() // all has been checked then
	for _, route := range routes {
		if !slices.Contains(c.seen, route) {
			t.Errorf("nothing came from %s", route)
		}
	}
}
