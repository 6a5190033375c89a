package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// measurement is what a process took.
type measurement struct {
	Began  time.Time
	Wall   time.Duration // from its start until it was waited for
	CPU    time.Duration // user and system
	Peak   int64         // the most memory it held, in bytes; 0 if unknown
	Status int           // its exit status
}

// playMeasure runs a program and prints its measurement as JSON. It is a small process
// between the runner and the program, since Linux counts a parent's peak of memory as that
// of its child: a child that is cloned shares its parent's memory until it calls exec.
// A peak that cannot be told from its own is left out.
func playMeasure(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("measure", flag.ContinueOnError)
	output := flags.String("output", os.DevNull, "the `file` for the program's standard output")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("measure: %w", err)
	}
	if flags.NArg() == 0 {
		return errors.New("measure: name the program and its arguments")
	}
	file, err := os.Create(*output)
	if err != nil {
		return fmt.Errorf("measure: %w", err)
	}
	defer file.Close()
	cmd := exec.CommandContext(ctx, flags.Arg(0), flags.Args()[1:]...)
	cmd.Stdout, cmd.Stderr = file, os.Stderr
	m, err := measure(cmd)
	if err == nil {
		err = json.NewEncoder(out).Encode(m)
	}
	if err != nil {
		return fmt.Errorf("measure %s: %w", flags.Arg(0), err)
	}
	return nil
}

func measure(cmd *exec.Cmd) (measurement, error) {
	m := measurement{Began: time.Now()}
	err := cmd.Run()
	m.Wall = time.Since(m.Began)
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return m, err
	}
	m.Status = cmd.ProcessState.ExitCode()
	m.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	m.Peak = peakOf(cmd.ProcessState)
	if own, err := ownPeak(); err != nil || m.Peak <= own {
		m.Peak = 0
		return m, err
	}
	return m, nil
}
