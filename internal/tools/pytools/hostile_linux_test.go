package pytools

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const hostile = `
import ctypes, os, socket, subprocess, sys, threading, time

def read(path: str): return open(path).read()
def write(path: str): return open(path, "w").write("x")
def listing(path: str): return " ".join(sorted(os.listdir(path)))
def connect(port: int): socket.create_connection(("127.0.0.1", port)).close()
def send(port: int): socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", port))
def local(): socket.socket(socket.AF_UNIX).connect("/run/service")
def variables(): return " ".join(sorted(os.environ))
def command(line: str): return subprocess.run(["sh", "-c", line], capture_output=True, text=True).stdout
def prints():
    print("this is no message")
    sys.__stdout__.write('{"jsonrpc":"2.0","id":99,"result":{}}\n')
    sys.__stdout__.flush()
    os.write(1, b'{"jsonrpc":"2.0","id":99,"result":{}}\n')
    subprocess.run(["echo", "nor is this"])
    return "printed"
def floods():
    for _ in range(10): os.write(1, b"x" * (1 << 20))
    return "flooded"
def forges():
    for fd in range(3, 32):
        try: os.write(fd, b'no message\n{"jsonrpc":"2.0","id":12345,"result":{"content":[]}}\n')
        except OSError: pass
    return "forged"
def much(): return "x" * (100 << 20)
def dies(): os._exit(3)
def crashes(): ctypes.string_at(0)
def hangs():
    while True: time.sleep(0.01)
async def hangs_too():
    import asyncio
    await asyncio.Event().wait()
def spawns(path: str):
    subprocess.Popen(["sh", "-c", "exec sleep 600"], start_new_session=True)
    return "spawned"
def alive(): return "alive at " + str(threading.active_count())
`

// hostileNames are the functions of the file.
func hostileNames() []string {
	return strings.Fields("read write listing connect send local variables command prints floods forges much dies crashes hangs hangs_too spawns alive")
}

