//go:build unix && !linux

package confine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// killGroup kills what a command has left in its group. That there is nothing is no
// error; a process that may not be killed on its way out is none on some systems.
func killGroup(cmd *exec.Cmd) error {
	err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if err == nil || errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EPERM) {
		return nil
	}
	return fmt.Errorf("end what the command has started: %w", err)
}

func ended(state *os.ProcessState) report {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return report{Exit: 128 + int(ws.Signal()), Signal: ws.Signal().String()}
	}
	return report{Exit: state.ExitCode()}
}
