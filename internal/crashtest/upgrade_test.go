package crashtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store/dsn"
)

// newer is this program with one migration more, which serves the programs that do not know it.
type newer struct {
	path    string
	version int  // of the schema that it makes
	late    bool // its nodes come when this program's are killed; the schema is the newer one before
}

// What the migration is, by the directory in which it would be. It changes the table that everybody
// uses.
var laterMigration = map[string]string{
	"store/sqlite/migrations": `
ALTER TABLE holdfast_job ADD COLUMN note TEXT NOT NULL DEFAULT 'none';
CREATE TABLE holdfast_later (note TEXT NOT NULL);
INSERT INTO holdfast_migration (version, name, applied_at, serves) VALUES (%d, 'later', 0, %d);`,
	"store/postgres/internal/schema/migrations": `
ALTER TABLE {schema}.job ADD COLUMN note text NOT NULL DEFAULT 'none';
CREATE TABLE {schema}.later (note text NOT NULL);
INSERT INTO {schema}.migration (version, name, applied_at, serves) VALUES (%d, 'later', 0, %d);`,
}

// begin starts nodes of this program on a database that the newer one has not seen, and then
// migrates it unless a node of the newer one will.
func (c *cluster) begin(next *newer, nodes int) {
	c.t.Helper()
	c.newer = next
	for range nodes {
		c.add()
	}
	c.until("the older program has started its nodes", func() bool {
		text, err := os.ReadFile(c.logs.Name())
		if err != nil {
			c.t.Fatal(err)
		}
		return bytes.Count(text, []byte("node started")) == nodes
	})
	c.wantSchema(next.version - 1)
	if !next.late {
		return
	}
	conn, err := pgx.Connect(c.t.Context(), c.config.Database)
	if err != nil {
		c.t.Fatal(err)
	}
	text := fmt.Sprintf(laterMigration["store/postgres/internal/schema/migrations"], next.version, next.version-1)
	_, err = conn.Exec(c.t.Context(), strings.ReplaceAll(text, "{schema}", "holdfast"))
	if err := errors.Join(err, conn.Close(c.t.Context())); err != nil {
		c.t.Fatal(err)
	}
}

// wantSchema checks which version of the schema the database has.
func (c *cluster) wantSchema(version int) {
	c.t.Helper()
	source, err := dsn.Parse(c.config.Database)
	if err != nil {
		c.t.Fatal(err)
	}
	if schema, err := source.Schema(c.t.Context()); err != nil || schema.Version != version {
		c.t.Fatalf("the database has version %d of the schema, not %d; error %v", schema.Version, version, err)
	}
}

// program is what is started in the life of a worker at a place: the first ones are this program,
// and come back as it twice.
func (c *cluster) program(place, lives int) (string, error) {
	if c.newer != nil && (place >= upgraded || lives > 3) {
		return c.newer.path, nil
	}
	return os.Executable()
}

// upgraded is how many workers begin with this program.
const upgraded = 3
