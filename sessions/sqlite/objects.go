package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// objectFiles list the objects of a store, a line each, as objectLine writes it. A list holds from
// its version on until the next list. A migration may have made an object in another way than a new
// store does: then it has two lines.
//
//go:embed schema/objects*.txt
var objectFiles embed.FS

// querier is a connection or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// checkObjects returns the version of a store. It fails if the store has an object that massgen does
// not make in that version, or lacks one: another program's view or trigger would run within the
// statements of the store, and might never end. It ignores the objects of a version above newest.
func checkObjects(ctx context.Context, q querier, newest int) (version int, err error) {
	rows, err := q.QueryContext(ctx, `
		SELECT user_version, coalesce(type, ''), coalesce(name, ''), coalesce(tbl_name, ''), coalesce(sql, '')
		FROM pragma_user_version LEFT JOIN main.sqlite_schema`)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var o objects
	for rows.Next() {
		var kind, name, table, statement string
		if err := rows.Scan(&version, &kind, &name, &table, &statement); err != nil {
			return 0, err
		}
		if version > newest {
			return version, nil
		}
		if o.lines == nil {
			if o, err = objectsOf(version); err != nil {
				return 0, err
			}
		}
		if kind == "" && name == "" && statement == "" {
			continue // a file without objects has one such row
		}
		if err := o.remove(kind, name, objectLine(kind, name, table, statement)); err != nil {
			return 0, err
		}
	}
	return version, errors.Join(rows.Err(), o.lack())
}

// objects are the objects of a version.
type objects struct {
	lines   map[string]bool // as objectLine writes them
	missing map[string]bool // objects that were not found yet, such as "table turns"
}

// remove takes an object that was found off the missing ones. It fails if massgen does not make that
// object.
func (o objects) remove(kind, name, line string) error {
	object := kind + " " + name
	switch {
	case !o.missing[object]:
		return fmt.Errorf("%w (massgen makes no %s %q)", errChanged, kind, name)
	case !o.lines[line]:
		return fmt.Errorf("%w (massgen makes another %s %q)", errChanged, kind, name)
	}
	delete(o.missing, object)
	return nil
}

// lack fails if an object is missing. An index may be, since it changes no result: the first stores
// of version 1 lack one.
func (o objects) lack() error {
	for _, object := range slices.Sorted(maps.Keys(o.missing)) {
		if !strings.HasPrefix(object, "index ") {
			return fmt.Errorf("%w (it lacks the %s)", errChanged, object)
		}
	}
	return nil
}

// objectsOf returns the objects of a version. Version 0 is an empty file.
func objectsOf(version int) (objects, error) {
	o := objects{map[string]bool{}, map[string]bool{}}
	if version == 0 {
		return o, nil
	}
	data, err := objectFiles.ReadFile(listOf(version))
	if err != nil {
		return o, fmt.Errorf("%w (its version is %d)", errDamaged, version)
	}
	for line := range strings.Lines(string(data)) {
		object, _, _ := strings.Cut(line, " of ")
		o.lines[strings.TrimSuffix(line, "\n")], o.missing[object] = true, true
	}
	return o, nil
}

// listOf returns the name of the list that holds for a version, "" if there is none.
func listOf(version int) string {
	for ; version > 0; version-- {
		name := fmt.Sprintf("schema/objects%d.txt", version)
		if _, err := fs.Stat(objectFiles, name); err == nil {
			return name
		}
	}
	return ""
}

// objectLine returns an object as a line of objectFiles.
func objectLine(kind, name, table, statement string) string {
	return strings.TrimSpace(fmt.Sprintf("%s %s of %s: %s", kind, name, table, onOneLine(statement)))
}

// onOneLine returns a statement with one blank in place of white space and comments. Comments differ
// between builds of one version.
func onOneLine(statement string) string {
	var b strings.Builder
	wasBlank := false
	for len(statement) > 0 {
		n, isBlank := lexeme(statement)
		switch {
		case !isBlank:
			b.WriteString(statement[:n])
		case !wasBlank:
			b.WriteByte(' ')
		}
		statement, wasBlank = statement[n:], isBlank
	}
	return strings.TrimSpace(b.String())
}

// lexeme returns the length of a statement's first part: white space, a comment, a text in quotes, or
// a character.
func lexeme(statement string) (n int, isBlank bool) {
	switch c := statement[0]; {
	case strings.HasPrefix(statement, "--"):
		return lengthTo(statement, "\n"), true
	case strings.HasPrefix(statement, "/*"):
		return 2 + lengthTo(statement[2:], "*/"), true
	case strings.IndexByte(" \t\n\f\r", c) >= 0:
		return 1, true
	case strings.IndexByte("'\"`", c) >= 0:
		return 1 + lengthTo(statement[1:], statement[:1]), false
	case c == '[':
		return lengthTo(statement, "]"), false
	}
	return 1, false
}

// lengthTo returns the length of a text up to the end of a part, or of all of it.
func lengthTo(text, part string) int {
	if at := strings.Index(text, part); at >= 0 {
		return at + len(part)
	}
	return len(text)
}
