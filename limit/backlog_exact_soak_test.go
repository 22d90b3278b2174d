//go:build soak

package limit_test

import (
	"context"
	"errors"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/store"
)

// TestBacklogCountsWhatIsNotStored: a count that begins while jobs are being stored does not forget
// them, nor count them twice once they are.
func TestBacklogCountsWhatIsNotStored(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		g := &gates{Source: source}
		hf := open(t, g, limit.Backlog("imports", 10))
		into := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			_, err := light.Enqueue(ctx, hf, 0, holdfast.Queue("imports"))
			return err
		}
		release := hold(&g.apply)
		results := make(chan error, 11)
		for range 11 {
			go func() {
				_, err := light.Enqueue(t.Context(), hf, 0, holdfast.Queue("imports"))
				results <- err
			}()
		}
		if err := <-results; !errors.Is(err, store.ErrConflict) { // so the other ten are let through
			t.Fatalf("the first of eleven to return: %v", err)
		}
		refused := func() bool {
			err := into()
			if err != nil && !errors.Is(err, store.ErrConflict) {
				t.Fatal(err)
			}
			return err != nil
		}
		for began := g.counts.Load(); g.counts.Load() < began+2; {
			if !refused() {
				t.Fatal("while ten jobs were being stored another one was let through")
			}
		}
		release()
		for range 10 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		for began := g.counts.Load(); g.counts.Load() < began+2; {
			if !refused() {
				t.Fatal("when ten jobs were stored another one was let through")
			}
		}
		page, err := hf.List(t.Context(), store.Filter{Queues: []string{"imports"}}, "", 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := hf.Cancel(t.Context(), "", page.Jobs[0].ID); err != nil {
			t.Fatal(err)
		}
		eventually(t, "there is room for one", func() bool { return !refused() })
		waits := store.Filter{Queues: []string{"imports"}, States: []store.State{store.Available}}
		if n, err := hf.Count(t.Context(), waits); n.N != 10 || err != nil {
			t.Error(n, err)
		}
	})
}
