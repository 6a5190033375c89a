//go:build linux && tmux

package app_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/tests/backendtest"
)

// openHalf opens a terminal with a panel of two, on a server of its own: bob answers at once, and the
// stream of ada stops in the middle until the server is told to go on.
func openHalf(t *testing.T, width, height int, command string) (x *tmux, server *backendtest.Server, goOn func()) {
	t.Helper()
	var mu sync.Mutex
	isWhole := false
	server = backendtest.NewServer(nil, func(c backendtest.Call) backendtest.Reply {
		mu.Lock()
		defer mu.Unlock()
		if !isBlind(c) {
			return voteFor("agent2")
		}
		if c.Model() == "m2" {
			return backendtest.Reply{ToolCalls: []backends.ToolCall{{ID: "a", Name: "new_answer", Arguments: `{"content":"Wind is **cheap**."}`}}}
		}
		r := backendtest.Reply{Text: strings.Repeat("Of all that is cheap, wind is the cheapest, and so is the sun. ", 8)}
		if isWhole {
			r.ToolCalls = []backends.ToolCall{{ID: "b", Name: "new_answer", Arguments: `{"content":"The sun is cheap."}`}}
			return r
		}
		r.Fault = backendtest.HangMidStream
		return r
	})
	t.Cleanup(server.Close)
	panel := fmt.Sprintf("agents: [{id: ada, backend: &b {type: openai, base_url: %q, model: m1}}, {id: bob, backend: {<<: *b, model: m2}}]\n", server.BaseURL)
	return openTmuxWith(t, width, height, panel, command), server, func() {
		mu.Lock()
		defer mu.Unlock()
		isWhole = true
	}
}

// askHalf types a question, and waits until the turn is where its server leaves it.
func (x *tmux) askHalf() {
	x.t.Helper()
	x.until("ready")
	x.keys("-l", "What is cheap?")
	x.until("> What is cheap?")
	x.keys("Enter")
	x.until("bob ✓ answered")
	x.until("Of all that is cheap")
}

// TestFullScreenMoments compares what a person sees at the moments of a turn, at two sizes.
func TestFullScreenMoments(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {200, 60}} {
		t.Run(fmt.Sprint(size[0]), func(t *testing.T) {
			t.Parallel()
			x, _, _ := openHalf(t, size[0], size[1], "%s")
			shots := newShots(x, fmt.Sprintf("moments%d", size[0]))
			shot := shots.take
			press := func(want string, keys ...string) {
				t.Helper()
				x.keys(keys...)
				x.until(want)
			}
			line := func(text, want string) {
				t.Helper()
				x.keys("-l", text)
				press(want, "Enter")
			}
			x.until("Ask a question")
			x.until("ready")
			shot("start")
			x.askHalf()
			shot("in the middle of a turn")
			press("p pause", "Tab")
			press("Esc closes", "Enter")
			shot("all that an agent has written")
			press("p pause", "Escape")
			press("paused", "p")
			shot("paused")
			press("running", "p")
			press("Enter adds a note", "Escape")
			press("> in French", "-l", "in French")
			press("note: in French (seen by nobody yet)", "Enter")
			shot("a note")
			press("interrupted", "Escape")
			x.until("2 messages")
			shot("ended with the best answer so far")
			line("/usage", "unknown usage")
			shot("costs")
			line("/answers", "the winner")
			shot("votes")
			press("answers: bob.1", "C-g")
			shot("answers side by side")
			press("Enter send", "Escape")
			press("What the models were sent", "C-t")
			shot("inputs")
			press("input of turn-001/bob/call-001", "Enter")
			press("new in turn-001/bob/call-001", "-l", "d")
			press("Enter send", "Escape")
			press("Enter its whole text", "Tab")
			press("input of turn-001/ada/call-001", "i")
			shot("an input")
			press("Enter its whole text", "Escape")
			press("Enter send", "Escape")
			press("search:", "C-s")
			shot("sessions")
			press("Enter send", "Escape")
			press("What was typed", "C-f")
			shot("typed before")
			press("Enter send", "Escape")
			line("/help", "the commands   Esc closes")
			shot("commands")
			press("Enter send", "Escape")
			press("begin another line", "-l", "?")
			shot("keys")
			shots.end()
		})
	}
}

