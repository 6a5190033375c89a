package markdown

import (
	"strconv"
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
	Blue    Colour = 32
	Orange  Colour = 166
	Pink    Colour = 162
	Indigo  Colour = 63
	Lime    Colour = 64
)

// Code returns the SGR parameter of the colour.
func (c Colour) Code() string { return indexed + strconv.Itoa(int(c)) }

// indexed is the SGR parameter before the index of a colour.
const indexed = "38;5;"

// Paint returns a text with SGR parameters, such as a colour's Code, that do not reach beyond it.
func Paint(codes, text string) string {
	if text == "" {
		return ""
	}
	return "\x1b[" + codes + "m" + text + "\x1b[m"
}

// variants returns the colours with their stronger forms.
func variants() [10]struct{ usual, onDark, onLight Colour } {
	return [...]struct{ usual, onDark, onLight Colour }{
		{Cyan, 80, 23}, {Magenta, 176, 90}, {Green, 77, 22}, {Yellow, 179, 94}, {Red, 210, 124},
		{Blue, 75, 25}, {Orange, 215, 94}, {Pink, 211, 126}, {Indigo, 147, 57}, {Lime, 149, 58},
	}
}

// OnBackground returns a text whose colours have more contrast on a known background.
func OnBackground(text string, isDark bool) string {
	stronger := map[string]string{}
	for _, v := range variants() {
		to := v.onLight
		if isDark {
			to = v.onDark
		}
		stronger[v.usual.Code()] = to.Code()
	}
	var b strings.Builder
	b.Grow(len(text) + len(text)/8)
	for {
		at := strings.Index(text, "\x1b[")
		end := -1
		if at >= 0 {
			end = strings.IndexByte(text[at:], 'm')
		}
		if end < 0 {
			b.WriteString(text)
			return b.String()
		}
		end += at
		codes := text[at+len("\x1b[") : end]
		b.WriteString(text[:at])
		if colour := strings.Index(codes, indexed); colour >= 0 && stronger[codes[colour:]] != "" {
			codes = codes[:colour] + stronger[codes[colour:]]
		}
		b.WriteString("\x1b[" + codes + "m")
		text = text[end+1:]
	}
}
