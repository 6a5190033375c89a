//go:build !linux

package child

import "os/exec"

// AdoptOrphans does nothing where a process cannot become the parent of others'
// children: what leaves the group stays.
func AdoptOrphans(*exec.Cmd) error { return nil }

// reap waits for a command, and calls ended when it has ended. Its number is free by
// then, and for an instant could be another's.
func reap(cmd *exec.Cmd, ended func()) error {
	err := cmd.Wait()
	ended()
	return err
}

// EndOrphans does nothing: there are none of others.
func EndOrphans() {}
