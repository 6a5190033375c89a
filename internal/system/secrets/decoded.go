package secrets

import (
	"cmp"
	"slices"
	"strings"
)

// decoded is a text whose escapes were decoded. Its original is the text before that.
type decoded struct {
	text    string
	escapes []escape
}

// escape is a decoded escape. It may stand for no character.
type escape struct {
	begin, end int // in the decoded text
	lost       int // how many bytes the original has more up to the end
}

// isOriginal reports whether the original has no escapes.
func (d decoded) isOriginal() bool { return len(d.escapes) == 0 }

// toOriginal turns places in the text into places in the original.
func (d decoded) toOriginal(places []place) {
	for i, p := range places {
		places[i].from, places[i].to = p.from+d.lostBefore(p.from, false), p.to+d.lostBefore(p.to, true)
	}
}

// lostBefore returns how many bytes the original has more before a place in the text. Escapes
// without a character are before a place that begins behind them, and not before one that ends there.
func (d decoded) lostBefore(at int, isEnd bool) int {
	n, _ := slices.BinarySearchFunc(d.escapes, at, func(e escape, at int) int { return cmp.Compare(e.end, at) })
	for n < len(d.escapes) && d.escapes[n].end == at && (!isEnd || d.escapes[n].begin < at) {
		n++
	}
	if n == 0 {
		return 0
	}
	return d.escapes[n-1].lost
}

// decoder builds a decoded text.
type decoder struct {
	text    string
	built   strings.Builder
	from    int // the end of the part that was built
	escapes []escape
}

// put replaces a part of the text. Parts come in order.
func (d *decoder) put(char string, from, to int) {
	d.built.WriteString(d.text[d.from:from])
	begin := d.built.Len()
	d.built.WriteString(char)
	d.from = to
	d.escapes = append(d.escapes, escape{begin, d.built.Len(), to - d.built.Len()})
}

func (d *decoder) decoded() decoded {
	if len(d.escapes) == 0 {
		return decoded{text: d.text}
	}
	d.built.WriteString(d.text[d.from:])
	return decoded{d.built.String(), d.escapes}
}
