package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/massgen/massgen/internal/system/child"
)

// grace is how long a process has to end after it was asked to.
const grace = 5 * time.Second

// start starts a command in a process group of its own. When ctx ends, the group is asked to
// end, and killed a grace later. The caller must call wait, once.
func start(ctx context.Context, cmd *exec.Cmd) (wait func() error, err error) {
	group, err := child.Start(cmd)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(cmd.Path), err)
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		group.Terminate()
		select {
		case <-ended:
		case <-time.After(grace):
			group.Kill()
		}
	})
	return func() error {
		err := group.Wait()
		close(ended)
		stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}, nil
}

// output runs a program in a folder and returns its standard output.
func output(ctx context.Context, dir, program string, args ...string) (string, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	return outputOf(ctx, cmd)
}

// outputOf runs a command and returns its standard output.
func outputOf(ctx context.Context, cmd *exec.Cmd) (string, error) {
	name := filepath.Base(cmd.Path)
	// The roles of this program end with their standard input. Wait closes this one.
	if _, err := cmd.StdinPipe(); err != nil {
		return "", fmt.Errorf("start %s: %w", name, err)
	}
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	wait, err := start(ctx, cmd)
	if err != nil {
		return "", err
	}
	if err := wait(); ctx.Err() != nil {
		return "", fmt.Errorf("%s: %w", name, ctx.Err())
	} else if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(cmd.Args[1:], " "), err, lastOf(complaints.String()+out.String(), 2000))
	}
	return out.String(), nil
}

// measured runs a program in a folder through the role measure. It writes the program's
// standard output to a file, and fails if the program does.
func (s *suite) measured(ctx context.Context, dir, file, program string, args ...string) (measurement, error) {
	text, err := output(ctx, dir, s.self, append([]string{"measure", "-output", file, program}, args...)...)
	if err != nil {
		return measurement{}, err
	}
	var m measurement
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return m, fmt.Errorf("read the measurement of %s: %w", filepath.Base(program), err)
	}
	if m.Status != 0 {
		return m, fmt.Errorf("%s %s: exit status %d", filepath.Base(program), strings.Join(args, " "), m.Status)
	}
	return m, nil
}

// lastOf returns the end of a text.
func lastOf(text string, most int) string {
	return text[max(0, len(text)-most):]
}
