package crashtest

import (
	"bytes"
	"os"

	"github.com/holdfastdev/holdfast/store/dsn"
)

// earlier is a program from before the newest migration.
type earlier struct {
	path     string
	version  int  // of the schema that it knows
	restarts bool // it knows that a later version of the schema may serve it
	alone    bool // its nodes are the only ones at first, on the schema of the new program
}

// begin starts the nodes of the earlier program on a database of its time, which this program has
// not seen.
func (c *cluster) begin(old *earlier, nodes int) {
	c.t.Helper()
	c.old = old
	for range nodes {
		c.add()
	}
	c.until("the earlier program has started its nodes", func() bool {
		text, err := os.ReadFile(c.logs.Name())
		if err != nil {
			c.t.Fatal(err)
		}
		return bytes.Count(text, []byte("node started")) == nodes
	})
	source, err := dsn.Parse(c.config.Database)
	if err != nil {
		c.t.Fatal(err)
	}
	schema, err := source.Schema(c.t.Context())
	if err != nil || schema.Version != old.version {
		c.t.Fatalf("the earlier program has made version %d of the schema, not %d; error %v", schema.Version, old.version, err)
	}
}

// program is what is started in the life of a worker at a place.
func (c *cluster) program(place, lives int) (string, error) {
	if c.old != nil && place < upgraded && (lives == 1 || c.old.restarts && lives < 4) {
		return c.old.path, nil
	}
	return os.Executable()
}

// upgraded is how many workers begin with the earlier program.
const upgraded = 3
