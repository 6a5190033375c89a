package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRunCheck(t *testing.T) {
	from := t.TempDir()
	must(t, os.WriteFile(filepath.Join(from, "file"), []byte("kept"), 0o444))
	must(t, os.Chmod(from, 0o555)) // as in a snapshot
	for name, c := range map[string]struct {
		argv   []string
		from   string
		answer string
		exit   int
		output string
	}{
		"the answer is standard input": {[]string{"sh", "-c", "grep -c 42"}, "", "it is 42\n", 0, "1\n"},
		"a status fails":               {[]string{"sh", "-c", "echo no; exit 3"}, "", "", 3, "no\n"},
		"a copy may be changed":        {[]string{"sh", "-c", "cat file && echo other > file && cat file"}, from, "", 0, "keptother\n"},
		"the folder is empty":          {[]string{"sh", "-c", "ls -A | wc -l"}, "", "", 0, "0\n"},
		"it cannot read elsewhere":     {[]string{"sh", "-c", "cat " + from + "/file 2>/dev/null"}, "", "", 1, ""},
		"a signal fails":               {[]string{"sh", "-c", "kill -9 $$"}, "", "", 137, "\nit was ended by SIGKILL"},
	} {
		exit, output, err := RunCheck(t.Context(), c.argv, c.from, c.answer, time.Minute)
		if err != nil || exit != c.exit || output != c.output {
			t.Errorf("%s: it ends with %d, %q and %v", name, exit, output, err)
		}
	}
	if data, err := os.ReadFile(filepath.Join(from, "file")); err != nil || string(data) != "kept" {
		t.Errorf("the check changed the original: %q, %v", data, err)
	}
	exit, output, err := RunCheck(t.Context(), []string{"sleep", "60"}, "", "", 50*time.Millisecond)
	if err != nil || exit != noExit || !strings.Contains(output, "it was ended after 50ms") {
		t.Errorf("it ends with %d, %q and %v", exit, output, err)
	}
	if _, _, err := RunCheck(t.Context(), []string{"no-such-program"}, "", "", 0); err == nil || !strings.Contains(err.Error(), "there is no program no-such-program here") {
		t.Errorf("a missing program: %v", err)
	}
}
