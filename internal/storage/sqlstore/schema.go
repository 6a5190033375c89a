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

// Steps has the step from each version to the next. A version without a step needs no change.
type Steps map[int]Step

// Step upgrades a store by one version. Its fields run in their order; most steps have one field.
// In a shared database, a program of version V works with stores of the versions V-1 to V+1, also
// while they are migrated. So a step may use Expand and Indexes freely, may remove with Contract
// only what the program of the version before no longer uses, and may not use Breaks.
type Step struct {
	// Indexes are added while programs write, each as "NAME ON TABLE (COLUMN)". Programs of both
	// versions work without them, only slower.
	Indexes []string
	// Expand adds tables, columns that may be omitted, and functions. A program of the version
	// before ignores them. A program of the new version works without them.
	Expand string
	// Contract removes what a program of the version before does not use.
	Contract string
	// Breaks is for versions up to 6, from before this rule. A program of the version before does
	// not work after these statements, nor a program of the new version without them.
	Breaks string
}

// Statements returns a step's statements for one transaction.
func (s Step) Statements() (list []string) {
	for _, index := range s.Indexes {
		list = append(list, "CREATE INDEX "+index)
	}
	return append(list, s.Changes()...)
}

// Changes returns a step's statements without those for its indexes.
func (s Step) Changes() (list []string) {
	for _, statements := range []string{s.Expand, s.Contract, s.Breaks} {
		if statements != "" {
			list = append(list, statements)
		}
	}
	return list
}

// Window returns the oldest and the newest version of a shared store with which a program of a
// version works.
func (s Steps) Window(version int) (oldest, newest int) {
	oldest = version - 1
	if s[oldest].Breaks != "" {
		oldest = version
	}
	return oldest, version + 1
}

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
		for _, statements := range s[from].Statements() {
			if err := exec(statements); err != nil {
				return fmt.Errorf("go from version %d to %d: %w", from, from+1, err)
			}
		}
	}
	return nil
}
