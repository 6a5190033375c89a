package tui

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// runs types a command of the shell that prints "process" and its number, and returns that number.
func (r *rig) runs(command string) (process int) {
	r.t.Helper()
	r.write("!" + command)
	r.press("enter")
	if !r.shows("$ ") || !r.shows("… is running; Esc ends it") {
		r.t.Errorf("the command is not shown at once:\n%s", r.screen())
	}
	number := regexp.MustCompile(`(?m)^process (\d+)$`)
	r.until("the process says its number", func() bool { return number.MatchString(r.screen()) })
	process, err := strconv.Atoi(number.FindStringSubmatch(r.screen())[1])
	if err != nil {
		r.t.Fatal(err)
	}
	return process
}

// isGone reports whether a process has ended. One whose parent does not wait for it has, too.
func isGone(process int) bool {
	state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
	return err != nil || strings.Contains(string(state), ") Z ")
}

// awaitEnd waits until a process has ended that was killed.
func awaitEnd(t *testing.T, process int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !isGone(process); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %d does not end", process)
		}
	}
}

// TestShellCommandIsShownAndEnded by Esc or Ctrl+C, with what it has started, which ends neither a turn nor
// the program.
func TestShellCommandIsShownAndEnded(t *testing.T) {
	for key, command := range map[string]string{
		"esc": "echo process $$; exec tail -f /dev/null", "ctrl+c": "sh -c 'echo process $$; exec tail -f /dev/null'; echo on",
	} {
		t.Run(key, func(t *testing.T) {
			r := start(t, hangs, "What is cheap?")
			r.until("ada has answered", func() bool { return r.shows("ada ✓ answered") })
			process := r.runs(command)
			if !r.shows("a command is running: Esc ends it") {
				t.Errorf("the last line does not say what ends it:\n%s", r.screen())
			}
			r.press(key, key)
			r.until("it has ended", func() bool { return !r.s.shell.command.isRunning() })
			awaitEnd(t, process)
			if !r.shows("signal: terminated") || r.shows("is ending") {
				t.Errorf("its end is not shown:\n%s", r.screen())
			}
			if r.idle() || r.s.talk.running.ending {
				t.Errorf("the turn has ended with it:\n%s", r.screen())
			}
			r.press("esc")
			r.until("the turn is over", r.idle)
		})
	}
}

// TestEscForShellCommandDoesNotLeave: neither a late one, nor a second one for a command that ends
// slowly.
func TestEscForShellCommandDoesNotLeave(t *testing.T) {
	r := start(t, agrees, "")
	process := r.runs(`trap "" TERM; echo process $$; while :; do sleep 1; done`)
	r.press("esc")
	if !r.shows("… is ending") || r.s.leaving.key != "" {
		t.Errorf("it does not end:\n%s", r.screen())
	}
	if r.press("esc"); r.s.leaving.key != "" {
		t.Errorf("a second Esc counts for something else:\n%s", r.screen())
	}
	r.until("it has ended", func() bool { return !r.s.shell.command.isRunning() })
	awaitEnd(t, process)
	if !r.shows("signal: killed") {
		t.Errorf("its end is not shown:\n%s", r.screen())
	}
	r.s.shell.command.ended = time.Now() // however slow the machine is
	if r.press("esc"); r.s.leaving.key != "" {
		t.Errorf("a key that came too late counts:\n%s", r.screen())
	}
}

// TestShellCommandRunsAlone: another one is refused, and the output of the first is still shown in a session
// that is opened meanwhile.
func TestShellCommandRunsAlone(t *testing.T) {
	r := start(t, agrees, "")
	process := r.runs("echo process $$; exec tail -f /dev/null")
	r.write("!echo two")
	r.press("enter")
	if !r.shows("a command runs: Esc ends it first") {
		t.Errorf("a second command is not refused:\n%s", r.screen())
	}
	r.write("/session s2")
	r.press("enter")
	r.until("s2 is open", func() bool { return r.shows("Why the sun?") && r.shows("It shines.") })
	if r.shows("process") {
		t.Errorf("the output of another session is shown:\n%s", r.screen())
	}
	r.press("esc")
	r.until("its end is shown", func() bool { return r.shows("signal: terminated") })
	awaitEnd(t, process)
	if !r.shows("ran /session s2") || !r.shows("process ") || r.shows("\ntwo") {
		t.Errorf("its output is not shown below the session:\n%s", r.screen())
	}
}

// TestShellCommandEndsBeforeItsChildren: what it leaves in the background ends with it, and what has left
// its process group is not waited for. Both hold its output open.
func TestShellCommandEndsBeforeItsChildren(t *testing.T) {
	r := start(t, agrees, "")
	background := r.runs("tail -f /dev/null & echo process $!")
	r.until("it has ended", func() bool { return !r.s.shell.command.isRunning() })
	awaitEnd(t, background)
	r.s.transcript.clear()
	apart := r.runs("setsid tail -f /dev/null & echo process $!; until [ \"$(ps -o sid= $! | tr -d ' ')\" = $! ]; do :; done")
	t.Cleanup(func() { _ = syscall.Kill(apart, syscall.SIGKILL) })
	r.until("it has ended", func() bool { return !r.s.shell.command.isRunning() })
	if isGone(apart) || r.s.shell.command.failed != nil {
		t.Errorf("it was waited for, or %v is an error", r.s.shell.command.failed)
	}
}

// TestShellOutputIsBounded while it is read: its beginning is kept, and the rest is counted.
func TestShellOutputIsBounded(t *testing.T) {
	r := start(t, agrees, "")
	r.write("!yes")
	r.press("enter")
	r.until("the rest is counted", func() bool { return r.shows("bytes more") })
	r.press("esc")
	r.until("it has ended", func() bool { return !r.s.shell.command.isRunning() })
	o := &r.s.shell.command.output
	if len(o.kept) != mostOutput || cap(o.kept) > 2*mostOutput || o.rest == 0 {
		t.Errorf("%d bytes are kept in %d, and %d counted", len(o.kept), cap(o.kept), o.rest)
	}
	if context := r.s.entry.context; !strings.HasPrefix(context, "\n\n$ yes\ny\ny\n") || !strings.HasSuffix(context, " bytes more\nsignal: terminated") {
		t.Errorf("the next question has %q…%q", context[:20], context[len(context)-60:])
	}
}

// TestShellCommandEndsWithTheScreen, which waits for it.
func TestShellCommandEndsWithTheScreen(t *testing.T) {
	process := 0
	t.Run("screen", func(t *testing.T) { process = start(t, agrees, "").runs("echo process $$; exec tail -f /dev/null") })
	if !isGone(process) {
		t.Errorf("process %d is there", process)
	}
}
