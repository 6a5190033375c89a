package fallback

import (
	"errors"
	"fmt"
	"strings"

	"github.com/massgen/massgen/backends"
)

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

// failed is the last error, in which all failures are named that were before it.
func failed(said []string, last error) error {
	var e *backends.Error
	if len(said) == 1 || !errors.As(last, &e) {
		return last
	}
	out := *e
	out.Err = last
	out.Message = fmt.Sprintf("%d models failed: %s", len(said), strings.Join(said, "; "))
	return &out
}
