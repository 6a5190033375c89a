package linear

import "testing"

// failed takes the place of a test, and remembers that it failed.
type failed struct {
	testing.TB
	is bool
}

func (f *failed) Helper()               {}
func (f *failed) Errorf(string, ...any) { f.is = true }

func TestCheckTellsSquaresFromLines(t *testing.T) {
	sum := 0
	line, square := &failed{}, &failed{}
	Check(line, 20_000_000, func(n int) {
		for i := range n {
			sum += i
		}
	})
	Check(square, 2000, func(n int) {
		for i := range n * n {
			sum += i
		}
	})
	if line.is || !square.is {
		t.Errorf("a line fails: %t, a square: %t (%d)", line.is, square.is, sum)
	}
}
