//go:build unix

package main

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
)

// peakOf returns the most bytes of memory that a process held which has ended.
func peakOf(state *os.ProcessState) int64 {
	usage, _ := state.SysUsage().(*syscall.Rusage)
	if usage == nil {
		return 0
	}
	return maxrss(usage)
}

// ownPeak returns the most bytes that this process has held.
func ownPeak() (int64, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, fmt.Errorf("read its own usage: %w", err)
	}
	return maxrss(&usage), nil
}

// maxrss is in kilobytes on all systems but Darwin.
func maxrss(usage *syscall.Rusage) int64 {
	peak := int64(usage.Maxrss) //nolint:unconvert // it has 32 bits on some systems
	if runtime.GOOS != "darwin" {
		peak *= 1024
	}
	return peak
}
