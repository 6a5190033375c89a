//go:build linux && tmux

package app_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// tmux is a terminal in which the program runs.
type tmux struct {
	t      *testing.T
	socket string
	dir    string // the program's folder, which is its user's, too
}

// threeDemos is a panel of canned answers.
const threeDemos = "agents: [{id: ada, backend: {type: demo}}, {id: bob, backend: {type: demo}}, {id: cy, backend: {type: demo}}]\n"

// openTmux opens a terminal of a size, with a shell in it that runs the program.
func openTmux(t *testing.T, width, height int, arguments string) *tmux {
	t.Helper()
	return openTmuxWith(t, width, height, threeDemos, "%s "+arguments)
}

// openTmuxWith runs a command of the shell, in which %s is the program with a panel.
func openTmuxWith(t *testing.T, width, height int, panel, command string) *tmux {
	t.Helper()
	return openTmuxStyled(t, width, height, "default", panel, command)
}

// openTmuxStyled is openTmuxWith on a background of tmux's style.
func openTmuxStyled(t *testing.T, width, height int, style, panel, command string) *tmux {
	t.Helper()
	path, err := exec.LookPath("tmux")
	if err != nil {
		t.Fatal("there is no tmux: install it, as with apt-get install tmux")
	}
	dir := t.TempDir()
	x := &tmux{t, filepath.Join(dir, "s"), dir}
	config := filepath.Join(dir, "panel.yaml")
	if err := os.WriteFile(config, []byte(panel), 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("massgen")
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "run.sh")
	lines := fmt.Sprintf("cd %s\n%s\necho left with $?\nexec sleep 600\n", dir, fmt.Sprintf(command, program+" --config "+config))
	if err := os.WriteFile(script, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	line := fmt.Sprintf("exec env -i HOME=%s TERM=tmux-256color LC_ALL=C.UTF-8 STATUS=%s PATH=$PATH sh %s", dir, filepath.Join(dir, "status"), script)
	tmux := exec.Command(path, "-S", x.socket, "-f", "/dev/null", "start-server", ";", "set-option", "-g", "window-style", style, ";", "new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height), line,
		";", "set-option", "-g", "escape-time", "0")
	if out, err := tmux.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() {
		pids := x.program()
		x.run("kill-server")
		awaitEnd(t, pids) // it writes to the folder until then
	})
	return x
}

func (x *tmux) run(arguments ...string) string {
	x.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", x.socket}, arguments...)...).CombinedOutput()
	if err != nil {
		x.t.Fatalf("tmux %q: %v: %s", arguments, err, out)
	}
	return string(out)
}

// shown is what the terminal shows.
func (x *tmux) shown() string { return x.run("capture-pane", "-p") }

