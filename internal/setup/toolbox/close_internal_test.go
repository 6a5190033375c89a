package toolbox

import (
	"errors"
	"io"
	"slices"
	"testing"
)

type stuck struct{}

func (stuck) Close() error { return errors.New("remove temporary files: it is stuck") }

// TestWhatCannotBeTidiedUp is a warning: the answer is there, and was paid for.
func TestWhatCannotBeTidiedUp(t *testing.T) {
	var warned []string
	b := &Toolbox{opened: []io.Closer{stuck{}}, Options: Options{Warn: func(text string) { warned = append(warned, text) }}}
	b.Close()
	if want := []string{"remove temporary files: it is stuck"}; !slices.Equal(warned, want) {
		t.Errorf("warned of %q, want %q", warned, want)
	}
}
