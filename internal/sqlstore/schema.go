package sqlstore

import (
	_ "embed" // for the schema
	"fmt"
)

//go:embed schema.sql
var schema string

// Version is that of schema.sql. A change of the schema is the next number: schema.sql says
// how a new store looks, and each dialect has a step that leads an older one there.
const Version = 5

// Schema returns the statements that make an empty database a store.
func (d Dialect) Schema() string { return d.Translate(schema) }

// Steps lead from a version to the next. Where there is none, nothing changes.
type Steps map[int]string

// Apply brings a database from one version to another by exec. Version 0 is an empty one.
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
