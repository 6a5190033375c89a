package cmdline

import "testing"

func TestAnEmptyNoColorAllowsColours(t *testing.T) {
	for value, want := range map[string]bool{"": true, "1": false, "0": false} {
		env := &Env{Lookup: func(string) (string, bool) { return value, true }}
		if env.WantsColour() != want {
			t.Errorf("NO_COLOR=%q: colours %t", value, !want)
		}
	}
}
