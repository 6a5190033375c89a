package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
)

// process is a server in a process of its own.
type process struct {
	cmd *exec.Cmd
	url string
	// read is closed when all that it said is read.
	read chan struct{}
}

// start starts a server and waits for the line in which it names its address. Its home is a folder
// of its own, so that no settings of a user matter.
func start(ctx context.Context, home, sign, program string, args ...string) (*process, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = in, in
	err = cmd.Start()
	_ = in.Close() // the process has it, or there is none
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	p := &process{cmd: cmd, read: make(chan struct{})}
	lines := bufio.NewReader(out)
	for p.url == "" {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s has ended: %s", filepath.Base(program), line), cmd.Wait())
		}
		if strings.Contains(line, sign) {
			p.url = regexp.MustCompile(`http://[0-9.:]+`).FindString(line)
		}
	}
	go func() {
		defer close(p.read)
		_, _ = io.Copy(os.Stderr, lines) // it ends with the process
		_ = out.Close()                  // it was only read
	}()
	return p, nil
}

// end interrupts the process and waits for it.
func (p *process) end() error {
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	err := p.cmd.Wait()
	<-p.read
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled() {
		return nil // the model server knows no better end
	}
	return err
}

// memory returns an entry of what Linux says of the process's memory, in bytes, and 0 elsewhere.
func (p *process) memory(entry string) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	found := regexp.MustCompile(entry + `:\s*([0-9]+) kB`).FindSubmatch(text)
	if found == nil {
		return 0, fmt.Errorf("the system does not tell %s", entry)
	}
	kB, err := strconv.ParseInt(string(found[1]), 10, 64)
	return kB << 10, err
}
