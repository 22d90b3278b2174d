package postgres_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// shelf keeps schemas that tests have used and left as good as new. To make one takes longer than
// most stories of the conformance suite do.
var shelf struct {
	mu   sync.Mutex
	free map[kept][]shelved
}

// kept is what tests look for.
type kept struct {
	day       time.Time // on which it is opened, of which it has partitions
	connected bool
}

type shelved struct {
	kept

	config      postgres.Config
	connections *postgres.Lasting // if it is connected
	keeper      *keeper
}

// closeShelf closes the connections of all that is kept.
func closeShelf() (err error) {
	for _, free := range shelf.free {
		for _, s := range free {
			err = errors.Join(err, s.close())
		}
	}
	return err
}

func (s shelved) close() error {
	err := s.keeper.close()
	if s.connected {
		err = errors.Join(err, s.connections.Close())
	}
	return err
}

// used returns the source of a schema that is the test's own until its end. It has the tables, and
// nothing in them. clock is that of the stores, nil for the time of day. The test may do what it
// likes with rows; one that does something else to the schema takes a fresh one.
func used(t *testing.T, clock func() time.Time) postgres.Config {
	t.Helper()
	return take(t, clock, false).config
}

// reopened returns a store like one of used, on the connections of stores before it.
func reopened(t *testing.T, clock func() time.Time) store.Store {
	t.Helper()
	s, err := take(t, clock, true).connections.Open(t.Context(), clock)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// take takes what there is, or makes one, and puts it back when the test ends.
func take(t *testing.T, clock func() time.Time, connected bool) shelved {
	t.Helper()
	now := time.Now
	if clock != nil {
		now = clock
	}
	wanted := kept{now().UTC().Truncate(24 * time.Hour), connected}
	s, ok := takeShelved(wanted)
	if !ok {
		s = newShelved(t, wanted)
	}
	t.Cleanup(func() { putBack(t, s) })
	return s
}

func newShelved(t *testing.T, wanted kept) shelved {
	t.Helper()
	url, schema := pgtest.Shared(t).Schema(t)
	s := shelved{kept: wanted, config: postgres.Config{URL: url, SchemaName: schema, MaxConns: 6}}
	dated := s.config
	dated.Clock = func() time.Time { return wanted.day }
	fresh, err := dated.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := fresh.Close(); err != nil {
		t.Fatal(err)
	}
	if s.keeper, err = newKeeper(context.Background(), s.config); err != nil {
		t.Fatal(err)
	}
	if wanted.connected {
		if s.connections, err = postgres.Connect(context.Background(), s.config); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func takeShelved(wanted kept) (s shelved, ok bool) {
	shelf.mu.Lock()
	defer shelf.mu.Unlock()
	free := shelf.free[wanted]
	if ok = len(free) > 0; ok {
		s, shelf.free[wanted] = free[0], free[1:]
	}
	return s, ok
}

// putBack empties a schema. One whose tables are not those that it had, such as after days of
// retention, is not used again, nor is one in which something may still be at work.
func putBack(t *testing.T, s shelved) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	again := false
	if !t.Failed() {
		wantSpans(ctx, t, s.keeper.conn, s.config)
		var err error
		if again, err = s.keeper.restore(ctx, s.connected); err != nil {
			t.Errorf("empty the schema %s: %v", s.config.SchemaName, err)
		}
	}
	if !again {
		_ = s.close() // what it held is not used again
		return
	}
	shelf.mu.Lock()
	defer shelf.mu.Unlock()
	if shelf.free == nil {
		shelf.free = map[kept][]shelved{}
	}
	shelf.free[s.kept] = append(shelf.free[s.kept], s)
}
