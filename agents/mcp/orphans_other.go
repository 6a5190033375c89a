//go:build !linux

package mcp

import "os/exec"

// adoptOrphans does nothing where a process cannot become the parent of others'
// children: what leaves the group stays.
func adoptOrphans(*exec.Cmd) error { return nil }

func killOrphans() {}
