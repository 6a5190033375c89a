package heavy

// Shape counts the values of a JSON text, and how deep they are nested, while the text comes. It does not
// find out whether the text is JSON. The names in objects count too.
type Shape struct {
	Values  int
	Deepest int // nested values

	depth             int
	inText, isEscaped bool
}

// ShapeOf returns the shape of a whole text.
func ShapeOf(text []byte) Shape {
	var s Shape
	s.Add(text)
	return s
}

// Add reads the next bytes of the text.
func (s *Shape) Add(p []byte) {
	for _, c := range p {
		switch {
		case s.isEscaped:
			s.isEscaped = false
		case s.inText && c == '\\':
			s.isEscaped = true
		case c == '"':
			s.inText = !s.inText
		case s.inText:
		case c == '{' || c == '[':
			s.Values++
			s.depth++
			s.Deepest = max(s.Deepest, s.depth)
		case c == ',' || c == ':':
			s.Values++
		case c == '}' || c == ']':
			s.depth--
		}
	}
}
