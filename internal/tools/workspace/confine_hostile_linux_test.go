package workspace

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// hostile commands try to change, read or reach what is outside: $OUT has a canary,
// $HIDDEN a secret and a socket, $PORT listens, $VICTIM is a process with a secret in
// its environment and $OUT as its folder.
var hostile = []struct{ name, program, line string }{
	{"redirection", "sh", `echo x > "$OUT/canary"`},
	{"cd ..", "sh", `cd ../outside && echo x > canary`},
	{"append with tee", "tee", `echo x | tee -a "$OUT/canary"`},
	{"link, then write", "ln", `ln -s "$OUT" l; echo x > l/canary`},
	{"hard link, then write", "ln", `ln "$OUT/canary" h && echo x > h`},
	{"move in", "mv", `mv "$OUT/canary" mine`},
	{"move out", "mv", `mkdir d; mv -T d "$OUT/d"`},
	{"remove", "rm", `rm -rf "$OUT/canary"`},
	{"copy over", "cp", `cp /dev/null "$OUT/canary"`},
	{"truncate", "truncate", `truncate -s 3 "$OUT/canary"`},
	{"dd", "dd", `echo x | dd of="$OUT/canary"`},
	{"sed -i", "sed", `sed -i s/outside/inside/ "$OUT/canary"`},
	{"pipe in a folder", "mkfifo", `mkfifo "$OUT/pipe"`},
	{"unpack", "tar", `touch f; tar -cf - f | tar -xf - -C "$OUT"`},
	{"tar --checkpoint-action", "tar", `touch f; tar -cf /dev/null --checkpoint=1 --checkpoint-action=exec='sh -c "echo x > $OUT/canary"' f`},
	{"find -exec", "find", `find "$OUT" -name canary -exec sh -c 'echo x > "$1"' _ {} \;`},
	{"xargs", "xargs", `echo "$OUT/canary" | xargs rm`},
	{"env", "env", `env -i sh -c "echo x > '$OUT/canary'"`},
	{"env -S", "env", `env -S 'sh -c "echo x > ${OUT}/canary"'`},
	{"nohup", "nohup", `nohup sh -c 'echo x > "$OUT/canary"'`},
	{"child of a child", "sh", `(sh -c 'echo x > "$OUT/canary"; touch done' &); until [ -e done ]; do sleep 0.01; done`},
	{"make", "make", `printf 'all:\n\t-echo x > "$$OUT/canary"\n' | make -f -`},
	{"ssh -o ProxyCommand", "ssh", `ssh -o BatchMode=yes -o ProxyCommand='sh -c "echo x > $OUT/canary"' nowhere`},
	{"the loader", "sh", `$(ls /lib64/ld-linux-* /lib/ld-linux-* 2>/dev/null | head -n 1) /bin/sh -c 'echo x > "$OUT/canary"'`},
	{"a library in front", "gcc", `cat > p.c <<'E'
#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void harm(void) {
	char name[4096];
	snprintf(name, sizeof name, "%s/canary", getenv("OUT"));
	FILE *f = fopen(name, "w");
	if (f) fclose(f);
}
E
gcc -shared -fPIC -o p.so p.c && LD_PRELOAD=./p.so sh -c :`},
	{"a program in memory", "python3", `python3 -c 'import os
fd = os.memfd_create("x", 0)
os.write(fd, open("/bin/sh", "rb").read())
os.execv("/proc/self/fd/%d" % fd, ["sh", "-c", "echo x > \"$OUT/canary\""])'`},
	{"timeout", "timeout", `timeout 60 sh -c 'echo x > "$OUT/canary"'`},
	{"setsid", "setsid", `setsid -w sh -c 'echo x > "$OUT/canary"'`},
	{"encoded", "base64", `echo ZWNobyB4ID4gIiRPVVQvY2FuYXJ5Igo= | base64 -d | sh`},
	{"substitution", "sh", `true "$(echo x > "$OUT/canary")"`},
	{"awk's system", "awk", `awk 'BEGIN { system("echo x > $OUT/canary") }'`},
	{"awk", "awk", `awk 'BEGIN { print "x" > (ENVIRON["OUT"] "/canary") }'`},
	{"git alias", "git", `git -c alias.x='!echo x > "$OUT/canary"' x`},
	{"git hook", "git", `git init -q r && printf '#!/bin/sh\necho x > "$OUT/canary"\n' > r/.git/hooks/pre-commit && chmod +x r/.git/hooks/pre-commit && git -C r -c user.name=x -c user.email=x commit -q --allow-empty -m x`},
	{"git's external diff", "git", `git init -q r && touch r/f && git -C r add f && echo y > r/f && git -C r -c diff.external='echo x > "$OUT/canary"; true' diff`},
	{"git elsewhere", "git", `git init -q "$OUT/repo"`},
	{"perl -e", "perl", `perl -e 'open F, ">", "$ENV{OUT}/canary"; print F "x"'`},
	{"python -c", "python3", `python3 -c 'import os; open(os.environ["OUT"] + "/canary", "w").write("x")'`},
	{"python truncates by name", "python3", `python3 -c 'import os; os.truncate(os.environ["OUT"] + "/canary", 1)'`},
	{"the loader's log", "env", `LD_DEBUG=libs LD_DEBUG_OUTPUT="$OUT/log" env true`},
	{"the root of a process", "sh", `echo x > "/proc/self/root$OUT/canary"`},
	{"the folder of a process", "sh", `echo x > "/proc/$VICTIM/cwd/canary"`},
	{"mode", "chmod", `chmod 600 "$OUT/canary"`},
	{"mode, from inside a folder", "chmod", `cd "$OUT" && chmod 600 canary`},
	{"time", "touch", `touch -d 2001-01-01 "$OUT/canary"`},
	{"mount", "unshare", `unshare -rm sh -c 'mount --bind "$OUT" . && echo x > "$OUT/canary"'`},
	{"mount, writable again", "unshare", `unshare -rm sh -c 'mount -o remount,rw,bind /; chmod 600 "$OUT/canary"'`},
	{"kill", "sh", `kill -9 "$VICTIM"`},
	{"read a file", "cat", `cat "$HIDDEN/secret"`},
	{"read through a link", "ln", `ln -s "$HIDDEN" l; cat l/secret`},
	{"read an environment", "cat", `cat "/proc/$VICTIM/environ"`},
	{"network", "bash", `bash -c 'exec 3<> "/dev/tcp/127.0.0.1/$PORT" && cat <&3'`},
	{"curl", "curl", `curl -s "http://127.0.0.1:$PORT/"`},
	{"socket of a service", "curl", `curl -s --unix-socket "$HIDDEN/socket" http://x/`},
}

