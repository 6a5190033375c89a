package tui

import "os"

// guardedFile is the keyboard without the control sequences that crash the screen's library. It fails at
// more than 32 parameters, which any pasted text may contain.
type guardedFile struct {
	*os.File
	guard guard
	// gone is called when the input has ended, which the library ignores.
	gone func()
}

// Read implements io.Reader.
func (f *guardedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	if err != nil {
		f.gone()
	}
	return len(f.guard.filter(p[:n])), err
}

// guard shortens control sequences that are too long.
type guard struct {
	last       byte
	isSequence bool // inside a control sequence
	parameters int
	length     int
}

// The limits of a control sequence. No key has more than eight parameters.
const (
	mostParameters = 16
	longestKey     = 256
)

// filter drops bytes in place.
func (g *guard) filter(p []byte) []byte {
	kept := p[:0]
	for _, b := range p {
		if g.passes(b) {
			kept = append(kept, b)
		}
		g.last = b
	}
	return kept
}

func (g *guard) passes(b byte) bool {
	const esc, csi, dcs = 0x1b, 0x9b, 0x90
	begins := g.last == esc && (b == '[' || b == 'P') || g.last < 0x80 && (b == csi || b == dcs)
	switch {
	case begins && !g.isSequence:
		g.isSequence, g.parameters, g.length = true, 0, 0
	case !g.isSequence:
	case b < 0x20 || b > 0x3f: // the last byte, or no part of the sequence
		g.isSequence = false
	default:
		g.length++
		if b == ';' || b == ':' {
			g.parameters++
		}
		return g.parameters < mostParameters && g.length < longestKey
	}
	return true
}
