package workspace

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/massgen/massgen/tests/leaks"
)

func TestMain(m *testing.M) {
	Launcher()
	if len(os.Args) == 2 && os.Args[1] == callerArg {
		os.Exit(caller())
	}
	if len(os.Args) == 3 && os.Args[1] == callsArg {
		os.Exit(makeHostileCalls())
	}
	leaks.Main(m)
}

// grounds is a workspace, with things outside that no command may change or read.
type grounds struct {
	t                             *testing.T
	inside, temp, outside, hidden string
}

const secret = "correct horse battery staple"

func newGrounds(t *testing.T) grounds {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	p := grounds{t: t, inside: at("inside"), temp: at("temp"), outside: at("outside"), hidden: at("hidden")}
	for _, d := range []string{p.inside, p.temp, p.outside, p.hidden} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for file, text := range map[string]string{p.canary(): canary, filepath.Join(p.hidden, "secret"): secret} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p grounds) canary() string { return filepath.Join(p.outside, "canary") }

func (p grounds) fence() *fence { return &fence{Writes: []string{p.inside, p.temp}} }

func (p grounds) env() []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + p.inside, "TMPDIR=" + p.temp, "OUT=" + p.outside, "HIDDEN=" + p.hidden}
}

func (p grounds) command(fence *fence, argv ...string) process {
	p.t.Helper()
	path, err := exec.LookPath(argv[0])
	if err != nil {
		p.t.Fatal(err)
	}
	return process{Path: path, Argv: argv, Dir: p.inside, Fence: fence, MaxOutput: 1 << 16, Timeout: 5 * time.Minute, Env: p.env()}
}

func (p grounds) run(c process) outcome {
	p.t.Helper()
	r, err := runProcess(p.t.Context(), c)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

// changed says what is not as it was outside.
func (p grounds) changed() string {
	p.t.Helper()
	entries, err := os.ReadDir(p.outside)
	if err != nil || len(entries) != 1 {
		return "other files are outside now"
	}
	if text, err := os.ReadFile(p.canary()); err != nil || string(text) != canary {
		return "the canary has another text"
	}
	info, err := os.Stat(p.canary())
	if err != nil {
		p.t.Fatal(err)
	}
	if info.Mode().Perm() != 0o644 || time.Since(info.ModTime()) > time.Hour {
		return "the canary has another mode or time"
	}
	return ""
}

// TestFenceIsUpHere guards the other tests: they would say nothing without a fence.
func TestFenceIsUpHere(t *testing.T) {
	if ok, reason := CanFence(); !ok {
		t.Fatalf("no fence can be put up on this machine: %s", reason)
	}
}

func TestCommandWorksInside(t *testing.T) {
	t.Parallel()
	p := newGrounds(t)
	r := p.run(p.command(p.fence(), "sh", "-c",
		"set -e; mkdir -p d/e; echo hi > d/e/f; mv d/e/f g; chmod 755 g; touch -d 2001-01-01 g; ln -s g l; cat l; echo echo ran > run; chmod +x run; ./run; echo tmp > $TMPDIR/x; echo err >&2; exit 3"))
	if r.Exit != 3 || string(r.Output) != "hi\nran\nerr\n" {
		t.Errorf("exit %d, output %q", r.Exit, r.Output)
	}
	if text, err := os.ReadFile(filepath.Join(p.inside, "g")); err != nil || string(text) != "hi\n" {
		t.Errorf("g is %q, %v", text, err)
	}
}

// TestNoDumps has a program look at how much it may leave when it crashes: 1 is
// nothing, and keeps from the system's own program for dumps too.
func TestNoDumps(t *testing.T) {
	t.Parallel()
	p := newGrounds(t)
	r := p.run(p.command(p.fence(), "grep", "-Ec", "^Max core file size +[01] +[01] ", "/proc/self/limits"))
	if string(r.Output) != "1\n" {
		t.Errorf("a crash leaves what the program had in memory: %q", r.Output)
	}
}
