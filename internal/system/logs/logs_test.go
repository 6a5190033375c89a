package logs_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/massgen/massgen/internal/system/logs"
)

// TestNoSecretInAnyLine: messages, texts, errors, groups and attributes of a logger are masked in both formats.
func TestNoSecretInAnyLine(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"", logs.Text, logs.JSON} {
		var out bytes.Buffer
		log, err := logs.New(&out, format, slog.LevelInfo, func(s string) string { return strings.ReplaceAll(s, "sk-1", "***") })
		if err != nil {
			t.Fatal(err)
		}
		log.With("key", "sk-1").WithGroup("g").Info("sk-1", logs.Error, errors.New("bad sk-1"), "any", []string{"sk-1"}, slog.Group("in", "key", "sk-1"), "none", nil)
		if strings.Contains(out.String(), "sk-1") || strings.Count(out.String(), "***") != 5 {
			t.Errorf("%s: %s", format, out.String())
		}
	}
	if _, err := logs.New(nil, "xml", slog.LevelInfo, nil); err == nil || !strings.Contains(err.Error(), "neither text nor json") {
		t.Error(err)
	}
	if _, err := logs.Level("loud"); err == nil {
		t.Error("loud is a level")
	}
}

// TestDurations are seconds in JSON, and have a unit in text.
func TestDurations(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{logs.JSON: `"took":51.107,"in":{"away":0.25}}`, logs.Text: `took=51.107s in.away=250ms`} {
		var out bytes.Buffer
		log, err := logs.New(&out, format, slog.LevelInfo, func(s string) string { return s })
		if err != nil {
			t.Fatal(err)
		}
		log.Info("x", logs.Took, 51107*time.Millisecond, slog.Group("in", logs.Away, time.Second/4))
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: %s", format, out.String())
		}
	}
}
