package fallback

import (
	"errors"
	"fmt"
	"strings"

	"github.com/massgen/massgen/backends"
)

// failure is what became of one model.
type failure struct {
	model string
	err   error
}

type failures []failure

// curable says whether another model may answer where one failed with err.
func curable(err error) bool {
	var e *backends.Error
	if !errors.As(err, &e) || e.Begun {
		return false
	}
	switch e.Kind {
	case backends.KindAuth, backends.KindRateLimit, backends.KindOverloaded:
		return true
	}
	return e.Unreachable
}

// err is the last failure, with the others before it.
func (f failures) err() error {
	last := f[len(f)-1].err
	var e *backends.Error
	if len(f) == 1 || !errors.As(last, &e) {
		return last
	}
	said := make([]string, len(f))
	for i, one := range f {
		said[i] = fmt.Sprintf("%s: %v", one.model, one.err)
	}
	out := *e
	out.Err = last
	out.Message = fmt.Sprintf("%d models failed: %s", len(f), strings.Join(said, "; "))
	return &out
}
