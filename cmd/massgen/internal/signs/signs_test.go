package signs_test

import (
	"testing"

	"github.com/massgen/massgen/cmd/massgen/internal/signs"
)

// TestEachPlaceHasItsSign, the same after eight agents, and none for nobody.
func TestEachPlaceHasItsSign(t *testing.T) {
	seen := map[string]bool{}
	for place := range 8 {
		if signs.Of(place) != signs.Of(place+8) || signs.Colour(place) != signs.Colour(place+8) {
			t.Errorf("place %d differs from place %d", place, place+8)
		}
		look := signs.Of(place) + signs.Colour(place).Code()
		if seen[signs.Of(place)] || seen[signs.Colour(place).Code()] {
			t.Errorf("place %d looks like another one: %s", place, look)
		}
		seen[signs.Of(place)], seen[signs.Colour(place).Code()] = true, true
	}
	for _, test := range []struct{ got, want string }{
		{signs.Signed(1, "bob", false), "▲ bob"}, {signs.Signed(0, "ada", true), "\x1b[38;5;30m● ada\x1b[m"}, {signs.Signed(-1, "judge", true), "judge"}, {signs.Of(-1), ""},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
}
