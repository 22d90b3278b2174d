//go:build soak

package crashtest

import (
	"context"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/batch"
	"github.com/holdfastdev/holdfast/store"
)

// TestBatches kills nodes, among them the one that leads, again and again while it counts the
// members of batches and calls these back. Each is called back once, with all of its members.
func TestBatches(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, database string) {
		const batches, members, patience = 25, 80, 2 * time.Minute
		random := newRandom(t)
		draw := random()
		c := newCluster(t, workerConfig{Database: database, Slots: 8, Beat: 300 * time.Millisecond, Dead: 2 * time.Second}, 2)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		var all []*batch.Batch
		for i := range batches {
			b, err := batch.New(ctx, c.client, batch.OnEnd(crashWork.Item(work{N: 10_000 + i, Millis: 1})))
			if err != nil {
				t.Fatal(err)
			}
			var items []holdfast.BatchItem
			for n := range members {
				items = append(items, crashWork.Item(work{N: 1 + i*members + n, Millis: 20 + draw.IntN(60)}))
			}
			if _, err := b.Add(ctx, items...); err != nil {
				t.Fatal(err)
			}
			if err := b.Close(ctx); err != nil {
				t.Fatal(err)
			}
			all = append(all, b)
		}
		kills := 0
		for undone := batches; undone > 0; {
			if err := spend(ctx, time.Duration(100+draw.IntN(400))*time.Millisecond); err != nil {
				t.Fatalf("%d batches were not called back after %d kills: %v", undone, kills, err)
			}
			found, err := batch.List(ctx, c.client, store.BatchFilter{Undone: true, Limit: batches})
			if err != nil {
				t.Fatal(err)
			}
			if undone = len(found); undone > 0 && kills < 10 {
				place := draw.IntN(len(c.workers))
				c.kill(place)
				c.start(place)
				kills++
			}
		}
		if kills < 3 {
			t.Errorf("only %d kills", kills)
		}
		wantCalled(ctx, t, c.client, all, members)
	})
}

// wantCalled checks that each batch was called back with all of its members, and that there are no
// further jobs for the end of one.
func wantCalled(ctx context.Context, t *testing.T, client *holdfast.Client, all []*batch.Batch, members int64) {
	t.Helper()
	called := map[holdfast.ID]int{}
	for after := ""; ; {
		page, err := client.List(ctx, store.Filter{}, after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for i := range page.Jobs {
			if of := page.Jobs[i].Options.Called; of.ID != (holdfast.ID{}) {
				if called[of.ID]++; of.Total() != members {
					t.Errorf("batch %v: its job was told of %+v", of.ID, of)
				}
			}
		}
		if after = page.Next; after == "" {
			break
		}
	}
	for _, b := range all {
		if called[b.ID] != 1 {
			t.Errorf("batch %v was called back %d times", b.ID, called[b.ID])
		}
	}
	if len(called) != len(all) {
		t.Errorf("%d batches were called back, there are %d", len(called), len(all))
	}
}
