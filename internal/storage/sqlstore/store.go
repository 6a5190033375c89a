package sqlstore

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"time"

	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// Store keeps sessions in a database. With Check and Compact, which every dialect adds, it is a
// sessions.Backing. It is safe for concurrent use.
type Store struct {
	db    *DB
	holds Holds
}

// New returns a Store on a database that has the schema.
func New(db *DB, holds Holds) *Store { return &Store{db, holds} }

// Put implements sessions.Backing.
func (s *Store) Put(ctx context.Context, data []byte) (blob.Ref, error) {
	return s.db.Texts.Put(ctx, data)
}

// Get implements sessions.Backing.
func (s *Store) Get(ctx context.Context, ref blob.Ref) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if data, _ := s.db.Texts.AtHand(ref); data != nil {
		return data, nil
	}
	var data []byte
	err := s.db.Patiently(ctx, func() error { return s.db.readText(ctx, ref, &data) })
	if errors.Is(err, sql.ErrNoRows) || err == nil && len(data) != ref.Bytes {
		return nil, sessions.NoText(ref)
	}
	return data, s.db.Fault("read a text", err)
}

// Leave implements sessions.Backing.
func (s *Store) Leave(ctx context.Context, id string, turn int) (held bool, err error) {
	return s.holds.LetGo(ctx, id, turn)
}

// readText reads one text. Histories are read with it, link by link.
func (d *DB) readText(ctx context.Context, ref blob.Ref, data *[]byte) error {
	const statement = "SELECT data FROM texts WHERE sha256 = $1"
	if !d.Prepares {
		return d.Read.QueryRowContext(ctx, statement, SumOf(ref)).Scan(data)
	}
	prepared, err := d.prepare(ctx, statement)
	if err != nil {
		return err
	}
	return prepared.QueryRowContext(ctx, SumOf(ref)).Scan(data)
}

// SumOf returns the hash as columns keep it. For an invalid hash it returns an empty one, under
// which nothing is kept.
func SumOf(ref blob.Ref) []byte {
	sum, err := hex.DecodeString(ref.SHA256)
	if err != nil {
		return []byte{}
	}
	return sum
}

// sumOrNull returns the hash of a reference, NULL for the zero reference.
func sumOrNull(ref blob.Ref) any {
	if ref == (blob.Ref{}) {
		return nil
	}
	return SumOf(ref)
}

// storedRef is a reference as queries return it: NULL is the zero reference.
type storedRef struct {
	sum   []byte
	bytes sql.NullInt64
}

func (r storedRef) ref() blob.Ref {
	if r.sum == nil {
		return blob.Ref{}
	}
	return blob.Ref{SHA256: hex.EncodeToString(r.sum), Bytes: int(r.bytes.Int64)}
}

// stamp is a time as databases return it: as milliseconds, or as a time. NULL is zero.
type stamp struct{ time.Time }

// Scan implements sql.Scanner.
func (s *stamp) Scan(value any) error {
	switch v := value.(type) {
	case nil:
		s.Time = time.Time{}
	case int64:
		s.Time = time.UnixMilli(v).UTC()
	case time.Time:
		s.Time = v.UTC()
	default:
		return errors.New("a time is neither a number nor a time")
	}
	return nil
}

// timeOrNull returns a time in the form of columns, NULL for the zero time.
func (d Dialect) timeOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return d.Time(t)
}
