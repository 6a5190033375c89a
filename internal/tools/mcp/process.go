package mcp

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/massgen/massgen/internal/system/child"
)

// process is a running server. Its standard error is read continuously. It is safe for concurrent use.
type process struct {
	group  *child.Group // of the server, or of its guard
	stdin  *os.File
	stdout *os.File
	// lifeline goes to the supervisor, which is the guard or a goroutine.
	lifeline *os.File
	words    words
	lastWait time.Duration // the Options'
	stopping sync.Once
	// ended is closed when the server and all that it left behind are gone; status
	// then says how it ended.
	ended  chan struct{}
	status string
}

// startProcess starts the server's command. Log gets the lines of its standard error.
func startProcess(server Server, options Options, log func(line string)) (*process, error) {
	command, err := find(server.Command)
	if err != nil {
		return nil, err
	}
	if server.Dir != "" {
		// The system's own error would name the program.
		if _, err := os.ReadDir(server.Dir); err != nil {
			return nil, fmt.Errorf("its directory: %w", err)
		}
	}
	pipes, err := openPipes(4)
	if err != nil {
		return nil, fmt.Errorf("open pipes: %w", err)
	}
	stdin, stdout, stderr, lifeline := pipes[0], pipes[1], pipes[2], pipes[3]
	argv := append([]string{command}, server.Args...)
	guarded := len(options.Launcher) > 0 && child.OutlivesParent
	if guarded {
		argv = append(slices.Clone(options.Launcher), argv...)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = server.Dir, environment(server.Env)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin.read, stdout.write, stderr.write
	if guarded {
		cmd.ExtraFiles = []*os.File{lifeline.read}
	}
	group, err := child.Start(cmd)
	stdin.read.Close()
	stdout.write.Close()
	stderr.write.Close()
	if err != nil {
		for _, f := range []*os.File{stdin.write, stdout.read, stderr.read, lifeline.read, lifeline.write} {
			f.Close()
		}
		return nil, err
	}
	p := &process{
		group: group, stdin: stdin.write, stdout: stdout.read, lifeline: lifeline.write,
		lastWait: cmp.Or(options.lastWait, drainGrace), ended: make(chan struct{}),
	}
	wait := group.Wait
	if guarded {
		lifeline.read.Close()
	} else {
		wait = func() error { return supervise(group, lifeline.read) }
	}
	go p.await(wait, stderr.read, log)
	return p, nil
}

// find looks for a command that has no slash in its name. One that has is a path,
// seen from the directory that it is run in.
func find(command string) (string, error) {
	if strings.ContainsRune(command, '/') || strings.ContainsRune(command, os.PathSeparator) {
		return command, nil
	}
	path, err := exec.LookPath(command)
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("its command %q is not in the PATH: install it, or give its whole path", command)
	}
	return path, err
}

// pipe is an os.Pipe.
type pipe struct{ read, write *os.File }

func openPipes(n int) ([]pipe, error) {
	var pipes []pipe
	for range n {
		read, write, err := os.Pipe()
		if err != nil {
			for _, p := range pipes {
				p.read.Close()
				p.write.Close()
			}
			return nil, err
		}
		pipes = append(pipes, pipe{read, write})
	}
	return pipes, nil
}

// environment returns a server's variables: those that the protocol's other clients let a server
// inherit, the language, the place for temporary files, and its own.
func environment(own map[string]string) []string {
	inherited := []string{"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ"}
	if runtime.GOOS == "windows" {
		inherited = []string{
			"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE",
			"PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE",
		}
	}
	env := []string{}
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	for name, value := range own {
		env = append(env, name+"="+value)
	}
	return env
}

// await reads the standard error of the process until it has ended.
func (p *process) await(wait func() error, stderr *os.File, log func(line string)) {
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		p.words.hear(stderr, log)
	}()
	p.status = ending(wait())
	p.stdin.Close()
	p.lifeline.Close()
	time.AfterFunc(drainGrace, func() {
		stderr.Close()
		p.stdout.Close()
	})
	<-heard
	stderr.Close()
	close(p.ended)
}

// ending returns the end of a process in words.
func ending(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// stop begins to end the process, politely at first. It returns at once.
func (p *process) stop() {
	p.stopping.Do(func() { go p.end() })
}

func (p *process) end() {
	p.stdin.Close()
	if p.endsWithin(closeGrace) {
		return
	}
	// A guard that cannot be told to be polite is gone, and so is the server.
	if _, err := p.lifeline.Write([]byte{pleaseEnd}); err == nil && p.endsWithin(terminateGrace) {
		return
	}
	p.lifeline.Close()
	if !p.endsWithin(killGrace) {
		p.group.Kill()
	}
}

func (p *process) endsWithin(d time.Duration) bool {
	select {
	case <-p.ended:
		return true
	case <-time.After(d):
		return false
	}
}

// epitaph returns how the process ended and its last words. If it still runs, it says so.
func (p *process) epitaph() string {
	if !p.endsWithin(p.lastWait) {
		return cmp.Or(p.words.telling(), "it closed its output")
	}
	if last := p.words.telling(); last != "" {
		return p.status + ": " + last
	}
	return p.status
}
