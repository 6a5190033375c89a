package server

import (
	"embed"
	"net/http"
)

// pageFiles are the files of the web page. It has no build step: browsers get these files.
//
//go:embed page/page.html page/page.css page/page.js page/turn.js page/icon.svg
var pageFiles embed.FS

// pagePolicy lets the page have its own files and talk to this server, and nothing else.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// routePage offers the page at the root.
func routePage(mux *http.ServeMux) {
	for path, file := range map[string]string{
		"/{$}": "page.html", "/page.css": "page.css", "/page.js": "page.js", "/turn.js": "turn.js", "/icon.svg": "icon.svg",
	} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Security-Policy", pagePolicy)
			w.Header().Set("Cache-Control", "no-cache")
			http.ServeFileFS(w, r, pageFiles, "page/"+file)
		})
	}
}
