//go:build soak

package crashtest

import (
	"context"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/operation"
	"github.com/holdfastdev/holdfast/store"
)

// TestOperation kills the nodes of an operation again and again. Each job that matched is retried
// once, or deleted, and the counts are exact.
func TestOperation(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, database string) {
		const jobs, kills, patience = 1200, 4, 4 * time.Minute
		draw := newRandom(t)()
		c := newCluster(t, workerConfig{Database: database, Slots: 2, Beat: 300 * time.Millisecond, Dead: 2 * time.Second}, 1)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		items := make([]work, jobs)
		if _, err := crashWork.EnqueueMany(ctx, c.client, items, holdfast.Delay(time.Hour), holdfast.Tags("all")); err != nil {
			t.Fatal(err)
		}
		all := store.Filter{Tags: []string{"all"}}
		killed := 0
		for _, action := range []operation.Action{operation.Tag("seen"), operation.Cancel(), operation.Delete()} {
			id, err := operation.Start(ctx, c.client, operation.Operation{Filter: all, Action: action})
			if err != nil {
				t.Fatal(err)
			}
			for begun, dies := 0, kills; ; {
				info, err := operation.Get(ctx, c.client, id)
				if err != nil {
					t.Fatal(err)
				}
				if info.State.Finished() {
					break
				}
				if err := spend(ctx, time.Duration(draw.IntN(40))*time.Millisecond); err != nil {
					t.Fatalf("%s: %v after %d kills: %+v", action, err, killed, info)
				}
				if info.State == store.Running && info.Counts.Matched > begun && dies > 0 {
					begun = info.Counts.Matched // so that each life comes further
					c.kill(0)
					c.start(0)
					dies--
					killed++
				}
			}
			info, err := operation.Wait(ctx, c.client, id)
			if want := (operation.Counts{Matched: jobs, Changed: jobs}); err != nil || info.Counts != want {
				t.Errorf("%s: %+v, %v", action, info.Counts, err)
			}
			wantChangedOnce(ctx, t, c.client, all, id)
		}
		if killed < 3 {
			t.Errorf("only %d kills", killed)
		}
		t.Logf("%d kills", killed)
	})
}

// wantChangedOnce wants one action of the operation with each job that is there.
func wantChangedOnce(ctx context.Context, t *testing.T, client *holdfast.Client, filter store.Filter, id holdfast.ID) {
	t.Helper()
	for after := ""; ; {
		page, err := client.List(ctx, filter, after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for i := range page.Jobs {
			if i%20 != 0 { // reading all of them takes long
				continue
			}
			record, err := client.Get(ctx, page.Jobs[i].ID)
			if err != nil {
				t.Fatal(err)
			}
			times := 0
			for _, a := range record.Actions {
				if a.Reason == "operation "+id.String() {
					times++
				}
			}
			if times != 1 {
				t.Fatalf("job %s was changed %d times: %+v", record.ID, times, record.Actions)
			}
		}
		if after = page.Next; after == "" {
			return
		}
	}
}
