package confine

import (
	"fmt"
	"slices"
)

// clip is a writer that keeps the beginning and the end of what it gets.
type clip struct {
	most  int
	kept  []byte
	total int64
}

// Write never fails: a command is not stopped by what it writes.
func (c *clip) Write(p []byte) (int, error) {
	c.total += int64(len(p))
	c.kept = append(c.kept, p...)
	if len(c.kept) > 2*c.most {
		c.drop()
	}
	return len(p), nil
}

// drop leaves out what is between the beginning and the end.
func (c *clip) drop() {
	first := c.most / 2
	c.kept = slices.Delete(c.kept, first, max(first, len(c.kept)-(c.most-first)))
}

// text is the beginning and the end, with a word in between of what is missing.
func (c *clip) text() []byte {
	n := c.omitted()
	if n == 0 {
		return c.kept
	}
	c.drop()
	return slices.Insert(c.kept, c.most/2, fmt.Appendf(nil, "\n[%d bytes are left out here]\n", n)...)
}

func (c *clip) omitted() int64 { return max(0, c.total-int64(c.most)) }
