//go:build linux && tmux

package app_test

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestFacesSayTheSame: plain lines, the log of --debug, sessions show and the full screen have the same sentences
// about the same turn. Two turns differ in their times, and in the order of what happens at once.
func TestFacesSayTheSame(t *testing.T) {
	x := openTmux(t, 200, 60, "")
	x.until("ready")
	x.keys("-l", "What is cheap?")
	x.keys("Enter")
	x.until("winner: cy.2")
	x.until("2 messages")
	x.keys("C-x")
	x.until("cy voted for")
	faces := map[string]string{"the full screen": x.shown()}
	run := func(arguments ...string) string {
		t.Helper()
		program := exec.Command("massgen", arguments...)
		program.Dir, program.Env = x.dir, append(program.Environ(), "HOME="+x.dir, "LOG_LEVEL=")
		out, err := program.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	logged, plain := []string{}, []string{}
	for line := range strings.Lines(run("--config", "panel.yaml", "--session-id", "s", "--debug", "What is cheap?")) {
		if strings.HasPrefix(line, "time=") {
			logged = append(logged, line)
		} else {
			plain = append(plain, line)
		}
	}
	faces["the log"], faces["plain lines"], faces["show"] = strings.Join(logged, ""), strings.Join(plain, ""), run("sessions", "show", "s")
	time := regexp.MustCompile(`\d+\.\d s`)
	sentence := regexp.MustCompile(`(ada|bob|cy) (answered|voted|presented)[^"\n]* tokens`)
	said := map[string][]string{}
	for face, text := range faces {
		said[face] = sentence.FindAllString(time.ReplaceAllLiteralString(text, "T s"), -1)
		slices.Sort(said[face])
	}
	if n := len(said["show"]); n < 6 {
		t.Fatalf("show has %d sentences:\n%s", n, faces["show"])
	}
	for face, list := range said {
		if !slices.Equal(list, said["show"]) {
			t.Errorf("%s says\n%s\nand show\n%s", face, strings.Join(list, "\n"), strings.Join(said["show"], "\n"))
		}
	}
}
