//go:build !linux

package child

import "os/exec"

// AdoptOrphans does nothing: a process cannot adopt others' children here, and a process that leaves the
// group goes on running.
func AdoptOrphans(*exec.Cmd) error { return nil }

// reap waits for a command, and calls ended when it has ended. Its number is free by then, and another
// process may get it.
func reap(cmd *exec.Cmd, ended func()) error {
	err := cmd.Wait()
	ended()
	return err
}

// EndOrphans does nothing: this process adopts no orphans.
func EndOrphans() {}