// hostileGrounds returns options for the file, and files that its functions must not read or write.
func hostileGrounds(t *testing.T) (o Options, dir, outside string) {
	t.Helper()
	t.Setenv("OPENAI_API_KEY", "sk-of-somebody")
	o, _ = options(t, hostile, hostileNames()...)
	outside = t.TempDir()
	dir = filepath.Dir(o.Tools[0].Path)
	secret, other := filepath.Join(outside, "secret"), filepath.Join(dir, "other_agent")
	for _, file := range []string{secret, filepath.Join(dir, ".env"), filepath.Join(dir, "notes.txt"), filepath.Join(other, "work.txt")} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("hush"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(secret, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	site := filepath.Join(outside, "site")
	for _, file := range []string{filepath.Join(site, "page.txt"), filepath.Join(site, "own", "state.db")} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("hush"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o.Reads = []string{site}
	o.Hidden = []string{other, filepath.Join(site, "own", "state.db")}
	o.Tools[0].Env = map[string]string{"WEATHER_KEY": "of the tool"}
	return o, dir, outside
}

// TestHostileFunctions do no harm: each call ends with an error or its own result, and the next call works.
func TestHostileFunctions(t *testing.T) {
	o, dir, outside := hostileGrounds(t)
	secret, canary := filepath.Join(outside, "secret"), filepath.Join(outside, "canary")
	h := start(t, o)
	at := func(path string) string { return `{"path":"` + path + `"}` }
	const refused = "Permission denied"
	for _, c := range []struct{ function, arguments, want, failure string }{
		{"read", at(filepath.Join(dir, "notes.txt")), "hush", ""},
		{"read", at(secret), "", refused},
		{"read", at(filepath.Join(dir, ".env")), "", refused},
		{"read", at(filepath.Join(dir, "link")), "", refused},
		{"read", at(filepath.Join(dir, "other_agent", "work.txt")), "", refused},
		{"read", at(filepath.Join(outside, "site", "page.txt")), "hush", ""},
		{"read", at(filepath.Join(outside, "site", "own", "state.db")), "", refused},
		{"listing", at(filepath.Join(outside, "site")), "own page.txt", ""},
		{"read", at("/etc/shadow"), "", refused},
		{"listing", at(outside), "", refused},
		{"write", at(canary), "", ""},
		{"write", at(filepath.Join(dir, "tools.py")), "", ""},
		{"connect", `{"port":1}`, "", "Operation not permitted"},
		{"send", `{"port":1}`, "", "Operation not permitted"},
		{"local", `{}`, "", "Operation not permitted"},
		{"variables", `{}`, "HOME LANG PATH TMPDIR WEATHER_KEY", ""},
		{"command", `{"line":"cat ` + secret + `; echo done"}`, "done", ""},
		{"prints", `{}`, "printed", ""},
		{"floods", `{}`, "flooded", ""},
		{"forges", `{}`, "forged", ""},
		{"much", `{}`, "", "the result is larger than the 7 MiB"},
		{"dies", `{}`, "", "it ended during the call (exit status 3"},
		{"alive", `{}`, "alive", ""},
		{"crashes", `{}`, "", "it ended during the call"},
		{"spawns", at(""), "spawned", ""},
		{"alive", `{}`, "alive", ""},
	} {
		got, err := call(t.Context(), t, h, c.function, c.arguments)
		if c.function == "write" && err == nil {
			t.Errorf("%s wrote %s", c.function, c.arguments)
			continue
		}
		if !strings.HasPrefix(got, c.want) || !strings.Contains(failure(err), c.failure) || (c.function != "write" && c.failure == "" && err != nil) {
			t.Errorf("%s(%s) = %.200q, %.200q; want %q, %q", c.function, c.arguments, got, failure(err), c.want, c.failure)
		}
	}
	if _, err := os.Stat(canary); err == nil {
		t.Error("a function wrote outside of its folder")
	}
}

// TestFunctionsThatHang are given up at the time limit.
func TestFunctionsThatHang(t *testing.T) {
	o, _ := options(t, hostile, hostileNames()...)
	o.CallTimeout = time.Second
	h := start(t, o)
	for _, function := range []string{"hangs", "hangs_too"} {
		if _, err := call(t.Context(), t, h, function, `{}`); err == nil || !strings.Contains(err.Error(), "it did not answer within 1s") {
			t.Errorf("%s: %v", function, err)
		}
	}
}

// TestCancelledFunctions: the others go on after a call that hangs was cancelled.
func TestCancelledFunctions(t *testing.T) {
	o, _ := options(t, hostile, hostileNames()...)
	h := start(t, o)
	for _, function := range []string{"hangs", "hangs_too"} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if _, err := call(ctx, t, h, function, `{}`); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", function, err)
		}
		cancel()
		if got, err := call(t.Context(), t, h, "alive", `{}`); err != nil || !strings.HasPrefix(got, "alive") {
			t.Errorf("after %s: %q, %v", function, got, err)
		}
	}
}

// TestNetwork: a helper with the network opens connections, and reads no more than others.
func TestNetwork(t *testing.T) {
	o, _ := options(t, hostile, "connect", "local", "read")
	for i := range o.Tools {
		o.Tools[i].Network = true
	}
	h := start(t, o)
	for function, want := range map[string]string{"connect": "Connection refused", "local": "Operation not permitted"} {
		arguments := `{"port":1}`
		if function == "local" {
			arguments = `{}`
		}
		if _, err := call(t.Context(), t, h, function, arguments); !strings.Contains(failure(err), want) {
			t.Errorf("%s: %v, want %s", function, err, want)
		}
	}
	if _, err := call(t.Context(), t, h, "read", `{"path":"/etc/shadow"}`); !strings.Contains(failure(err), "Permission denied") {
		t.Errorf("read: %v", err)
	}
}
