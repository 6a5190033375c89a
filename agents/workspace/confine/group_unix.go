//go:build unix && !linux

package confine

import (
	"os"
	"os/exec"
	"syscall"
)

func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

func killGroup(cmd *exec.Cmd) {
	// A group that has ended is what is wanted.
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
}

func ended(state *os.ProcessState) report {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return report{Exit: 128 + int(ws.Signal()), Signal: ws.Signal().String()}
	}
	return report{Exit: state.ExitCode()}
}
