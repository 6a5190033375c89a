package talk

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestInboxTakesMessagesOnce: in the order of their names. What is no message is removed with a warning, and a
// link leads nowhere.
func TestInboxTakesMessagesOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "inbox")
	b, err := openInbox(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.root.Close(); err != nil {
			t.Error(err)
		}
	}()
	secret := filepath.Join(t.TempDir(), "secret.json")
	for file, text := range map[string]string{
		filepath.Join(dir, "msg_2.json"):   `{"content": "second", "target_agents": ["a", "b"]}`,
		filepath.Join(dir, "msg_1.json"):   `{"content": "first", "source": "x"}`,
		filepath.Join(dir, "msg_3.json"):   `{"content": " "}`,
		filepath.Join(dir, "msg_4.json"):   `no JSON`,
		filepath.Join(dir, "msg_5.json"):   `{"content": "` + strings.Repeat("x", mostMessage) + `"}`,
		filepath.Join(dir, "other_1.json"): `{"content": "other"}`,
		secret:                             `{"content": "a secret"}`,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(secret, filepath.Join(dir, "msg_6.json")); err != nil {
		t.Fatal(err)
	}
	var warnings []string
	warn := func(text string) { warnings = append(warnings, text) }
	if got, want := b.take(warn), []string{"first", "For a, b: second"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if len(warnings) != 4 {
		t.Errorf("warnings: %q", warnings)
	}
	if got := b.take(warn); len(got) > 0 || len(warnings) != 4 {
		t.Errorf("a second time: %q, %q", got, warnings)
	}
	if _, err := os.Stat(secret); err != nil {
		t.Error(err)
	}
	if got := (*inbox)(nil).take(warn); got != nil {
		t.Errorf("without an inbox: %q", got)
	}
}

// TestInboxWarnsOnce of what it cannot remove.
func TestInboxWarnsOnce(t *testing.T) {
	dir := t.TempDir()
	b, err := openInbox(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "msg_1.json", "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	var warnings []string
	for range 2 {
		if got := b.take(func(text string) { warnings = append(warnings, text) }); len(got) > 0 {
			t.Errorf("%q", got)
		}
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "msg_1.json is not taken") {
		t.Errorf("warnings: %q", warnings)
	}
	if err := b.root.Close(); err != nil {
		t.Error(err)
	}
}
