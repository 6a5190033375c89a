package policy_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/massgen/massgen/internal/coordination/policy"
)

// TestStepIsCutInLargeSteps: of sixty units of two messages and 100 bytes each, the
// first that is sent moves seldom and far.
func TestStepIsCutInLargeSteps(t *testing.T) {
	units := slices.Repeat([]policy.StepUnit{{Messages: 2, Bytes: 100}}, 60)
	settings := func(kind policy.Kind) policy.Settings {
		s := policy.Defaults()
		s.Kind = kind
		return s
	}
	for name, c := range map[string]struct {
		limits policy.StepLimits
		taken  int
		// moved are the calls before which more is left out, by how many units are then.
		moved  map[int]int
		noRoom bool
	}{
		"full, with a window that is not known": {limits: settings(policy.Full).StepLimits(0, 50, 0, 3)},
		// (1000 - 200 - 50) * 3 bytes are 22 units, half of it is 11.
		"full, in a small window": {settings(policy.Full).StepLimits(1000, 50, 200, 3), 0, map[int]int{23: 12, 35: 24, 47: 36, 59: 48}, true},
		"full, beside answers":    {settings(policy.Full).StepLimits(1000, 50, 200, 3), 1250, map[int]int{11: 6, 17: 12, 23: 18, 29: 24, 35: 30, 41: 36, 47: 42, 53: 48, 59: 54}, true},
		// A quarter of a window of which nobody says how much is written.
		"full, no output named": {settings(policy.Full).StepLimits(2000, 500, 0, 3), 0, map[int]int{31: 16, 47: 32}, true},
		"prune":                 {limits: settings(policy.Prune).StepLimits(0, 50, 0, 3), moved: map[int]int{26: 21, 47: 42}},
		"summarize":             {limits: settings(policy.Summarize).StepLimits(100_000, 50, 0, 3), moved: map[int]int{26: 21, 47: 42}},
		"prune in a small window": {
			limits: settings(policy.Prune).StepLimits(1000, 50, 200, 3), moved: map[int]int{23: 18, 41: 36, 59: 54}, noRoom: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			moved, before := map[int]int{}, policy.StepCut{}
			for n := range len(units) + 1 {
				cut := c.limits.Cut(units[:n], c.taken)
				if cut.Units != before.Units {
					moved[n] = cut.Units
				}
				before = cut
			}
			if c.moved == nil {
				c.moved = map[int]int{}
			}
			if diff := cmp.Diff(c.moved, moved); diff != "" || before.NoRoom != c.noRoom {
				t.Errorf("no room: %t; after so many units so many are left out (-want +got):\n%s", before.NoRoom, diff)
			}
		})
	}
	window := settings(policy.Window).StepLimits(0, 50, 0, 3)
	for n, want := range []int{0, 0, 0, 0, 3, 3, 3, 6} {
		if got := window.Cut(units[:n], 0).Units; got != want {
			t.Errorf("window leaves out %d of %d units, want %d", got, n, want)
		}
	}
}

func drawUnits(t *rapid.T) []policy.StepUnit {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) policy.StepUnit {
		u := policy.StepUnit{Messages: rapid.IntRange(1, 3).Draw(t, "messages"), Bytes: rapid.IntRange(0, 400).Draw(t, "bytes")}
		u.Carried = rapid.OneOf(rapid.Just(0), rapid.IntRange(0, u.Bytes)).Draw(t, "carried")
		return u
	}), 0, 40).Draw(t, "units")
}

// TestStepCut holds for every policy, window and step.
func TestStepCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		units, s := drawUnits(t), drawSettings(t)
		window := rapid.OneOf(rapid.Just(0), rapid.IntRange(1, 1000)).Draw(t, "window")
		taken := rapid.IntRange(0, 1000).Draw(t, "taken")
		l := s.StepLimits(window, rapid.IntRange(0, 300).Draw(t, "first"), rapid.IntRange(0, 600).Draw(t, "output"), 3)
		room := max(l.Bytes-taken, 1)
		before := policy.StepCut{}
		for n := range len(units) + 1 {
			cut := l.Cut(units[:n], taken)
			if diff := cmp.Diff(cut, l.Cut(units[:n], taken)); diff != "" {
				t.Fatalf("the second time it cuts otherwise:\n%s", diff)
			}
			if cut.Units < before.Units || cut.Units >= max(n, 1) || before.NoRoom && !cut.NoRoom {
				t.Fatalf("of %d units %d are left out, and of one less %d", n, cut.Units, before.Units)
			}
			messages, bytes, carried := 0, 0, lastCarried(units[:cut.Units])
			for _, u := range units[cut.Units:n] {
				messages, bytes = messages+u.Messages, bytes+u.Bytes
			}
			if bytes+carried != cut.Bytes {
				t.Fatalf("%d bytes are sent and %d carried, said to be %d", bytes, carried, cut.Bytes)
			}
			isOver := window > 0 && cut.Bytes > room || s.Kind != policy.Full && messages > l.Messages
			if isOver && cut.Units != n-1 {
				t.Fatalf("%d messages of %d bytes are sent, of %+v in a room of %d", messages, cut.Bytes, l, room)
			}
			isSmall := (window == 0 || cut.Bytes <= room/2) && (s.Kind == policy.Full || messages <= l.Keep)
			if cut.Units > before.Units && !isSmall && cut.Units != n-1 {
				t.Fatalf("of %d units %d are left out, and of one less %d: that is a small step", n, cut.Units, before.Units)
			}
			before = cut
		}
		if s.Kind == policy.Full && window == 0 && before.Units > 0 {
			t.Error("with no limit something is left out")
		}
	})
}

// lastCarried is what the last of the units carries that carries something.
func lastCarried(units []policy.StepUnit) int {
	for _, u := range slices.Backward(units) {
		if u.Carried > 0 {
			return u.Carried
		}
	}
	return 0
}
