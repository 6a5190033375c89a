package workspace

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// leftovers leave processes behind that try to survive. Each has $TOKEN in its
// environment or its arguments.
var leftovers = []struct{ name, line string }{
	{"background", `sleep 600 &`},
	{"own session", `setsid sh -c 'setsid sleep 600 & sleep 600' &`},
	{"orphan", `(sh -c 'sleep 600 & exec sleep 600' &) &`},
	{"deaf", `sh -c 'trap "" HUP INT TERM; setsid sleep 600 & while :; do sleep 1; done' &`},
	{"no environment", `env -i setsid sh -c "sleep 600; : $TOKEN" &`},
	{"stopped", `setsid sh -c 'kill -STOP $$' &`},
	{"runs away", `cat > run <<'E'
[ "$1" -lt 300 ] && { setsid sh run $(($1 + 1)) & }
E
setsid sh run 0 &`},
}

// callerArg makes this program a caller of Run, to be killed.
const callerArg = "__call"

func caller() int {
	var c process
	if err := json.NewDecoder(os.Stdin).Decode(&c); err != nil {
		return 1
	}
	c.MaxOutput = 1000
	if _, err := runProcess(context.Background(), c); err != nil {
		return 1
	}
	return 0
}

// TestNothingIsLeft ends commands in each of four ways, and looks for their processes.
func TestNothingIsLeft(t *testing.T) {
	ways := []struct {
		name string
		end  func(*testing.T, grounds, process)
	}{
		{"the command ends", func(t *testing.T, p grounds, c process) {
			if r := p.run(c); r.Exit != 0 {
				t.Errorf("exit %d: %s", r.Exit, r.Output)
			}
		}},
		{"time is up", func(t *testing.T, p grounds, c process) {
			c.Argv[2] += "\nsleep 600"
			c.Timeout = 200 * time.Millisecond
			if r := p.run(c); !r.TimedOut {
				t.Errorf("it was not timed out: %+v", r)
			}
		}},
		{"it is cancelled", func(t *testing.T, p grounds, c process) {
			c.Argv[2] += "\ntouch started; sleep 600"
			ctx, cancel := context.WithCancel(t.Context())
			go func() { p.await("started"); cancel() }()
			if _, err := runProcess(ctx, c); !errors.Is(err, context.Canceled) {
				t.Errorf("a cancelled command gives %v", err)
			}
		}},
		{"its caller is killed", killCaller},
	}
	for _, left := range leftovers {
		for _, way := range ways {
			for _, fenced := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/%s/fenced %t", left.name, way.name, fenced), func(t *testing.T) {
					t.Parallel()
					p := newGrounds(t)
					c := p.command(nil, "sh", "-c", left.line)
					if fenced {
						c.Fence = p.fence()
					}
					token := rand.Text()
					c.Env = append(c.Env, "TOKEN="+token)
					way.end(t, p, c)
					gone(t, token)
				})
			}
		}
	}
}

func killCaller(t *testing.T, p grounds, c process) {
	c.Argv[2] += "\ntouch started; sleep 600"
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	calling := exec.Command(self, callerArg)
	calling.Stdin, calling.Stderr = r, os.Stderr
	if err := calling.Start(); err != nil {
		t.Fatal(err)
	}
	r.Close()
	if err := json.NewEncoder(w).Encode(c); err != nil {
		t.Fatal(err)
	}
	p.await("started")
	calling.Process.Kill()
	if err := calling.Wait(); err == nil {
		t.Error("the caller was not killed")
	}
	w.Close()
}

// await waits for a file in the workspace.
func (p grounds) await(name string) {
	eventually(p.t, "the command did not start", func() bool {
		_, err := os.Stat(filepath.Join(p.inside, name))
		return err == nil
	})
}

// gone waits until no process has the token: a supervisor whose caller was killed
// needs a moment.
func gone(t *testing.T, token string) {
	t.Helper()
	eventually(t, "there are processes left", func() bool { return len(withToken(token)) == 0 })
}

func eventually(t *testing.T, fault string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Error(fault)
			return
		}
	}
}

// withToken lists the processes that have the token in their environment or arguments,
// but for those that have ended and wait for their parents.
func withToken(token string) []string {
	var found []string
	for _, name := range []string{"environ", "cmdline"} {
		files, err := filepath.Glob("/proc/[0-9]*/" + name)
		if err != nil {
			return []string{err.Error()}
		}
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), token) {
				found = append(found, file)
			}
		}
	}
	return found
}

// TestWithTokenFinds guards the test above, which would pass if it saw no process.
func TestWithTokenFinds(t *testing.T) {
	t.Parallel()
	token := rand.Text()
	cmd := exec.Command("sleep", "600")
	cmd.Env = []string{"TOKEN=" + token}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// Until its program has been loaded, a new process shows no environment.
	eventually(t, "it is not found", func() bool { return len(withToken(token)) > 0 })
	if found := withToken(token); len(found) != 1 {
		t.Errorf("found %v", found)
	}
	cmd.Process.Kill()
	cmd.Wait()
	gone(t, token)
}
