//go:build unix

package workspace

import (
	"syscall"
	"testing"
)

func pipe(t *testing.T, name string) { must(t, syscall.Mkfifo(name, 0o644)) }
