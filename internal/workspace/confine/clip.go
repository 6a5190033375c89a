package confine

import (
	"fmt"
	"slices"
)

// clip is a writer that keeps the beginning and the end of what it gets.
type clip struct {
	most  int
	first []byte
	last  []byte // the newest bytes, at most twice as many as are kept
	total int64
}

// Write never fails: a command is not stopped by what it writes.
func (c *clip) Write(p []byte) (int, error) {
	c.total += int64(len(p))
	rest := p
	if room := c.most/2 - len(c.first); room > 0 {
		taken := min(room, len(rest))
		c.first, rest = append(c.first, rest[:taken]...), rest[taken:]
	}
	kept := c.most - c.most/2
	if len(rest) > kept {
		c.last, rest = c.last[:0], rest[len(rest)-kept:]
	}
	c.last = append(c.last, rest...)
	if len(c.last) > 2*kept {
		c.last = slices.Delete(c.last, 0, len(c.last)-kept)
	}
	return len(p), nil
}

func (c *clip) end() []byte {
	return c.last[max(0, len(c.last)-(c.most-c.most/2)):]
}

// text is the beginning and the end, with a word in between of what is missing.
func (c *clip) text() []byte {
	gap := ""
	if n := c.omitted(); n > 0 {
		gap = fmt.Sprintf("\n[%d bytes are left out here]\n", n)
	}
	return slices.Concat(c.first, []byte(gap), c.end())
}

func (c *clip) omitted() int64 { return c.total - int64(len(c.first)+len(c.end())) }
