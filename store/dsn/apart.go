package dsn

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// Scratch is a source that can be dropped.
type Scratch interface {
	store.Source
	// Drop removes the tables with all their contents. No store may be open.
	Drop(ctx context.Context) error
}

// Apart returns a source on the same database, disk and settings as the one of text, but with
// tables of its own: on PostgreSQL in a schema called name, on SQLite in a file beside the other,
// whose name ends in name. The name should be new.
func Apart(text, name string) (Scratch, error) {
	source, err := Parse(text)
	if err != nil {
		return nil, err
	}
	switch c := source.(type) {
	case postgres.Config:
		c.SchemaName, c.NoMigrate = name, false
		return c, nil
	case sqlite.Config:
		c.NoMigrate = false
		if c.Path != Memory {
			c.Path += "-" + name
		}
		return c, nil
	}
	return nil, invalid("no scratch tables can be made there")
}
