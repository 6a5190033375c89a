//go:build !unix

package tui

import "os"

// restorer does nothing on systems without a shell for it.
type restorer struct{}

func startRestorer(*os.File) *restorer { return nil }

func (*restorer) end() {}
