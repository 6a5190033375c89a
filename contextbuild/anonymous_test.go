package contextbuild

import (
	"fmt"
	"slices"
	"testing"
)

func TestAnonymousOrder(t *testing.T) {
	for _, ids := range [][]string{
		{},
		{"researcher"},
		{"analyst", "researcher"},
		{"agent1", "agent2", "agent10", "agent11"},
		{"a", "a1", "a1b", "a1b2", "a1b10", "a2", "a10", "ab"},
		{"0", "00", "01", "1", "9", "10", "a"},
		{"v1.2", "v1.10", "v1.10.0", "v2"},
		{"x18446744073709551616", "x18446744073709551617", "x100000000000000000000"},
		{"a01b2", "a1b3", "a01b4"},
		{"A", "B", "a", "\u00e9"},
		{"a/1", "a1", "a:1"},
	} {
		t.Run(fmt.Sprint(ids), func(t *testing.T) {
			given := slices.Concat(ids, ids)
			slices.Reverse(given)
			names := Anonymous(given)
			if len(names) != len(ids) {
				t.Fatalf("%d names for %d ids: %v", len(names), len(ids), names)
			}
			for i, id := range ids {
				if want := fmt.Sprintf("agent%d", i+1); names[id] != want {
					t.Errorf("%q is %q, want %q", id, names[id], want)
				}
			}
		})
	}
}
