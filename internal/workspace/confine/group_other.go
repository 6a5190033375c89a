//go:build !unix

package confine

import (
	"os"
	"os/exec"
)

// There are no process groups here: only the command itself is killed.
func group(*exec.Cmd) {}

func killGroup(*exec.Cmd) error { return nil }

func ended(state *os.ProcessState) report { return report{Exit: state.ExitCode()} }
