package server_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/cmd/massgen/server"
	"github.com/massgen/massgen/internal/storage/store"
)

// TestReadinessIsToldInTime: a panel that opens slowly holds no answer back, and is opened once.
func TestReadinessIsToldInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opened, opens := make(chan struct{}), 0
		same := func(text string) string { return text }
		s := server.New(server.Settings{
			Models: []server.Model{{ID: "slow", Open: func(context.Context) (*massgen.Panel, error) {
				opens++
				<-opened
				return nil, errors.New("it does not open")
			}}},
			Store: store.InMemory("", same).Sessions, Redact: same, Log: slog.New(slog.DiscardHandler),
		})
		ask := func() (int, string) {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost/readyz", nil))
			return w.Code, w.Body.String()
		}
		for range 2 {
			if status, text := ask(); status != http.StatusServiceUnavailable || text != "the panels are still being opened\n" {
				t.Errorf("%d %s", status, text)
			}
		}
		close(opened)
		synctest.Wait()
		if status, text := ask(); status != http.StatusServiceUnavailable || text != "0 of 1 models can be asked\n" || opens != 1 {
			t.Errorf("%d %s after %d opens", status, text, opens)
		}
	})
}