// TestHostileCommands runs each command three times: free, where it must do its harm,
// or it would show nothing, and fenced in, with and without a view of the mounts of
// its own, where it must not.
func TestHostileCommands(t *testing.T) {
	ran := 0
	for _, h := range hostile {
		if _, err := exec.LookPath(h.program); err != nil {
			t.Logf("%s: %v", h.name, err)
			continue
		}
		ran++
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			free := newGrounds(t)
			if harm := free.harm(h.line, func(c process) string { return string(free.run(c).Output) }); harm == "" {
				t.Error("without a fence it does no harm")
			}
			fenced := newGrounds(t)
			if harm := fenced.harm(h.line, func(c process) string {
				c.Fence = fenced.fence()
				return string(fenced.run(c).Output)
			}); harm != "" {
				t.Error(harm)
			}
			bare := newGrounds(t)
			if harm := bare.harm(h.line, bare.runWithoutNamespaces); harm != "" {
				t.Error("without mounts of its own: " + harm)
			}
		})
	}
	t.Logf("%d hostile commands, each free, fenced in, and fenced in without namespaces", ran)
	if ran < 20 {
		t.Errorf("only %d of %d commands could be tried: their programs are not installed", ran, len(hostile))
	}
}

// harm runs a line and says what it did to what is outside.
func (p grounds) harm(line string, run func(process) string) string {
	victim := p.victim()
	var calls atomic.Int32
	port := p.listen("tcp", "127.0.0.1:0", &calls).(*net.TCPAddr).Port
	p.listen("unix", filepath.Join(p.hidden, "socket"), &calls)

	c := p.command(nil, "sh", "-c", line)
	c.Env = append(c.Env, "VICTIM="+strconv.Itoa(victim.Process.Pid), "PORT="+strconv.Itoa(port))
	out := run(c)
	p.t.Logf("%q", out)
	switch {
	case strings.Contains(out, secret):
		return "it read the secret"
	case calls.Load() > 0:
		return "it called a service"
	case p.hasEnded(victim.Process.Pid):
		return "it killed a process"
	}
	return p.changed()
}