// screen is what the terminal shows, with other names for what differs from run to run.
func (x *tmux) screen() string {
	shown := x.shown()
	shown = regexp.MustCompile(`\d{8}-\d{6}-[a-z0-9]{6}`).ReplaceAllString(shown, "20260102-030405-sample")
	shown = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d`).ReplaceAllString(shown, "2026-01-02 15:04")
	// A time, with what stands behind it in its column, has the width that it would have with one digit.
	column := regexp.MustCompile(`\b((?:\d+m )?\d+s)((?: ?[^ │┃─━\n])* ?)(─*|━*)`)
	shown = column.ReplaceAllStringFunc(shown, func(text string) string {
		part := column.FindStringSubmatch(text)
		fill := " "
		if part[3] != "" { // the title of a box
			fill = part[3][:len("─")]
		}
		return "Ts" + part[2] + part[3] + strings.Repeat(fill, len(part[1])-len("Ts"))
	})
	shown = regexp.MustCompile(`▸ \d+ lines of progress`).ReplaceAllString(shown, "▸ 12 lines of progress") // agents that begin share a line, or not
	shown = regexp.MustCompile(`(?m) \d+\.\d s$`).ReplaceAllString(shown, " 0.1 s")
	shown = regexp.MustCompile(`(?m)^\S+ (answered|voted) .*? · Enter adds`).ReplaceAllString(shown, "(news) · Enter adds") // the newest sentence
	return withoutNews(regexp.MustCompile(`(?m) +$`).ReplaceAllString(shown, ""))
}

// withoutNews leaves of the sentences about a turn that runs where they stand: what happens at once has no order.
func withoutNews(shown string) string {
	isNews := regexp.MustCompile(` tokens$| (are|is) writing$| (answered|voted) | tokens of`)
	isOutcome := regexp.MustCompile(`^  (winner: |best so far: |\d+ calls? · )`)
	isAgent := regexp.MustCompile(`^  [●▲■◆▼★⬟✚] `) // a line of a turn that is over
	lines := strings.Split(shown, "\n")
	for i := 0; i < len(lines); i++ {
		end, found := i, false
		for ; end < len(lines) && strings.HasPrefix(lines[end], "  ") && !isAgent.MatchString(lines[end]); end++ {
			found = found || isNews.MatchString(lines[end]) && !isOutcome.MatchString(lines[i])
		}
		for ; i < end; i++ {
			if found {
				lines[i] = "  (news)"
			}
		}
	}
	return strings.Join(lines, "\n")
}

// until waits until the terminal shows a text.
func (x *tmux) until(text string) {
	x.t.Helper()
	for end := time.Now().Add(time.Minute); !strings.Contains(x.screen(), text) && !strings.Contains(x.shown(), text); {
		if time.Now().After(end) {
			x.t.Fatalf("the terminal never shows %q:\n%s", text, x.screen())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// keys presses keys by tmux's names, such as C-n.
func (x *tmux) keys(names ...string) { x.run(append([]string{"send-keys"}, names...)...) }

// TestFullScreen drives the real program in a terminal by its keys, at two sizes.
func TestFullScreen(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {200, 60}} {
		t.Run(fmt.Sprint(size[0]), func(t *testing.T) {
			t.Parallel()
			x := openTmux(t, size[0], size[1], "")
			shots := newShots(x, fmt.Sprintf("fullscreen%d", size[0]))
			x.until("Ask a question")
			x.until("ready")
			x.keys("-l", "What is cheap?")
			x.keys("Enter")
			x.until("2 messages")
			x.until("winner: cy.2")
			shots.take("an answer")
			for _, step := range []struct {
				keys []string
				want string
			}{
				{[]string{"Tab"}, "Enter its whole text"},
				{[]string{"Enter"}, "Esc closes"},
				{[]string{"Escape"}, "Enter its whole text"},
				{[]string{"Right", "i"}, "input of turn-001/bob/call-003"},
				{[]string{"Escape"}, "Enter its whole text"},
				{[]string{"Escape"}, "Enter send"},
				{[]string{"C-t"}, "What the models were sent"},
				{[]string{"Escape"}, "Enter send"},
				{[]string{"C-g"}, "answers: cy.2 and ada.1"},
				{[]string{"Escape"}, "Enter send"},
				{[]string{"C-s"}, "search:"},
				{[]string{"Escape"}, "Enter send"},
				{[]string{"-l", "?"}, "begin another line"},
				{[]string{"Escape"}, "Enter send"},
				{[]string{"-l", "one two"}, "> one two"},
				{[]string{"Home", "x", "End", "y"}, "> xone twoy"},
				{[]string{"C-u"}, "> Ask a question"},
				{[]string{"Up"}, "> What is cheap?"},
				{[]string{"C-u"}, "> Ask a question"},
				{[]string{"-l", "/stat"}, "> /stat"},
				{[]string{"Tab"}, "> /status"},
				{[]string{"Enter"}, "panel "},
				{[]string{"C-r"}, "Begin anew"},
				{[]string{"n"}, "Enter send"},
				{[]string{"C-n"}, "0 messages"},
			} {
				x.keys(step.keys...)
				x.until(step.want)
				if step.keys[0] == "C-g" {
					shots.take("answers side by side")
				}
			}
			x.keys("C-d")
			x.until("left with 0")
			shots.end()
		})
	}
}

// TestFullScreenIsLeft by two Esc, and by /quit from the list of commands.
func TestFullScreenIsLeft(t *testing.T) {
	t.Parallel()
	for _, steps := range [][]keyStep{
		{{"", []string{"Escape"}, "Esc again leaves"}, {"", []string{"Escape"}, "left with 0"}},
		{{"", []string{"/qui"}, "/quit  leave"}, {"", []string{"Enter"}, "left with 0"}},
	} {
		x := openTmux(t, 80, 24, "")
		x.until("ready")
		(&shots{x: x}).walk(steps)
	}
}

// TestFullScreenWritesLogs where --log-dir says.
func TestFullScreenWritesLogs(t *testing.T) {
	x := openTmux(t, 80, 24, "--log-dir logs")
	x.until("ready")
	x.keys("-l", "What is cheap?")
	x.keys("Enter")
	x.until("2 messages")
	x.keys("C-d")
	x.until("left with 0")
	files, err := filepath.Glob(filepath.Join(x.dir, "logs", "log_*", "turn_1", "attempt_1", "status.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v", files, err)
	}
	if text, err := os.ReadFile(files[0]); err != nil || !strings.Contains(string(text), `"finish_reason":"completed"`) {
		t.Errorf("%s, %v", text, err)
	}
}

// TestInlineScreenKeepsAll: the scrollback has each sentence about a turn and its answer once, in their order, and nothing
// that was drawn meanwhile.
func TestInlineScreenKeepsAll(t *testing.T) {
	for _, rows := range []int{12, 24, 50} {
		x := openTmux(t, 150, rows, "--multi-turn")
		x.until("ready")
		for turn, question := range []string{"What is cheap?", "And what is not?"} {
			x.keys("-l", question)
			x.keys("Enter")
			x.until(fmt.Sprintf("%d messages", 2*turn+2))
			x.until(fmt.Sprintf("(turn %d) On second thoughts", turn+1))
		}
		x.until("Enter send")
		shown := x.run("capture-pane", "-p", "-S", "-500")
		place := 0
		for _, want := range []string{
			"┃ What is cheap?", "round 1: ada, bob, cy are writing", "round 2: ada, bob, cy are writing", "cy answered (cy.2) · ", "winner: cy.2",
			"(turn 1) On second thoughts", "┃ And what is not?", "round 1: ada", "cy answered (cy.2) · ", "winner: cy.2", "(turn 2) On second thoughts", "ready · turn 2", "> Ask a question",
		} {
			at := strings.Index(shown[place:], want)
			if at < 0 {
				t.Fatalf("%d rows: %q is not there, or not in its place:\n%s", rows, want, shown)
			}
			place += at
		}
		for text, want := range map[string]int{"ready · turn 2": 1, "ada answered (ada.1) · ": 2, "cy voted for cy.2": 2, "On second thoughts": 2, "(turn 1) ": 1} {
			if n := strings.Count(shown, text); n != want {
				t.Errorf("%d rows: %q is there %d times, want %d:\n%s", rows, text, n, want, shown)
			}
		}
	}
}

// TestSystemEndsTheScreen: what goes on with the session is said, also of a turn under way.
func TestSystemEndsTheScreen(t *testing.T) {
	for _, state := range []string{"running", "· 2 messages"} {
		x := openTmux(t, 120, 24, "")
		x.until("ready")
		x.keys("-l", "What is cheap?")
		x.keys("Enter")
		x.until(state)
		if err := syscall.Kill(x.program()[0], syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		x.until("left with 4")
		if shown := x.screen(); !strings.Contains(shown, "session: 20260102-030405-sample; massgen --session-id 20260102-030405-sample goes on with it") {
			t.Errorf("it does not say what goes on with the session after %s:\n%s", state, shown)
		}
	}
}

// TestTerminalIsRestored after a kill that the program cannot hear.
func TestTerminalIsRestored(t *testing.T) {
	x := openTmux(t, 80, 24, "")
	x.until("Ask a question")
	if state := strings.TrimSpace(x.run("display-message", "-p", "#{alternate_on} #{mouse_any_flag}")); state != "1 0" {
		t.Fatalf("the screen is not full: %s", state)
	}
	shell := strings.TrimSpace(x.run("display-message", "-p", "#{pane_pid}"))
	children, err := os.ReadFile(fmt.Sprintf("/proc/%s/task/%s/children", shell, shell))
	if err != nil {
		t.Fatal(err)
	}
	program, err := strconv.Atoi(strings.Fields(string(children))[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(program, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; {
		state := strings.TrimSpace(x.run("display-message", "-p", "#{alternate_on} #{mouse_any_flag} #{cursor_flag}"))
		if state == "0 0 1" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the terminal stays as it was: %s", state)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// shots are the screens of testdata/NAME.golden.
type shots struct {
	x    *tmux
	path string
	want []string // each with its title
	got  []string
}

func newShots(x *tmux, name string) *shots {
	x.t.Helper()
	s := &shots{x: x, path: filepath.Join("testdata", name+".golden")}
	data, err := os.ReadFile(s.path)
	if err != nil && !updatesScreens() {
		x.t.Fatal(err)
	}
	for part := range strings.SplitSeq("\n"+strings.TrimSuffix(string(data), "\n"), "\n== ") {
		if part != "" {
			s.want = append(s.want, "== "+part+"\n")
		}
	}
	return s
}

func updatesScreens() bool { return os.Getenv("UPDATE_SCREENS") != "" }

// take waits until the terminal shows the next screen.
func (s *shots) take(title string) {
	s.x.t.Helper()
	i := len(s.got)
	shown := func() string { return "== " + title + "\n" + s.x.screen() }
	if updatesScreens() {
		time.Sleep(time.Second) // it is for whoever updates to see that nothing is on its way
		s.got = append(s.got, shown())
		return
	}
	if i >= len(s.want) {
		s.x.t.Fatalf("%s lacks the screen %q", s.path, title)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		got := shown()
		if got == s.want[i] {
			s.got = append(s.got, got)
			return
		}
		if time.Now().After(end) {
			diff := cmp.Diff(strings.Split(s.want[i], "\n"), strings.Split(got, "\n"))
			s.x.t.Fatalf("the terminal never shows the screen %q of %s (-want +got; UPDATE_SCREENS=1 writes it):\n%s", title, s.path, diff)
		}
	}
}

// end checks that all screens were taken.
func (s *shots) end() {
	s.x.t.Helper()
	if updatesScreens() {
		if err := os.WriteFile(s.path, []byte(strings.Join(s.got, "")), 0o644); err != nil {
			s.x.t.Fatal(err)
		}
		return
	}
	if len(s.got) != len(s.want) {
		s.x.t.Errorf("%s has %d screens, of which %d are shown", s.path, len(s.want), len(s.got))
	}
}
