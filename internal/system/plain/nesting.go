package plain

// Nesting follows the strings and brackets of a JSON text that comes byte by byte. The zero value is ready before the
// first byte of a value.
type Nesting struct {
	depth               int
	inString, isEscaped bool
}

// InString reports whether the next byte belongs to a string.
func (n *Nesting) InString() bool { return n.inString }

// Closes takes the next byte, and reports whether it ends the outermost string, object or list.
func (n *Nesting) Closes(c byte) bool {
	switch {
	case n.isEscaped:
		n.isEscaped = false
	case n.inString:
		n.isEscaped = c == '\\'
		n.inString = c != '"'
		return c == '"' && n.depth == 0
	case c == '"':
		n.inString = true
	case c == '{', c == '[':
		n.depth++
	case c == '}', c == ']':
		n.depth--
		return n.depth <= 0
	}
	return false
}
