package archive

import (
	"testing"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/dsn"
)

func open(t *testing.T, database string) store.Store {
	t.Helper()
	source, err := dsn.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	s, err := source.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}
