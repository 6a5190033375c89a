package sqlite

import (
	"context"
	"time"

	"github.com/massgen/massgen/sessions"
)

// OpenPatiently is Open of a store that waits for others for a minute, however slow the
// machine is.
func OpenPatiently(ctx context.Context, path string) (*Store, error) {
	return openWithin(ctx, path, time.Minute)
}

// ListQuery returns the query of a list, in SQLite's words.
func ListQuery(f sessions.Filter) (statement string, args []any) {
	d := dialect("", 0)
	statement, args = d.ListQuery(f)
	return d.Translate(statement), args
}