// TestFullScreenCommands: a turn goes on without an agent, and its panel, its tools and its session are
// changed and looked at.
func TestFullScreenCommands(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {200, 60}} {
		t.Run(fmt.Sprint(size[0]), func(t *testing.T) {
			t.Parallel()
			x, _, _ := openHalf(t, size[0], size[1], "%s")
			x.askHalf()
			for _, step := range []struct {
				want string
				keys []string
			}{
				{"Enter its whole text", []string{"Tab"}},
				{"Go on without ada?", []string{"x"}},
				{"2 messages", []string{"y"}},
				{"Enter send", nil},
				{"> /tools", []string{"-l", "/tools"}},
				{"No agent has tools but", []string{"Enter"}},
				{"Enter send", []string{"Escape"}},
				{"> /model ada m3", []string{"-l", "/model ada m3"}},
				{"ada (openai m3)", []string{"Enter"}},
				{"search:", []string{"C-s"}},
				{"turn 1: ", []string{"-l", "cheap"}},
				{"Enter send", []string{"Escape"}},
				{"> /undo", []string{"-l", "/undo"}},
				{"> What is cheap?", []string{"Enter"}},
				{"0 messages", nil},
			} {
				if step.keys != nil {
					x.keys(step.keys...)
				}
				x.until(step.want)
			}
		})
	}
}

// TestFullScreenKeysArrive whatever stands between the keyboard and the program: Home, End and word
// keys as tmux, GNU screen and the terminals that people use over ssh send them.
func TestFullScreenKeysArrive(t *testing.T) {
	type key struct{ name, sent, want string }
	raw := []key{
		{"home", "\x1b[1~", "> xone two"}, {"home", "\x1b[H", "> xone two"}, {"home", "\x1bOH", "> xone two"}, {"home", "\x1b[7~", "> xone two"}, {"home", "\x01", "> xone two"},
		{"end", "\x1b[4~", "> one twox"}, {"end", "\x1b[F", "> one twox"}, {"end", "\x1bOF", "> one twox"}, {"end", "\x1b[8~", "> one twox"}, {"end", "\x05", "> one twox"},
		{"word back", "\x1b[1;5D", "> one xtwo"}, {"word back", "\x1b[1;3D", "> one xtwo"}, {"word back", "\x1bb", "> one xtwo"}, {"word back", "\x1bOd", "> one xtwo"},
		{"word on", "\x01\x1b[1;5C", "> onex two"}, {"word on", "\x01\x1b[1;3C", "> onex two"}, {"word on", "\x01\x1bf", "> onex two"}, {"word on", "\x01\x1bOc", "> onex two"},
		{"delete", "\x01\x1b[3~", "> xne two"}, {"left", "\x1b[D", "> one twxo"}, {"left", "\x1bOD", "> one twxo"}, {"backspace", "\x7f", "> one twx"}, {"backspace", "\b", "> one twx"},
	}
	names := []key{
		{"home", "Home", "> xone two"}, {"end", "Home End", "> one twox"}, {"word back", "C-Left", "> one xtwo"}, {"word back", "M-b", "> one xtwo"},
		{"word on", "Home C-Right", "> onex two"}, {"word on", "Home M-f", "> onex two"},
	}
	for _, terminal := range []struct {
		name, command string
		keys          []key
		isRaw         bool
	}{
		{"pty", "%s", raw, true}, {"ssh", "TERM=xterm %s", raw, true}, {"unknown", "TERM=no-such-terminal %s", raw, true},
		{"tmux", "%s", names, false}, {"screen", "mkdir -m 700 sockets; echo autodetach off >screenrc; SCREENDIR=$PWD/sockets screen -q -c screenrc %s", names, false},
	} {
		t.Run(terminal.name, func(t *testing.T) {
			t.Parallel()
			x := openTmuxWith(t, 80, 24, threeDemos, terminal.command)
			x.until("ready")
			for _, k := range terminal.keys {
				x.keys("-l", "one two")
				x.until("> one two")
				if terminal.isRaw {
					x.raw(k.sent)
				} else {
					x.keys(strings.Fields(k.sent)...)
				}
				x.keys("-l", "x")
				x.until(k.want)
				x.keys("C-u")
				x.until("> Ask a question")
			}
		})
	}
}

