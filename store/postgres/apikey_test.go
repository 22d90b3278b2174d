package postgres_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// TestKeysMadeAtOnce: of keys with one ID that come at once one is made, and the same again changes
// nothing: servers make those of their own so. The table has two unique indexes, and a statement
// that named one of them failed by the other.
func TestKeysMadeAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t, used(t, nil))
	for round := range 200 {
		key := store.APIKey{ID: fmt.Sprint("k", round), Hash: make([]byte, 32), Name: "k", Role: "viewer"}
		errs := make([]error, 4)
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() { _, errs[i] = s.CreateAPIKey(t.Context(), key) })
		}
		all.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
}
