//go:build soak

package faulttest

import (
	"testing"

	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// TestSchemaNames lives in schemas whose names mean something to SQL.
func TestSchemaNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"we$$ird", "$body$", "$1", `with "quotes"`, "it's", "Two Words", `back\slash`, "ünï.100%",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			liveOn(t, postgres.Config{URL: pgtest.Shared(t).Database(t), SchemaName: name})
		})
	}
}