// raw sends bytes as the program's terminal.
func (x *tmux) raw(bytes string) {
	x.t.Helper()
	arguments := []string{"send-keys", "-H"}
	for _, b := range []byte(bytes) {
		arguments = append(arguments, strconv.FormatInt(int64(b), 16))
	}
	x.run(arguments...)
}

// TestFullScreenIsResized in mid-stream: any size is drawn, and the first one as it was.
func TestFullScreenIsResized(t *testing.T) {
	t.Parallel()
	x, _, _ := openHalf(t, 80, 24, "%s")
	x.askHalf()
	before := x.screen()
	for range 3 {
		for _, size := range [][2]string{{"40", "10"}, {"1", "1"}, {"5", "3"}, {"400", "120"}, {"2", "50"}, {"300", "2"}, {"200", "60"}, {"80", "24"}} {
			x.run("resize-window", "-x", size[0], "-y", size[1])
		}
	}
	x.untilIs(before)
	x.keys("Escape")
	x.until("interrupted")
}

// untilIs waits until the terminal shows a screen.
func (x *tmux) untilIs(want string) {
	x.t.Helper()
	for end := time.Now().Add(time.Minute); x.screen() != want; {
		if time.Now().After(end) {
			x.t.Fatalf("the terminal never shows\n%s\nbut\n%s", want, x.screen())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// program returns the program's process, with those that it has started; none if it has ended.
func (x *tmux) program() (all []int) {
	x.t.Helper()
	var add func(pid int)
	add = func(pid int) {
		for _, child := range childrenOf(x.t, pid) {
			all = append(all, child)
			add(child)
		}
	}
	if out, err := exec.Command("tmux", "-S", x.socket, "has-session").CombinedOutput(); err != nil {
		x.t.Logf("no program runs: %s", out)
		return nil
	}
	for word := range strings.FieldsSeq(x.run("list-panes", "-a", "-F", "#{pane_pid}")) {
		shell, err := strconv.Atoi(word)
		if err != nil {
			x.t.Fatal(err)
		}
		add(shell)
	}
	// GNU screen runs programs in a process of its own, which is nobody's child.
	sockets, err := filepath.Glob(filepath.Join(x.dir, "sockets", "*.*"))
	if err != nil {
		x.t.Fatal(err)
	}
	for _, socket := range sockets {
		screen, _, _ := strings.Cut(filepath.Base(socket), ".")
		pid, err := strconv.Atoi(screen)
		if err != nil {
			x.t.Fatal(err)
		}
		all = append(all, pid)
		add(pid)
	}
	return all
}

func childrenOf(t *testing.T, pid int) (children []int) {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		data, err := os.ReadFile(task)
		if err != nil {
			continue // the thread has ended
		}
		for word := range strings.FieldsSeq(string(data)) {
			child, err := strconv.Atoi(word)
			if err != nil {
				t.Fatal(err)
			}
			children = append(children, child)
		}
	}
	return children
}

// awaitEnd waits until processes have ended.
func awaitEnd(t *testing.T, pids []int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		left := 0
		for _, pid := range pids {
			if state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && !strings.Contains(string(state), ") Z ") {
				left++
			}
		}
		if left == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d of the processes %v have not ended", left, pids)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// TestFullScreenIsKilled in the middle of a turn: the terminal is as it was, and the turn goes on
// without the call that had its result.
func TestFullScreenIsKilled(t *testing.T) {
	t.Parallel()
	x, server, goOn := openHalf(t, 80, 24, "%[1]s; echo killed; %[1]s --continue --plain")
	x.askHalf()
	pids := x.program()
	goOn() // before the shell calls the program again
	if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	x.until("winner: bob.1")
	x.until("left with 0")
	awaitEnd(t, pids)
	if state := strings.TrimSpace(x.run("display-message", "-p", "#{alternate_on} #{mouse_any_flag} #{cursor_flag}")); state != "0 0 1" {
		t.Errorf("the terminal stays as it was: %s", state)
	}
	checkCalls(t, server, map[string]int{"m1": 2, "m2": 1})
}

// checkCalls checks how often each model was called without an answer before it.
func checkCalls(t *testing.T, server *backendtest.Server, want map[string]int) {
	t.Helper()
	got := map[string]int{}
	for _, c := range server.Calls() {
		if isBlind(c) {
			got[c.Model()]++
		}
	}
	for model, n := range want {
		if got[model] != n {
			t.Errorf("%s was called %d times, want %d", model, got[model], n)
		}
	}
}

// TestFullScreenEndsShellCommands: by Ctrl+C, and when the person or the system ends the program, which waits
// for one that does not want to end.
func TestFullScreenEndsShellCommands(t *testing.T) {
	for name, leave := range map[string]func(x *tmux){
		"left with 0": func(x *tmux) {
			x.keys("-l", "/quit")
			x.keys("Enter")
		},
		"left with 4": func(x *tmux) {
			if err := syscall.Kill(x.program()[0], syscall.SIGTERM); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := openTmux(t, 80, 24, "")
			x.until("ready")
			own := x.program()
			run := func(command string) (started []int) {
				x.keys("-l", "!"+command)
				x.keys("Enter")
				x.until("\nit has begun\n… is running; Esc ends it")
				for _, pid := range x.program() {
					if !slices.Contains(own, pid) {
						started = append(started, pid)
					}
				}
				return started
			}
			first := run("echo it has begun; tail -f /dev/null; echo on")
			x.keys("C-c")
			x.until("signal: terminated")
			awaitEnd(t, first)
			x.keys("C-u", "C-n")
			x.until("> Ask a question")
			second := run("trap '' TERM; echo it has begun; while :; do sleep 0.1; done")
			leave(x)
			x.until(name)
			awaitEnd(t, second)
			if len(first) == 0 || len(second) == 0 {
				t.Errorf("the commands have the processes %v and %v", first, second)
			}
		})
	}
}

// TestFullScreenIsClosed in the middle of a turn, with the terminal: the program ends, with all that it
// has started, and the session goes on with the best answer so far.
func TestFullScreenIsClosed(t *testing.T) {
	for name, command := range map[string]string{"": "%s", "behind nohup": `trap "" HUP; %s`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, server, goOn := openHalf(t, 80, 24, "exec 9>alive; "+command)
			x.askHalf()
			pids := x.program()
			x.run("set-option", "-g", "exit-empty", "off", ";", "kill-session")
			awaitEnd(t, pids)
			goOn()
			if status, err := os.ReadFile(filepath.Join(x.dir, "status")); err != nil || string(status) != "4" {
				t.Errorf("the program has left with %s, want 4; %v", status, err)
			}
			massgen := exec.Command("massgen", "--continue", "And the sun?")
			massgen.Dir, massgen.Env = x.dir, []string{"HOME=" + x.dir, "PATH=" + os.Getenv("PATH"), "STATUS=" + filepath.Join(x.dir, "status")}
			if out, err := massgen.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			checkCalls(t, server, map[string]int{"m1": 2, "m2": 2}) // one a turn
			for _, c := range server.Calls()[2:] {
				if !strings.Contains(c.User(), "Wind is **cheap**.") {
					t.Errorf("the best answer so far is not in the history:\n%s", c.User())
				}
			}
		})
	}
}
