package tui

import (
	"bytes"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// FuzzGuard: the library reads whatever comes through the guard, in pieces of any size, and keys
// and texts come through as they are.
func FuzzGuard(f *testing.F) {
	for _, keys := range []string{
		"\x1b[" + strings.Repeat("9;", 150) + "m", "\x9b" + strings.Repeat("1:", 99) + "u", "\x1bP" + strings.Repeat(";", 40) + "q\x1b\\",
		"\x1b[<35;80;24M", "\x1b[200~pasted\x1b[201~", "日本語", "\xff\xfe", "\x1b[" + strings.Repeat("9", 500) + "_",
	} {
		f.Add(keys, 3)
	}
	f.Fuzz(func(t *testing.T, keys string, size int) {
		size = 1 + (size%64+64)%64
		var g guard
		var all []byte
		for rest := []byte(keys); len(rest) > 0; {
			n := min(size, len(rest))
			all = append(all, g.filter(bytes.Clone(rest[:n]))...)
			rest = rest[n:]
		}
		if len(keys) < mostParameters && string(all) != keys {
			t.Errorf("%q came through as %q", keys, all)
		}
		decode(all)
	})
}

// decode reads keys as the library does.
func decode(keys []byte) {
	p := ansi.GetParser()
	defer ansi.PutParser(p)
	var state byte
	for len(keys) > 0 {
		_, _, n, next := ansi.DecodeSequence(keys, state, p)
		keys, state = keys[max(n, 1):], next
	}
}
