package markdown

import (
	"fmt"
	"strings"
)

// Colour is one of the 256 colours that terminals have in common.
type Colour int

// The colours have contrast on a light background and on a dark one: a terminal does not always tell
// which of them it has.
const (
	Cyan    Colour = 30
	Magenta Colour = 133
	Green   Colour = 28
	Yellow  Colour = 130
	Red     Colour = 160
)

// Code returns the SGR parameter of the colour.
func (c Colour) Code() string { return fmt.Sprintf("38;5;%d", int(c)) }

// variants returns the colours with their stronger forms.
func variants() (list []struct{ usual, onDark, onLight Colour }) {
	return []struct{ usual, onDark, onLight Colour }{
		{Cyan, 80, 23}, {Magenta, 176, 90}, {Green, 77, 22}, {Yellow, 179, 94}, {Red, 210, 124},
	}
}

// OnBackground returns a text whose colours have more contrast on a known background.
func OnBackground(text string, isDark bool) string {
	var pairs []string
	for _, v := range variants() {
		to := v.onLight
		if isDark {
			to = v.onDark
		}
		for _, before := range []string{"\x1b[", "\x1b[1;", "\x1b[4;", "\x1b[3;"} {
			pairs = append(pairs, before+v.usual.Code()+"m", before+to.Code()+"m")
		}
	}
	return strings.NewReplacer(pairs...).Replace(text)
}
