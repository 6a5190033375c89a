package sessions

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseStableID(t *testing.T) {
	for id, want := range map[string]*StableID{
		"Dan|fractional_abc123|role:cfo":       {"Dan", "fractional", "abc123", map[string]string{"role": "cfo"}},
		"Sarah|lostlondon_xyz789|topic:tyburn": {"Sarah", "lostlondon", "xyz789", map[string]string{"topic": "tyburn"}},
		"Ann|app_user_1|a:b:c|page:":           {"Ann", "app", "user_1", map[string]string{"a": "b:c", "page": ""}},
		"Ann|app_1":                            {"Ann", "app", "1", map[string]string{}},
		"default":                              nil,
		"20260101-000000-abcdef":               nil,
		"|app_1":                               nil,
		"Ann|app":                              nil,
		"Ann|_1":                               nil,
		"Ann|app_":                             nil,
		"Ann|app_1|role":                       nil,
		"Ann|app_1|:cfo":                       nil,
		"Ann|app_1|":                           nil,
		"":                                     nil,
		"a pipe | in a title that _ names nobody": {"a pipe ", " in a title that ", " names nobody", map[string]string{}},
	} {
		got, ok := ParseStableID(id)
		if ok != (want != nil) {
			t.Errorf("%q: %+v, %t", id, got, ok)
		} else if ok {
			if diff := cmp.Diff(*want, got); diff != "" {
				t.Errorf("%q (-want +got):\n%s", id, diff)
			}
		}
	}
}

// TestUserKey: sessions of one user of one application share what is known of them.
func TestUserKey(t *testing.T) {
	if a, b := UserKey("Dan|app_1|role:cfo"), UserKey("Daniel|app_1|page:jobs"); a != b || a != "app_1" {
		t.Errorf("one user is %q and %q", a, b)
	}
	if UserKey("default") != "default" {
		t.Error("a plain id is not its own key")
	}
}

func TestCheckID(t *testing.T) {
	for _, id := range []string{"default", "Dan|fractional_abc123|role:cfo", "über morgen", strings.Repeat("x", LongestID)} {
		if err := CheckID(id); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
	for _, id := range []string{"", " a", "a\n", "a\nb", "-a", "\xff", strings.Repeat("x", LongestID+1), "a\x1b[2Jb"} {
		if err := CheckID(id); err == nil {
			t.Errorf("%q is taken", id)
		} else if strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%q: the error shows it raw: %s", id, err)
		}
	}
}
