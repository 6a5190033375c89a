package markdown

import "strings"

// Text is a text that grows. It lays out each of its blocks once for a width, and keeps the lines: while a text streams
// in, only its last block is laid out anew. The blocks are drawn as Render draws the whole text, one below the other.
type Text struct {
	drawer *Drawer
	look   Look
	blocks []textBlock
	// targets are those of links so far, and links counts their lines.
	targets targets
	links   int
	reader  reader
}

// Look is what a Text does beside drawing. Both functions may be nil.
type Look struct {
	// Mask hides secrets of a block before it is drawn. Paint paints a line of it.
	Mask, Paint func(text string) string
}

// textBlock is a part of a text that is laid out on its own.
type textBlock struct {
	// lead are the lines before the text that it needs to be understood: the fence of its code or the head of its table.
	lead, text string
	fence      string // that is open at its end
	isApart    bool   // a blank line follows

	lines                     []string
	width, laidLen, laidLinks int // of lines
}

// reader is where the reading of a text is. It reads whole lines.
type reader struct {
	at       int    // in the last block
	fence    string // that is open, "" for none
	lead     string // the line that opened the fence, or the head of the table
	last     string // the line before
	isList   bool   // the block has an item of a list
	wasBlank bool   // the line before was blank
}

// A block ends with the first line that ends behind shortBlock bytes, except in a list, and anyway behind longBlock bytes.
const (
	shortBlock = 4 << 10
	longBlock  = 16 << 10
)

// NewText returns an empty text.
func (d *Drawer) NewText(look Look) *Text { return &Text{drawer: d, look: look, targets: targets{}} }

// Write adds to the text.
func (t *Text) Write(text string) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\t", "    ")
	if text == "" {
		return
	}
	if len(t.blocks) == 0 {
		t.blocks = append(t.blocks, textBlock{})
	}
	for text != "" {
		n := strings.IndexByte(text, '\n') + 1
		if n == 0 {
			n = len(text)
		}
		t.write(text[:n])
		text = text[n:]
	}
}

// write adds a line, or a part of one.
func (t *Text) write(text string) {
	b := t.last()
	b.text += text
	if strings.HasSuffix(text, "\n") {
		t.readLine(b.text[t.reader.at:])
		return
	}
	for len(t.last().text)-t.reader.at > longBlock {
		rest := t.last().text[t.reader.at:]
		n := strings.LastIndexByte(rest[:longBlock], ' ') + 1
		if n == 0 {
			n = len(strings.ToValidUTF8(rest[:longBlock], ""))
		}
		t.end(t.reader.at+max(n, 1), false)
	}
}

func (t *Text) last() *textBlock { return &t.blocks[len(t.blocks)-1] }

// readLine reads a line at the end of the text. A block ends before or behind it.
func (t *Text) readLine(line string) {
	r, p := &t.reader, t.drawer.parter
	if r.fence == "" && strings.TrimSpace(line) == "" {
		r.wasBlank, r.last = true, ""
		r.at += len(line)
		return
	}
	m, isItem := p.mark(line)
	isItem = isItem && r.fence == ""
	isTop := isItem && m.indent <= deepest
	if r.fence == "" && r.at > 0 {
		isLonger := len(t.last().text) > shortBlock
		switch {
		case r.wasBlank && !(r.isList && (isItem || indent(line) >= leastIndent)):
			t.end(r.at, true)
		case isTop && isLonger:
			t.end(r.at, r.wasBlank)
		}
	}
	if r.wasBlank {
		r.lead = ""
	}
	r.wasBlank = false
	r.isList = r.isList || isTop
	before := r.fence
	switch r.fence = p.fenced(r.fence, line); {
	case r.fence != "" && before == "":
		r.lead = line
	case r.fence == "" && before != "":
		r.lead = ""
	case r.fence == "" && p.rulers.MatchString(line) && strings.Contains(r.last, "|"):
		r.lead = r.last + line
	}
	if r.fence == "" && t.targets.add(p, harmless(line)) {
		t.links++
	}
	r.last = line
	r.at += len(line)
	if size := len(t.last().text); size > longBlock || size > shortBlock && !r.isList {
		t.end(r.at, false)
	}
}

// leastIndent is how far a line is indented at least that belongs to an item after a blank line.
const leastIndent = 2

// end ends the last block at a place in its text. What follows is the next block.
func (t *Text) end(at int, isApart bool) {
	r, b := &t.reader, t.last()
	rest := b.text[at:]
	b.text, b.fence, b.isApart, b.width = b.text[:at], r.fence, isApart, 0
	next := textBlock{text: rest}
	if !isApart {
		next.lead = r.lead
	}
	t.blocks = append(t.blocks, next)
	r.at, r.wasBlank = max(r.at-at, 0), false
	r.isList = r.isList && !isApart
}

// Len returns the number of the text's blocks. They never become fewer.
func (t *Text) Len() int { return len(t.blocks) }

// Lines returns the lines of a block, in at most width columns. The caller must not change them.
func (t *Text) Lines(i, width int) []string {
	b := &t.blocks[i]
	isLast := i == len(t.blocks)-1
	if b.width == width && b.laidLen == len(b.text) && (b.laidLinks == t.links || !strings.Contains(b.text, "[")) {
		return b.lines
	}
	b.width, b.laidLen, b.laidLinks = width, len(b.text), t.links
	text, fence := b.lead+b.text, b.fence
	if isLast {
		fence = t.drawer.parter.fenced(t.reader.fence, b.text[t.reader.at:])
	}
	if strings.TrimSpace(b.text) == "" {
		text, fence = "", ""
	}
	if fence != "" { // the parser knows no code without an end
		text = strings.TrimSuffix(text, "\n") + "\n" + fence + "\n"
	}
	if t.look.Mask != nil {
		text = t.look.Mask(text)
	}
	b.lines = t.drawer.render(text, t.targets, width)
	if t.look.Paint != nil {
		for j, line := range b.lines {
			b.lines[j] = t.look.Paint(line)
		}
	}
	if b.isApart && len(b.lines) > 0 {
		b.lines = append(b.lines, "")
	}
	return b.lines
}
