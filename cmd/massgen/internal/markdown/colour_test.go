package markdown

import (
	"math"
	"testing"
)

// contrast is that of a colour of the cube of 256 with a grey of so much light (WCAG 2.2, 1.4.3).
func contrast(c Colour, background float64) float64 {
	channel := func(level int) float64 {
		value := 0.0
		if level > 0 {
			value = float64(55+40*level) / 255
		}
		return linear(value)
	}
	n := int(c) - 16
	light := 0.2126*channel(n/36) + 0.7152*channel(n/6%6) + 0.0722*channel(n%6)
	dark := linear(background)
	return (max(light, dark) + 0.05) / (min(light, dark) + 0.05)
}

func linear(value float64) float64 {
	if value <= 0.04045 {
		return value / 12.92
	}
	return math.Pow((value+0.055)/1.055, 2.4)
}

// TestColoursAreReadable on black and white, and their stronger forms on dark and light greys.
func TestColoursAreReadable(t *testing.T) {
	for _, v := range variants() {
		for _, test := range []struct {
			colour            Colour
			background, least float64
		}{{v.usual, 0, 3.5}, {v.usual, 1, 3.5}, {v.onDark, 0, 4.5}, {v.onDark, 0.2, 4.5}, {v.onLight, 1, 4.5}, {v.onLight, 0.9, 4.5}} {
			if got := contrast(test.colour, test.background); got < test.least {
				t.Errorf("%d on %.1f has a contrast of %.1f, less than %.1f", test.colour, test.background, got, test.least)
			}
		}
	}
}

// TestColoursSuitTheBackground, and nothing but colours changes.
func TestColoursSuitTheBackground(t *testing.T) {
	text := "38;5;30m \x1b[38;5;30mcyan\x1b[m \x1b[1;38;5;133mbold\x1b[m \x1b[2mfaint\x1b[m"
	if got, want := OnBackground(text, true), "38;5;30m \x1b[38;5;80mcyan\x1b[m \x1b[1;38;5;176mbold\x1b[m \x1b[2mfaint\x1b[m"; got != want {
		t.Errorf("on dark: %q, want %q", got, want)
	}
	if got, want := OnBackground(text, false), "38;5;30m \x1b[38;5;23mcyan\x1b[m \x1b[1;38;5;90mbold\x1b[m \x1b[2mfaint\x1b[m"; got != want {
		t.Errorf("on light: %q, want %q", got, want)
	}
}
