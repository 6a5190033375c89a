//go:build mcpservers

package mcpservers

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/massgen/massgen/internal/tools/mcp"
)

// TestSearXNG has an agent search with the server that docs/web_search.md names, at a SearXNG of the
// test's own.
func TestSearXNG(t *testing.T) {
	t.Parallel()
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/search" || r.FormValue("format") != "json" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		err := json.NewEncoder(w).Encode(map[string]any{
			"query": r.FormValue("q"), "number_of_results": 1,
			"results": []map[string]any{{
				"title": "About " + r.FormValue("q"), "url": "https://tides.example/a", "content": "The moon pulls.", "engine": "test", "score": 1,
			}},
		})
		if err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(engine.Close)
	c := connect(t, mcp.Server{
		Name: "searxng", Command: "node", Args: []string{installed(t, "..", "mcp-searxng", "dist", "cli.js")},
		Env: map[string]string{"SEARXNG_URL": engine.URL},
	})
	const search = "mcp__searxng__searxng_web_search"
	mustHave(t, c, search)
	check(t, run(t, c, nil, toolCalls{calling(search, `{"query":"tides"}`)}), "https://tides.example/a")
}
