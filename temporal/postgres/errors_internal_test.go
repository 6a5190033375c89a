package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestFaults names for each error what people read, and whether the same is done again.
func TestFaults(t *testing.T) {
	code := func(code string) error {
		return fmt.Errorf("on two\n\tlines: %w", &pgconn.PgError{Code: code, Message: "words"})
	}
	for name, c := range map[string]struct {
		err    error
		want   string
		passes bool
	}{
		"a deadlock":             {code("40P01"), "has failed", true},
		"a conflict":             {code("40001"), "has failed", true},
		"a server that ends":     {code("57P01"), "has failed", true},
		"a server that crashed":  {code("57P02"), "has failed", true},
		"a server that starts":   {code("57P03"), "has failed", true},
		"no connection is free":  {code("53300"), "has no connection free", true},
		"a full disk":            {code("53100"), "has no room: make some on its server's disk", false},
		"a copy":                 {code("25006"), "cannot be written", false},
		"no rights":              {code("42501"), "is closed to this user", false},
		"a wrong password":       {code("28P01"), "does not let this user in", false},
		"no database":            {code("3D000"), "is in a database that is not there", false},
		"no table":               {code("42P01"), "is damaged", false},
		"a damaged file":         {code("XX001"), "is damaged", false},
		"a cut connection":       {fmt.Errorf("read: %w", io.ErrUnexpectedEOF), "has failed", true},
		"a connection that ends": {&net.OpError{Op: "write", Err: errors.New("broken pipe")}, "has failed", true},
		"a connection was gone":  {driver.ErrBadConn, "has failed", true},
		"a commit without reply": {fmt.Errorf("%w: %w", errUnsure, io.ErrUnexpectedEOF), "nobody knows", false},
		"anything else":          {errors.New("words"), "has failed (words)", false},
	} {
		err := fault("here", "write", c.err)
		if text := err.Error(); !strings.HasPrefix(text, "write: the store here ") || !strings.Contains(text, c.want) || strings.Contains(text, "\n") {
			t.Errorf("%s: error %q, want one line with %q", name, text, c.want)
		}
		if passes(err) != c.passes {
			t.Errorf("%s: it passes: %v", name, !c.passes)
		}
	}
	if err := fault("here", "write", context.Canceled); err != context.Canceled {
		t.Errorf("a cancelled call: %v", err)
	}
}
