package server_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestPageIsOpenAndClosed: anybody gets the page, which asks for a token itself, and nothing in it
// runs or is loaded but its own files.
func TestPageIsOpenAndClosed(t *testing.T) {
	s := serve(t, ofTwo)
	for path, kind := range map[string]string{"/": "text/html", "/page.js": "text/javascript", "/turn.js": "text/javascript", "/page.css": "text/css", "/icon.svg": "image/svg+xml"} {
		r := s.send(t, http.MethodGet, path, "")
		policy := r.header.Get("Content-Security-Policy")
		if r.status != http.StatusOK || !strings.HasPrefix(r.header.Get("Content-Type"), kind) {
			t.Errorf("%s has status %d and is %s", path, r.status, r.header.Get("Content-Type"))
		}
		if !strings.HasPrefix(policy, "default-src 'none'; script-src 'self'; style-src 'self';") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s has the policy %s", path, policy)
		}
		if strings.Contains(strings.ReplaceAll(r.body, `xmlns="http://www.w3.org/2000/svg"`, ""), "://") {
			t.Errorf("%s names another host", path)
		}
	}
	page := s.send(t, http.MethodGet, "/", "").body
	for _, inline := range []string{"<style", " style=", " onclick=", "javascript:", "<script>"} {
		if strings.Contains(page, inline) {
			t.Errorf("the page has %s in it", inline)
		}
	}
	for _, path := range []string{"/page.js", "/turn.js"} {
		if script := s.send(t, http.MethodGet, path, "").body; strings.Contains(script, "innerHTML") || strings.Contains(script, "insertAdjacentHTML") {
			t.Errorf("%s makes markup of texts", path)
		}
	}
	for _, path := range []string{"/page/", "/page/page.html", "/page.html", "/..%2fpage.js"} {
		if r := s.do(t, http.MethodGet, path, "", bearer(adasToken)); r.status != http.StatusNotFound {
			t.Errorf("%s has status %d", path, r.status)
		}
	}
}
