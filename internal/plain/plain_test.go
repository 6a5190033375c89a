package plain_test

import (
	"testing"

	"github.com/massgen/massgen/internal/plain"
)

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := plain.Thousands(n); got != want {
			t.Errorf("%d: got %s", n, got)
		}
	}
}

func TestCut(t *testing.T) {
	for text, want := range map[string]string{"": "", "äöü": "äöü", "äöüß": "äöü…"} {
		if got := plain.Cut(text, 3); got != want {
			t.Errorf("%s: got %s", text, got)
		}
	}
}
