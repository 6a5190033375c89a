//go:build !unix

package tui

import "os"

// restorer is nothing where there is no shell for it.
type restorer struct{}

func startRestorer(*os.File) *restorer { return nil }

func (*restorer) end() {}
