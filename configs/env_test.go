package configs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/joho/godotenv"
	"pgregory.net/rapid"
)

// TestDotEnvSkipsUnreadableLines: massgen reads the other lines, and its warning quotes nothing of the file.
func TestDotEnvSkipsUnreadableLines(t *testing.T) {
	const rest = "; a name has letters, digits and _, and a quote needs its end"
	for _, c := range []struct{ env, unread string }{
		{"A_KEY=1\nDEBUG\nB_KEY=2\n", "line 2 is not NAME=value and was skipped"},
		{"DEBUG\r\n# sk-secret\r\nA_KEY=1\r\nB_KEY=2\r\nsk-secret=1", "lines 1, 5 are not NAME=value and were skipped"},
		{"A_KEY=1 # it's\nB_KEY=\"2\" # \"\nC_KEY='sk-secret\n", "line 3 is not NAME=value and was skipped"},
		{"C_KEY=\"of two\nlines\"\nDEBUG\nA_KEY=1\nB_KEY=2", "line 3 is not NAME=value and was skipped"},
		{"a\nb\nc\nd\ne\nf\ng\nA_KEY=1\nB_KEY=2", "lines 1, 2, 3, 4, 5 and 2 others are not NAME=value and were skipped"},
		{"export A_KEY=1\n\n\tB_KEY: 2", ""},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, ".env")
		if err := os.WriteFile(path, []byte(c.env), 0o600); err != nil {
			t.Fatal(err)
		}
		want := c.unread
		if want != "" {
			want = path + ": " + want + rest
		}
		lookup, _, unread := WithDotEnv(dir, lookupIn(nil))
		if unread != want {
			t.Errorf("%q: got %q, want %q", c.env, unread, want)
		}
		for name, want := range map[string]string{"A_KEY": "1", "B_KEY": "2"} {
			if got, _ := lookup(name); got != want {
				t.Errorf("%q: %s is %q", c.env, name, got)
			}
		}
	}
}

// TestDotEnvOfWindows reads a file in UTF-16, as PowerShell writes it, and keys beside a comment in another
// code page.
func TestDotEnvOfWindows(t *testing.T) {
	for name, data := range map[string]string{
		"UTF-16":       "\xff\xfeA\x00_\x00K\x00E\x00Y\x00=\x001\x00\r\x00\n\x00",
		"UTF-16BE":     "\xfe\xff\x00A\x00_\x00K\x00E\x00Y\x00=\x001\x00\n",
		"Windows-1252": "# cl\xe9\r\nA_KEY=1\r\n",
		"blanks":       "  A_KEY = 1  \r\n",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, ".env"), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		lookup, _, unread := WithDotEnv(dir, lookupIn(nil))
		if got, _ := lookup("A_KEY"); got != "1" || unread != "" {
			t.Errorf("%s: A_KEY is %q, %s", name, got, unread)
		}
	}
}

// TestConfigsInOtherEncodings reads UTF-16, and names what it does not read.
func TestConfigsInOtherEncodings(t *testing.T) {
	const config = "agent: {id: a, backend: {type: demo}}\n"
	var wide strings.Builder
	for _, c := range config {
		wide.WriteString(string(c) + "\x00")
	}
	for data, want := range map[string]string{
		"\ufeff" + config:               "",
		"\xff\xfe" + wide.String():      "",
		wide.String():                   "",
		"# \xc4\xe3\xba\xc3\n" + config: "c.yaml: it is not in UTF-8 and looks like GB18030: convert it, as with iconv -f GB18030 -t UTF-8",
	} {
		_, err := Parse("c.yaml", []byte(data), Options{})
		if (err != nil) != (want != "") || err != nil && err.Error() != want {
			t.Errorf("%q: got %v, want %q", data, err, want)
		}
	}
}

// TestDotEnvThatIsNoFile: a folder is ignored, and of a file that is too large no key is taken.
func TestDotEnvThatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, ".env")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, others, unread := WithDotEnv(dir, lookupIn(nil)); others != nil || unread != "" {
		t.Errorf("of a folder: %q, %q", others, unread)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("A_KEY="+strings.Repeat("x", mostBytes)), 0o600); err != nil {
		t.Fatal(err)
	}
	lookup, _, unread := WithDotEnv(dir, lookupIn(map[string]string{"B_KEY": "1"}))
	if !strings.HasSuffix(unread, "has more than 1048576 bytes (1 MiB), the most that is read; no key is taken from it") {
		t.Errorf("of a large file: %q", unread)
	}
	if got, _ := lookup("B_KEY"); got != "1" {
		t.Errorf("B_KEY is %q", got)
	}
}

// TestAssignmentsAsGodotenv: what is left of any text can be read, and of a text that can be read all is left.
func TestAssignmentsAsGodotenv(t *testing.T) {
	pieces := rapid.SampledFrom([]string{"A", "KEY", "=", ":", "\n", "\r\n", "\r", " ", "\t", "#", "'", `"`, `\`, "-", "export ", "\u00a0", "é", "\xff", "$A"})
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(strings.Join(rapid.SliceOfN(pieces, 0, 40).Draw(t, "pieces"), ""))
		left, skipped := assignments(slices.Clone(text))
		if _, err := godotenv.UnmarshalBytes(left); err != nil {
			t.Fatalf("%q of %q: %v", left, text, err)
		}
		ended := append(text, '\n') // at the end of a file godotenv reads a name alone
		if _, err := godotenv.UnmarshalBytes(ended); err == nil && len(skipped) > 0 {
			t.Fatalf("lines %v of %q were skipped", skipped, text)
		}
	})
}
