package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/massgen/massgen/sessions"
)

var (
	errUnsuited = errors.New("is no place for a store of massgen")
	errNewer    = errors.New("was written by a newer massgen")
	errOlder    = errors.New("was written by an older massgen")
	errDamaged  = errors.New("is damaged: put a copy from before in its place, or name another schema to begin a new one")
	errUnsure   = errors.New("the connection was lost while the server wrote, and nobody knows whether it did")
)

// Codes of PostgreSQL's errors (its documentation, appendix A). A code begins with its
// class.
const (
	codeDeadlock      = "40P01"
	codeSerialization = "40001"
	codeShutdown      = "57P01"
	codeCrash         = "57P02"
	codeStarting      = "57P03"
	codeConnections   = "53300"
	codeDiskFull      = "53100"
	codeReadOnly      = "25006"
	codePrivilege     = "42501"
	codeNoDatabase    = "3D000"
	codeLocked        = "55P03"
	codeNoTable       = "42P01"
	codeNoColumn      = "42703"
	classPassword     = "28"
	classDamage       = "XX"
)

// codeOf returns PostgreSQL's code of an error, or "".
func codeOf(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// fault returns an error of PostgreSQL or the network as one line that names the
// store, what was being done, and where there is one, the cure.
func fault(store, doing string, err error) error {
	switch code := codeOf(err); {
	case err == nil, errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return line{err} // it may have the lines of a failed connection
	case errors.Is(err, errNewer):
		return fmt.Errorf("the store %s %w: update massgen", store, err)
	case errors.Is(err, errOlder):
		return fmt.Errorf("the store %s %w: run massgen-temporal migrate with the same --database", store, err)
	case errors.Is(err, errUnsuited):
		return fmt.Errorf("the database %s %w", store, err)
	case errors.Is(err, errDamaged):
		return fmt.Errorf("%s: the store %s %w", doing, store, err)
	case code == codeNoTable, code == codeNoColumn, strings.HasPrefix(code, classDamage):
		return fmt.Errorf("%s: the store %s %w (%w)", doing, store, errDamaged, line{err})
	case passes(err), errors.Is(err, errUnsure), code == codeDiskFull, code == codeReadOnly: // a person may mend these
		err = sessions.Away(err)
	}
	return fmt.Errorf("%s: the store %s%s (%w)", doing, store, cure(codeOf(err), err), line{err})
}

// cure says what is wrong with a store, and what helps.
func cure(code string, err error) string {
	var unreachable *pgconn.ConnectError
	switch {
	case code == codeDiskFull:
		return " has no room: make some on its server's disk"
	case code == codeReadOnly:
		return " cannot be written: name the server that takes writes, not its copy"
	case code == codeLocked:
		return " is in use by another program: try again later"
	case code == codePrivilege:
		return " is closed to this user: grant the rights, or name another user"
	case code == codeNoDatabase:
		return " is in a database that is not there: make it, or name another"
	case code == codeConnections:
		return " has no connection free: allow the server more (max_connections), or this program fewer (pool_max_conns)"
	case strings.HasPrefix(code, classPassword):
		return " does not let this user in: look at the user and the password"
	case errors.As(err, &unreachable):
		return " is out of reach: look at its address, and whether its server runs"
	}
	return " has failed"
}

// line puts an error on one line: connection errors have several lines.
type line struct{ error }

func (l line) Error() string { return strings.Join(strings.Fields(l.error.Error()), " ") }

func (l line) Unwrap() error { return l.error }

// passes reports whether an error is temporary and the operation had no effect.
func passes(err error) bool {
	switch codeOf(err) {
	case codeDeadlock, codeSerialization, codeShutdown, codeCrash, codeStarting, codeConnections:
		return true
	case "":
		var network net.Error
		return !errors.Is(err, errUnsure) && (pgconn.SafeToRetry(err) || errors.Is(err, driver.ErrBadConn) || errors.As(err, &network) ||
			errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF))
	}
	return false
}

// unsure is the error of a commit. If the server has not answered, nobody knows whether it
// was done.
func unsure(err error) error {
	if codeOf(err) != "" {
		return err
	}
	return fmt.Errorf("%w: %w", errUnsure, err)
}
