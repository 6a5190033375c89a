package tui

import "slices"

// pile is a list of pieces that scrolls. A piece has one line or more, and may lay them out when lines is
// called.
type pile interface {
	count() int
	// lines returns the lines of piece i.
	lines(i int) []string
}

// position is the scroll position of a pile. It refers to the piece at the bottom of the screen, so that
// pieces above the screen cost nothing.
type position struct {
	isFree bool // scrolled away from the end; else it follows the end
	bottom int  // the last shown piece
	below  int  // its lines below the screen
	// first is the piece that stands at the top until somebody scrolls, counted from 1; 0 for none.
	first int
}

// toEnd goes to the end, and follows it.
func (p *position) toEnd() { *p = position{} }

// from puts a piece at the top of the screen, or the end at the bottom if all that follows has room.
func (p *position) from(piece int) { *p = position{isFree: true, first: piece + 1} }

// settleFrom finds the end of the screen that begins with piece first.
func (p *position) settleFrom(of pile, height int) {
	last, room := of.count()-1, height
	for i := min(p.first-1, last); i <= last; i++ {
		n := len(of.lines(i))
		if n > room || n == room && i < last {
			p.bottom, p.below = i, n-room
			return
		}
		room -= n
	}
	p.bottom, p.below = last, 0
}

// toStart goes to the first line.
func (p *position) toStart(of pile, height int) {
	*p = position{isFree: true, below: 1 << 30}
	p.settle(of, height)
}

// settle corrects the position so that it fills the screen, if the pile has enough lines.
func (p *position) settle(of pile, height int) {
	last := of.count() - 1
	if last < 0 || !p.isFree {
		p.bottom, p.below = max(last, 0), 0
		return
	}
	if p.first > 0 {
		p.settleFrom(of, height)
		return
	}
	if p.bottom > last {
		p.bottom, p.below = last, 0
	}
	p.below = min(p.below, len(of.lines(p.bottom)))
	room := height
	for i := p.bottom; i >= 0 && room > 0; i-- {
		n := len(of.lines(i))
		if i == p.bottom {
			n -= p.below
		}
		room -= n
	}
	if room > 0 {
		p.down(of, room)
	}
	p.isFree = p.bottom < last || p.below > 0
}

// move scrolls by a number of lines, up if it is positive.
func (p *position) move(of pile, by, height int) {
	if of.count() == 0 {
		return
	}
	p.settle(of, height)
	p.first = 0
	if by < 0 {
		p.down(of, -by)
	} else {
		p.up(of, by)
	}
	p.isFree = true
	p.settle(of, height)
}

func (p *position) up(of pile, by int) {
	for {
		shown := len(of.lines(p.bottom)) - p.below
		if by < shown || p.bottom == 0 {
			p.below += min(by, shown)
			return
		}
		by -= shown
		p.bottom, p.below = p.bottom-1, 0
	}
}

func (p *position) down(of pile, by int) {
	for by > p.below {
		if p.bottom == of.count()-1 {
			p.below = 0
			return
		}
		by -= p.below
		p.bottom++
		p.below = len(of.lines(p.bottom))
	}
	p.below -= by
}

// view returns the lines on the screen, at most height.
func (p *position) view(of pile, height int) []string {
	p.settle(of, height)
	var reversed []string
	for i := p.bottom; i >= 0 && i < of.count() && len(reversed) < height; i-- {
		lines := of.lines(i)
		if i == p.bottom {
			lines = lines[:len(lines)-p.below]
		}
		for j := len(lines) - 1; j >= 0 && len(reversed) < height; j-- {
			reversed = append(reversed, lines[j])
		}
	}
	slices.Reverse(reversed)
	return reversed
}
