package server

import (
	"embed"
	"net/http"
)

// pageFiles are the files of the web page. It has no build step: browsers get these files.
//
//go:embed page/*.html page/*.css page/*.js page/*.svg page/vendor/*.js
var pageFiles embed.FS

// pagePolicy lets the page have its own files and talk to this server, and nothing else.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// pagePaths returns the files of the page by the patterns of their routes.
func pagePaths() map[string]string {
	return map[string]string{
		"GET /{$}": "page.html", "GET /page.css": "page.css", "GET /icon.svg": "icon.svg", "GET /page.js": "page.js", "GET /base.js": "base.js",
		"GET /markdown.js": "markdown.js", "GET /state.js": "state.js", "GET /turn.js": "turn.js", "GET /vendor/markdown-it.js": "vendor/markdown-it.js",
	}
}

// routePage offers the page at the root.
func routePage(mux *http.ServeMux) {
	for pattern, file := range pagePaths() {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Security-Policy", pagePolicy)
			w.Header().Set("Cache-Control", "no-cache")
			http.ServeFileFS(w, r, pageFiles, "page/"+file)
		})
	}
}
