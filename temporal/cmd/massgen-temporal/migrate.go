package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/massgen/massgen/temporal/postgres"
)

// Migrate implements app.Cluster.
func (c *cluster) Migrate(ctx context.Context, address string, dry bool, out io.Writer) error {
	m, err := postgres.Migrate(ctx, address, dry)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, migrationText(m, dry))
	return err
}

// migrationText describes a migration for people, and a dry run as SQL.
func migrationText(m postgres.Migration, dry bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "-- store: %s\n", m.Place)
	if m.From == 0 {
		b.WriteString("-- version: none\n")
	} else {
		fmt.Fprintf(&b, "-- version: %d\n", m.From)
	}
	fmt.Fprintf(&b, "-- this program: version %d, works with %d to %d\n", m.To, m.Oldest, m.Newest)
	for _, s := range m.Steps {
		switch {
		case s.From == 0:
			fmt.Fprintf(&b, "\n-- a new store of version %d\n", s.To)
		case s.Breaks:
			fmt.Fprintf(&b, "\n-- from version %d to %d: end all programs of version %d first\n", s.From, s.To, s.From)
		default:
			fmt.Fprintf(&b, "\n-- from version %d to %d: programs of version %d go on\n", s.From, s.To, s.From)
		}
		if !dry {
			b.WriteString("-- done\n")
			continue
		}
		for _, statement := range s.Indexes {
			fmt.Fprintf(&b, "%s;\n", statement)
		}
		b.WriteString("BEGIN;\n")
		for _, statements := range s.Statements {
			fmt.Fprintf(&b, "%s;\n", strings.TrimRight(strings.TrimSpace(statements), ";"))
		}
		b.WriteString("COMMIT;\n")
	}
	switch {
	case len(m.Steps) == 0:
		b.WriteString("-- nothing to do\n")
	case dry:
		b.WriteString("\n-- nothing was changed\n")
	}
	return b.String()
}