// hasEnded waits until a process either sleeps or has ended: one that is killed needs a
// moment for it, and so does one that starts.
func (p grounds) hasEnded(pid int) (ended bool) {
	p.t.Helper()
	eventually(p.t, "the process neither sleeps nor ends", func() bool {
		state := processState(pid)
		ended = state == "Z"
		return ended || state == "S"
	})
	return ended
}

func (p grounds) victim() *exec.Cmd {
	p.t.Helper()
	victim := exec.Command("sleep", "600")
	victim.Dir, victim.Env = p.outside, []string{"SECRET=" + secret}
	if err := victim.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		victim.Process.Kill()
		victim.Wait()
	})
	// Until its program has been loaded, there is nothing in it to read.
	eventually(p.t, "the victim does not start", func() bool {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(victim.Process.Pid) + "/environ")
		return err == nil && strings.Contains(string(text), secret)
	})
	return victim
}

// listen counts the calls to an address. It hangs up after that, for which a hostile
// command waits.
func (p grounds) listen(network, address string, calls *atomic.Int32) net.Addr {
	p.t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		p.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			calls.Add(1)
			conn.Close()
		}
	}()
	p.t.Cleanup(func() { l.Close(); <-done })
	return l.Addr()
}

// processState is the letter that /proc gives a process, "" for none.
func processState(pid int) string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	return strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))[0]
}

// runWithoutNamespaces fences a command in as it is where the system gives no
// namespaces.
func (p grounds) runWithoutNamespaces(c process) string { return p.runBare(c, p.fence()) }

func (p grounds) runBare(c process, fence *fence) string {
	p.t.Helper()
	c.Fence = fence
	r, w, err := os.Pipe()
	if err != nil {
		p.t.Fatal(err)
	}
	defer r.Close()
	if err := json.NewEncoder(w).Encode(launched{process: c}); err != nil {
		p.t.Fatal(err)
	}
	w.Close()
	cmd := exec.Command(self, becomeArg)
	cmd.ExtraFiles = []*os.File{r, os.Stderr}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() == 127 {
		p.t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// TestRootWithoutCapabilitiesRunsCommands, as in a container that has dropped them all.
func TestRootWithoutCapabilitiesRunsCommands(t *testing.T) {
	t.Parallel()
	p := newGrounds(t)
	fence := p.fence()
	c := p.command(nil, "sh", "-c", "grep -E 'Cap(Prm|Eff)' /proc/self/status; echo done")
	out := make(chan string, 1)
	go func() {
		defer close(out)
		runtime.LockOSThread() // the thread ends with what it has given up
		// Who may not has no capabilities to give up for what it starts either.
		if err := unix.Prctl(unix.PR_SET_SECUREBITS, noRoot, 0, 0, 0); err != nil && err != unix.EPERM {
			t.Error(err)
		}
		var none [2]unix.CapUserData
		if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]); err != nil {
			t.Error(err)
			return
		}
		out <- p.runBare(c, fence)
	}()
	got := <-out
	if want := "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\ndone\n"; got != want {
		t.Errorf("the command said %q", got)
	}
}

// noRoot is SECBIT_NOROOT and its lock: programs that root starts get no capabilities.
const noRoot = 0b11

func TestWithoutOwnMountsItWritesInside(t *testing.T) {
	t.Parallel()
	p := newGrounds(t)
	p.runWithoutNamespaces(p.command(nil, "sh", "-c", "echo x > mine; mkdir d; mv mine d/"))
	if text, err := os.ReadFile(filepath.Join(p.inside, "d", "mine")); err != nil || string(text) != "x\n" {
		t.Errorf("d/mine is %q, %v", text, err)
	}
}
