package app_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"
)

// The verbs is, line, has and golden compare text by value. FILE is a file, or
// stdout, stderr or ttyout of the last command. Values that differ from run to
// run are masked in it: a script writes $WORK and the names of the masks.

var updateGoldens = flag.Bool("update", false, "write the files that golden compares anew")

// masks lists what is masked, beside the path of the script's folder. The order
// matters: the id of a session begins like a date.
var masks = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`\b20[0-9]{6}-[0-9]{6}-[a-z2-7]{6}\b`), "SESSION"},
	{regexp.MustCompile(`\b20[0-9]{2}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?(Z|[+-][0-9]{2}:[0-9]{2})?`), "DATE"},
	{regexp.MustCompile(`\b127\.0\.0\.1:[0-9]{4,5}\b`), "127.0.0.1:PORT"}, // port 1, where nobody answers, stays
	{regexp.MustCompile(`\b[0-9]+\.[0-9]+ s\b`), "T s"},
}

// textOf returns the masked text of a file. Of a terminal it is what is read there.
func textOf(ts *testscript.TestScript, file string) string {
	text := ts.ReadFile(file)
	if file == "ttyout" {
		text = plain(text)
	}
	text = strings.ReplaceAll(text, ts.Getenv("WORK"), "$WORK")
	for _, m := range masks {
		text = m.pattern.ReplaceAllLiteralString(text, m.name)
	}
	return text
}

// is FILE LINE… checks that the whole text is these lines. With one empty LINE it
// checks that there is no text.
func cmdIs(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: is FILE LINE…")
	}
	want := strings.Join(args[1:], "\n")
	if got := textOf(ts, args[0]); got != want && (want == "" || got != want+"\n") {
		ts.Fatalf("%s is\n%s\nwant\n%s", args[0], got, want)
	}
}

// line [-count=N] FILE LINE… checks that the text has this line once, or N times.
// Of several lines, one must follow the other.
func cmdLine(ts *testscript.TestScript, neg bool, args []string) {
	count, args := countOf(ts, args)
	if neg || len(args) < 2 {
		ts.Fatalf("usage: line [-count=N] FILE LINE…; absence is checked by: ! has FILE TEXT")
	}
	got, want, n := textOf(ts, args[0]), args[1:], 0
	lines := strings.Split(got, "\n")
	for i := range len(lines) - len(want) + 1 {
		if slices.Equal(lines[i:i+len(want)], want) {
			n++
		}
	}
	if n != max(count, 1) {
		ts.Fatalf("%d times, want %d:\n%s\nin %s:\n%s", n, max(count, 1), strings.Join(want, "\n"), args[0], got)
	}
}

// has [-count=N] FILE TEXT checks that a text is in the file, or N times. ! has FILE
// TEXT checks that it is not, with and without masks.
func cmdHas(ts *testscript.TestScript, neg bool, args []string) {
	count, args := countOf(ts, args)
	if len(args) != 2 || args[1] == "" || neg && count > 0 {
		ts.Fatalf("usage: has [-count=N] FILE TEXT")
	}
	raw := ts.ReadFile(args[0])
	got := textOf(ts, args[0])
	n := strings.Count(got, args[1])
	switch {
	case neg && (n > 0 || strings.Contains(raw, args[1])):
		ts.Fatalf("%s has %q:\n%s", args[0], args[1], raw)
	case neg, count == 0 && n > 0, count > 0 && n == count:
	default:
		ts.Fatalf("%s has %q %d times:\n%s", args[0], args[1], n, got)
	}
}

func countOf(ts *testscript.TestScript, args []string) (int, []string) {
	if len(args) == 0 {
		return 0, nil
	}
	digits, ok := strings.CutPrefix(args[0], "-count=")
	if !ok {
		return 0, args
	}
	n, err := strconv.Atoi(digits)
	ts.Check(err)
	if n < 1 {
		ts.Fatalf("-count=%d: it is at least 1", n)
	}
	return n, args[1:]
}

// golden FILE WANT compares the whole text with the script's file WANT. The flag -update
// of go test writes that file.
func cmdGolden(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: golden FILE WANT")
	}
	got, want := textOf(ts, args[0]), ts.ReadFile(args[1])
	switch {
	case got == want:
	case *updateGoldens:
		ts.Check(updateGolden(filepath.Join(scripts, ts.Name()+".txtar"), args[1], got))
	default:
		ts.Fatalf("%s is\n%s\nwant, as in %s,\n%s", args[0], got, args[1], want)
	}
}

// updateGolden gives a file of an archive another text.
func updateGolden(script, name, text string) error {
	archive, err := txtar.ParseFile(script)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 || txtar.NeedsQuote([]byte(text)) {
		return fmt.Errorf("%s cannot hold %s: it has no file of that name, or the text has a line of an archive", script, name)
	}
	archive.Files[i].Data = []byte(text)
	return os.WriteFile(script, txtar.Format(archive), 0o644)
}
