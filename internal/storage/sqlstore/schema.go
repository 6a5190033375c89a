package sqlstore

import (
	_ "embed" // for the schema
	"fmt"
)

//go:embed schema.sql
var schema string

// Version is the version of schema.sql. A change of the schema takes the next number:
// schema.sql defines a new store, and each dialect has a step that upgrades an older one.
const Version = 7

// Schema returns the statements that make an empty database a store.
func (d Dialect) Schema() string { return d.Translate(schema) }

// Steps upgrade a store from a version to the next. A version without a step needs no change.
type Steps map[int]string

// Apply upgrades a database from one version to another by exec. Version 0 is an empty
// database.
func (s Steps) Apply(d Dialect, from, to int, exec func(statements string) error) error {
	if from == 0 {
		if err := exec(d.Schema()); err != nil {
			return fmt.Errorf("make version %d: %w", Version, err)
		}
		from = Version
	}
	for ; from < to; from++ {
		if s[from] == "" {
			continue
		}
		if err := exec(s[from]); err != nil {
			return fmt.Errorf("go from version %d to %d: %w", from, from+1, err)
		}
	}
	return nil
}
