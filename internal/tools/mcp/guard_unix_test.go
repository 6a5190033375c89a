//go:build unix

package mcp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/massgen/massgen/internal/tools/mcp"
)

// A family is a server with children, which all hold a named pipe open: it ends when
// none of them is left.

var families = map[string]func(args []string){"parent": beParent, "family": serveFamily, "child": beChild}

// The kinds of family: the server alone, with a child, and with another child that
// has a session of its own, which a guard finds on Linux only.
const (
	lonely   = "lonely"
	together = "together"
	apart    = "apart"
)

func family(path, kind string) mcp.Server {
	if kind == apart && runtime.GOOS != "linux" {
		kind = together
	}
	return self("family", path, kind)
}

// serveFamily is a server that ends only when it is killed. It has the pipe's path
// and the kind of family.
func serveFamily(args []string) {
	path, kind := args[0], args[1]
	signal.Ignore(syscall.SIGTERM)
	hold(path)
	if kind != lonely {
		bear(path, false)
	}
	if kind == apart {
		bear(path, true)
	}
	fmt.Fprintln(os.Stderr, "guard", os.Getppid())
	serveLies([]string{"nothing"})
	block() // it does not care that nobody asks any more
}

// bear starts a child, in a session of its own if it shall be apart.
func bear(path string, apart bool) {
	cmd := exec.Command(os.Args[0], "child", path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: apart}
	ready, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		_, err = bufio.NewReader(ready).ReadString('\n')
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

// beChild is what a family's server leaves behind.
func beChild(args []string) {
	hold(args[0])
	fmt.Println("ready")
	block()
}

// hold keeps the pipe open until the process ends.
func hold(path string) {
	if _, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_NONBLOCK, 0); err != nil {
		fmt.Fprintln(os.Stderr, "Error: open the pipe:", err)
		os.Exit(1)
	}
}

// beParent is a program that holds a client of a family until it is killed.
func beParent(args []string) {
	launcher, err := mcp.Launcher()
	if err == nil {
		_, err = mcp.Start(context.Background(), family(args[0], apart), mcp.Options{Launcher: launcher})
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("ready")
	block()
}

// watched makes the pipe that a family holds, and returns its path and what waits
// until nobody does.
func watched(t *testing.T) (path string, gone func()) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "alive")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	alive, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { alive.Close() })
	return path, func() {
		t.Helper()
		if err := alive.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		if _, err := alive.Read(make([]byte, 1)); err != io.EOF {
			t.Fatalf("somebody is left: %v", err)
		}
	}
}

// TestKilledParent kills a program that has a server, again and again: nobody of the
// server's family is left.
func TestKilledParent(t *testing.T) {
	t.Parallel()
	for range 10 {
		path, gone := watched(t)
		parent := exec.Command(os.Args[0], "parent", path)
		parent.Stderr = os.Stderr
		out, err := parent.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := parent.Start(); err != nil {
			t.Fatal(err)
		}
		said, err := bufio.NewReader(out).ReadString('\n')
		if err != nil || strings.TrimSpace(said) != "ready" {
			t.Errorf("the parent says %q: %v", said, err)
		}
		if err := parent.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if parent.Wait() == nil {
			t.Fatal("the parent was not killed")
		}
		gone()
	}
}

// TestClosedFamily: Close ends all of a family that does not end by itself, under a
// guard and without one.
func TestClosedFamily(t *testing.T) {
	for kind, launcher := range map[string][]string{apart: guarded(t), together: nil} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			path, gone := watched(t)
			c, err := mcp.Start(t.Context(), family(path, kind), mcp.PatientToClose(mcp.Options{Launcher: launcher}))
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			gone()
		})
	}
}

// TestKilledGuard: a server dies with its guard where the kernel sees to that.
func TestKilledGuard(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		return
	}
	path, gone := watched(t)
	c, lines := start(t, family(path, lonely), mcp.Options{})
	var guard int
	if _, err := fmt.Sscanf(lines.await(t, "guard "), "guard %d", &guard); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(guard, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	gone()
	// The client sees it some time later.
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for c.Ping(ctx) == nil && ctx.Err() == nil {
	}
	call(t, c, "tool", "")
	lines.await(t, "started anew")
}

func TestGuard(t *testing.T) {
	for _, args := range [][]string{nil, {"__mcp-guard"}, {"--help"}, {"question", "x"}} {
		if _, handled := mcp.RunGuard(args); handled {
			t.Errorf("%q is taken for a guard", args)
		}
	}
}
