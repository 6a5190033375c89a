package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// machine is where and of what a run was made.
type machine struct {
	CPU, Memory, System, Load string // what the system does not say is empty
	Cores                     int
	Go, Commit                string
	Date                      time.Time
}

func describeMachine(ctx context.Context, root string) (machine, error) {
	m := machine{
		CPU: fieldOf("/proc/cpuinfo", "model name"), Memory: fieldOf("/proc/meminfo", "MemTotal"),
		System: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU(), Go: runtime.Version(), Date: time.Now().UTC(),
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load, _, _ = strings.Cut(string(load), " ")
	}
	commit, err := output(ctx, root, "git", "rev-parse", "--short", "HEAD")
	if err != nil {
		return m, fmt.Errorf("find the commit: %w", err)
	}
	changes, err := output(ctx, root, "git", "status", "--porcelain", "--", ".", ":!"+page)
	if err != nil {
		return m, fmt.Errorf("find changes: %w", err)
	}
	m.Commit = strings.TrimSpace(commit)
	if changes != "" {
		m.Commit += ", with changes"
	}
	return m, nil
}

// fieldOf returns the value of the first line of a file that begins with a name, or nothing.
func fieldOf(path, name string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
