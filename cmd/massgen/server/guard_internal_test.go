package server

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestSomeThingsNeedATokenHere too, where programs of this machine need none.
func TestSomeThingsNeedATokenHere(t *testing.T) {
	respond := responder{log: slog.New(slog.DiscardHandler), redact: func(text string) string { return text }}
	done := 0
	do := respond.needsToken(func(http.ResponseWriter, *http.Request) { done++ })
	for _, c := range []caller{{}, {name: "ada", hasToken: true}} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(context.WithValue(t.Context(), callerKey{}, c), http.MethodDelete, "/", http.NoBody)
		do(w, r)
		if isRefused := w.Code == http.StatusUnauthorized && w.Header().Get("WWW-Authenticate") != ""; isRefused == c.hasToken {
			t.Errorf("%+v: status %d, %s", c, w.Code, w.Body)
		}
	}
	if done != 1 {
		t.Errorf("done %d times", done)
	}
}

func TestListsAreTheCallers(t *testing.T) {
	for want, c := range map[string]caller{"": {name: "ada", hasToken: true}, "ada": {name: "ada", hasToken: true, owns: true}} {
		ctx := context.WithValue(t.Context(), callerKey{}, c)
		if got := ownFilter(ctx); got["user"] != want || (want == "") != (len(got) == 0) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
