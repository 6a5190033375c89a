package server_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/massgen/massgen/cmd/massgen/server"
)

// TestPageIsSmall: who reads the page's own source reads under 1,240 lines of at most 140 characters.
func TestPageIsSmall(t *testing.T) {
	files, err := filepath.Glob("page/*.*")
	if err != nil || len(files) < 6 {
		t.Fatalf("the page has the files %v, %v", files, err)
	}
	total := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			total++
			if n := utf8.RuneCount(bytes.TrimRight(line, "\n")); n > 140 && filepath.Ext(file) != ".svg" {
				t.Errorf("%s has a line of %d characters: %s", file, n, line)
			}
		}
	}
	if total >= 1240 {
		t.Errorf("the page has %d lines", total)
	}
}

// TestPageIsOpenAndClosed: anybody gets the page, which asks for a token itself, and nothing in it
// runs or is loaded but its own files.
func TestPageIsOpenAndClosed(t *testing.T) {
	s := serve(t, ofTwo)
	scripts := []string{"/page.js", "/turn.js", "/base.js", "/markdown.js", "/state.js", "/vendor/markdown-it.js"}
	files := map[string]string{"/": "text/html", "/page.css": "text/css", "/icon.svg": "image/svg+xml"}
	for _, path := range scripts {
		files[path] = "text/javascript"
	}
	for path, kind := range files {
		r := s.send(t, http.MethodGet, path, "")
		policy := r.header.Get("Content-Security-Policy")
		if r.status != http.StatusOK || !strings.HasPrefix(r.header.Get("Content-Type"), kind) {
			t.Errorf("%s has status %d and is %s", path, r.status, r.header.Get("Content-Type"))
		}
		if !strings.HasPrefix(policy, "default-src 'none'; script-src 'self'; style-src 'self';") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s has the policy %s", path, policy)
		}
		isOwn := !strings.HasPrefix(path, "/vendor/")
		if isOwn && strings.Contains(strings.ReplaceAll(r.body, `xmlns="http://www.w3.org/2000/svg"`, ""), "://") {
			t.Errorf("%s names another host", path)
		}
	}
	page := s.send(t, http.MethodGet, "/", "").body
	for _, inline := range []string{"<style", " style=", " onclick=", "javascript:", "<script>"} {
		if strings.Contains(page, inline) {
			t.Errorf("the page has %s in it", inline)
		}
	}
	for _, path := range scripts {
		if script := s.send(t, http.MethodGet, path, "").body; strings.Contains(script, "innerHTML") || strings.Contains(script, "insertAdjacentHTML") {
			t.Errorf("%s makes markup of texts", path)
		}
	}
	for _, path := range []string{"/page/", "/page/page.html", "/page.html", "/..%2fpage.js", "/vendor/", "/vendor/LICENSES.txt"} {
		if r := s.do(t, http.MethodGet, path, "", bearer(adasToken)); r.status != http.StatusNotFound {
			t.Errorf("%s has status %d", path, r.status)
		}
	}
}

// TestPageKeyLetsThePageDelete on a server without tokens, where all others still may ask.
func TestPageKeyLetsThePageDelete(t *testing.T) {
	g := gated{make(chan struct{})}
	close(g.gate)
	for key, status := range map[string]int{"the-key-of-the-page": http.StatusNoContent, "another": http.StatusUnauthorized, "": http.StatusUnauthorized} {
		s := serve(t, func(s *server.Settings) {
			withGate(g)(s)
			s.Access.PageKey = "the-key-of-the-page"
		})
		s.ask(t, "s", "alone")
		if r := s.do(t, http.MethodDelete, "/sessions/s", "", bearer(key)); r.status != status {
			t.Errorf("with the key %q: status %d: %s", key, r.status, r.body)
		}
	}
	s := serve(t, withGate(g)) // without a key
	s.ask(t, "s", "alone")
	refused(t, "an empty key", s.do(t, http.MethodDelete, "/sessions/s", "", bearer("")), http.StatusUnauthorized, "token_needed")
}

// TestRunningSessionHasATitle before its first answer gives it one, and without an answer too.
func TestRunningSessionHasATitle(t *testing.T) {
	s := serve(t, withGate(gated{make(chan struct{})}))
	path := s.start(t, "s", "alone")
	check := func(when string) {
		t.Helper()
		list := decode[listed](t, s.send(t, http.MethodGet, "/sessions", "").body).Sessions
		one := s.send(t, http.MethodGet, "/sessions/s", "").body
		if list[0].Title != "What is Go?" || !strings.Contains(one, `"title":"What is Go?"`) {
			t.Errorf("%s: the titles are %+v, %s", when, list, one)
		}
	}
	s.events(t, path, "", func(e event) bool { return strings.Contains(e.data, `"kind":"text"`) })
	check("while the turn runs")
	s.send(t, http.MethodPost, path+"/cancel", "")
	s.events(t, path, "", func(e event) bool { return e.name == "end" })
	check("without an answer")
	if found := decode[listed](t, s.send(t, http.MethodGet, "/sessions?q=go", "").body).Hits; found[0].Title != "What is Go?" {
		t.Errorf("a search finds %+v", found)
	}
}
