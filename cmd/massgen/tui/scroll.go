package tui

import "slices"

// pile is what is scrolled: pieces of one line or more, which need not be laid out before they
// are asked for.
type pile interface {
	count() int
	// lines are those of piece i.
	lines(i int) []string
}

// position is where a pile is scrolled to. It hangs on the piece at the bottom of the screen, so
// that whatever a pile has above the screen, and however much, costs nothing.
type position struct {
	isFree bool // scrolled away from the end, which is followed otherwise
	bottom int  // the last piece that is shown
	below  int  // its lines below the screen
}

// toEnd goes to the end, and follows it.
func (p *position) toEnd() { *p = position{} }

// toStart goes to the first line.
func (p *position) toStart(of pile, height int) {
	*p = position{isFree: true, below: 1 << 30}
	p.settle(of, height)
}

// settle holds the position to what the pile has: the screen is full where there is enough.
func (p *position) settle(of pile, height int) {
	last := of.count() - 1
	if last < 0 || !p.isFree {
		p.bottom, p.below = max(last, 0), 0
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

// move scrolls by so many lines, up if they are more than 0.
func (p *position) move(of pile, by, height int) {
	if of.count() == 0 {
		return
	}
	p.settle(of, height)
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

// view are the lines on the screen, at most so many.
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
