package tui

import "os"

// guardedFile is the keyboard without the control sequences that the library behind the screen
// does not survive: it breaks down at more than 32 parameters, which any pasted text may have.
type guardedFile struct {
	*os.File
	guard guard
	// gone is called when nothing more can be read. The library takes that for a person who types
	// no more.
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

// guard drops what a control sequence has too much of.
type guard struct {
	last       byte
	isSequence bool // between the beginning of one and its last byte
	parameters int
	length     int
}

// The most that a control sequence may have. No key has more than eight parameters.
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
	case b < 0x20 || b > 0x3f: // its last byte, or none of it
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
