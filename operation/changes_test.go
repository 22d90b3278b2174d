package operation_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/joblog"
	"github.com/holdfastdev/holdfast/operation"
	"github.com/holdfastdev/holdfast/store"
)

// TestStop cancels an operation in the middle: it ends after the page that it is at, and a retry
// goes on from there.
func TestStop(t *testing.T) {
	t.Parallel()
	const n = 2000
	onEach(t, func(t *testing.T, c *holdfast.Client) {
		later(t, c, n)
		serve(t, c, func(*holdfast.Run, int) error { return nil })
		id := must[holdfast.ID](t)(operation.Start(t.Context(), c, operation.Operation{Filter: in(), Action: operation.Tag("x")}))
		tagged := store.Filter{Tags: []string{"x"}}
		for until := time.Now().Add(5 * time.Minute); count(t, c, tagged) < 150; time.Sleep(time.Millisecond) { //nolint:forbidigo // it polls
			if time.Now().After(until) {
				t.Fatal("it does not begin")
			}
		}
		if err := operation.Stop(t.Context(), c, "enough", id); err != nil {
			t.Fatal(err)
		}
		asked := count(t, c, tagged)
		info, err := operation.Wait(t.Context(), c, id)
		if failed, is := errors.AsType[*holdfast.JobError](err); !is || failed.State != store.Cancelled {
			t.Errorf("it has ended with %v", err)
		}
		done := count(t, c, tagged)
		wantCounts(t, "when it was stopped", info.Counts, operation.Counts{Matched: done, Changed: done})
		if done >= n || done > asked+300 || done%100 != 0 {
			t.Errorf("%d were changed when it was asked to stop, and %d when it did", asked, done)
		}
		results, err := c.Retry(t.Context(), "", id)
		if err != nil || results[0].Err != nil {
			t.Fatal(err, results)
		}
		info = must[operation.Info](t)(operation.Wait(t.Context(), c, id))
		wantCounts(t, "after a retry", info.Counts, operation.Counts{Matched: n, Changed: n})
	})
}

// TestPause holds an operation at the end of its page, as a job that is paused, until it is
// resumed.
func TestPause(t *testing.T) {
	t.Parallel()
	const n = 2000
	onEach(t, func(t *testing.T, c *holdfast.Client) {
		later(t, c, n)
		serve(t, c, func(*holdfast.Run, int) error { return nil })
		id := must[holdfast.ID](t)(operation.Start(t.Context(), c, operation.Operation{Filter: in(), Action: operation.Tag("x")}))
		settledAbove(t, c, store.Filter{Tags: []string{"x"}}, 100)
		must[[]store.Result](t)(c.Pause(t.Context(), "wait", id))
		for until := time.Now().Add(5 * time.Minute); ; time.Sleep(5 * time.Millisecond) { //nolint:forbidigo // it polls
			if info := must[operation.Info](t)(operation.Get(t.Context(), c, id)); info.State == store.Waiting {
				if info.Counts.Changed == 0 || info.Counts.Changed == n {
					t.Errorf("it was paused at %+v", info.Counts)
				}
				break
			}
			if time.Now().After(until) {
				t.Fatal("it is not paused")
			}
		}
		next := must[holdfast.ID](t)(operation.Start(t.Context(), c, operation.Operation{Filter: in(), Action: operation.Untag("x")}))
		if record := must[store.Record](t)(c.Get(t.Context(), next)); record.State != store.Available || !record.Blocked {
			t.Errorf("the next one does not wait for its turn: %s, blocked %t", record.State, record.Blocked)
		}
		must[[]store.Result](t)(c.Resume(t.Context(), "", id))
		info := must[operation.Info](t)(operation.Wait(t.Context(), c, id))
		wantCounts(t, "after the pause", info.Counts, operation.Counts{Matched: n, Changed: n})
		info = must[operation.Info](t)(operation.Wait(t.Context(), c, next))
		wantCounts(t, "the next one", info.Counts, operation.Counts{Matched: n, Changed: n})
	})
}

func settledAbove(t *testing.T, c *holdfast.Client, f store.Filter, n int) {
	t.Helper()
	for until := time.Now().Add(5 * time.Minute); count(t, c, f) < n; time.Sleep(time.Millisecond) { //nolint:forbidigo // it polls
		if time.Now().After(until) {
			t.Fatalf("%d of %d", count(t, c, f), n)
		}
	}
}

// TestOthersChangeToo runs an operation while jobs are enqueued, run, fail and match again: each of
// those that were there is retried once, and none of those that came later.
func TestOthersChangeToo(t *testing.T) {
	t.Parallel()
	const n = 1500
	onEach(t, func(t *testing.T, c *holdfast.Client) {
		serve(t, c, func(*holdfast.Run, int) error { return errors.New("broken") })
		must[[]*holdfast.Job[struct{}]](t)(mail.EnqueueMany(t.Context(), c, make([]int, n)))
		settled(t, c, in(store.Failed), n)
		ctx, stop := context.WithCancel(t.Context())
		more := make(chan int)
		go func() {
			late := 0
			for ; ctx.Err() == nil; late++ {
				if _, err := mail.Enqueue(ctx, c, 1, holdfast.Tags("late")); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
			more <- late
		}()
		id := must[holdfast.ID](t)(operation.Start(t.Context(), c, operation.Operation{Filter: in(store.Failed), Action: operation.Retry()}))
		info, err := operation.Wait(t.Context(), c, id)
		stop()
		late := <-more
		if err != nil || late == 0 {
			t.Fatal(err, late)
		}
		if got := info.Counts; got.Changed < n || got.Changed > n+late || got.Matched != got.Changed+got.Already+got.Refused+got.Gone {
			t.Errorf("%+v, of %d and %d later ones", got, n, late)
		}
		for after := ""; ; {
			page := must[store.Page](t)(c.List(t.Context(), in(), after, 1000))
			for i := range page.Jobs {
				retries := 0
				record := must[store.Record](t)(c.Get(t.Context(), page.Jobs[i].ID))
				for _, a := range record.Actions {
					if strings.Contains(a.Reason, id.String()) {
						retries++
					}
				}
				if early := len(record.Tags) == 0; early && retries != 1 || retries > 1 {
					t.Fatalf("job %s, enqueued before: %t, was retried %d times", record.ID, early, retries)
				}
			}
			if after = page.Next; after == "" {
				return
			}
		}
	})
}

// TestTwo: two operations over the same jobs run one after the other.
func TestTwo(t *testing.T) {
	t.Parallel()
	const n = 1200
	onEach(t, func(t *testing.T, c *holdfast.Client) {
		later(t, c, n)
		first := must[holdfast.ID](t)(operation.Start(t.Context(), c, operation.Operation{Filter: in(), Action: operation.Move("a")}))
		second := must[holdfast.ID](t)(operation.Start(t.Context(), c, operation.Operation{Filter: in(), Action: operation.Move("b")}))
		// A third, over all jobs, leaves them alone.
		third := must[holdfast.ID](t)(operation.Start(t.Context(), c, operation.Operation{Action: operation.Cancel()}))
		// Ids tell of the milliseconds of this clock, the operations began by the database's.
		began := must[store.Record](t)(c.Get(t.Context(), third)).CreatedAt
		time.Sleep(max(time.Until(began), 0) + 5*time.Millisecond) //nolint:forbidigo // as above
		later(t, c, 7)                                             // which no operation comes to, as it was started before
		serve(t, c, func(*holdfast.Run, int) error { return nil })
		for _, id := range []holdfast.ID{first, second, third} {
			info := must[operation.Info](t)(operation.Wait(t.Context(), c, id))
			wantCounts(t, info.Action.String(), info.Counts, operation.Counts{Matched: n, Changed: n})
		}
		settledLines(t, c, second, n/100)
		if got := count(t, c, store.Filter{Queues: []string{"b"}, States: []store.State{store.Cancelled}}); got != n {
			t.Errorf("%d of %d are in the queue of the second", got, n)
		}
		page := must[operation.Page](t)(operation.List(t.Context(), c, "", 10))
		if len(page.Operations) != 3 || page.Operations[0].ID != third || page.Operations[2].Action.String() != "move to queue a" {
			t.Errorf("the list: %+v", page)
		}
	})
}

// settledLines waits until so many pages are in the log of an operation.
func settledLines(t *testing.T, c *holdfast.Client, id holdfast.ID, pages int) {
	t.Helper()
	for until := time.Now().Add(5 * time.Minute); ; time.Sleep(10 * time.Millisecond) { //nolint:forbidigo // it polls
		page := must[joblog.Page](t)(joblog.Read(t.Context(), c, id, joblog.Query{}))
		if len(page.Lines) == pages && strings.Contains(string(page.Lines[pages-1].Attrs), fmt.Sprintf(`"changed":%d`, 100*pages)) {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("the log: %+v", page.Lines)
		}
	}
}

// TestRefused: what cannot be changed is said, and the rest is changed.
func TestRefused(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *holdfast.Client) {
		runs, end := make(chan bool), make(chan bool)
		serve(t, c, func(*holdfast.Run, int) error { runs <- true; <-end; return nil })
		busy := must[*holdfast.Job[struct{}]](t)(mail.Enqueue(t.Context(), c, 1))
		<-runs
		later(t, c, 5)
		info := do(t, c, operation.Operation{Filter: in(), Action: operation.SetPriority(4)})
		wantCounts(t, "set priority", info.Counts, operation.Counts{Matched: 6, Changed: 5, Refused: 1})
		if len(info.Refusals) != 1 || info.Refusals[0].Job != busy.ID || !strings.Contains(info.Refusals[0].Error, "running") {
			t.Errorf("refused: %+v", info.Refusals)
		}
		close(end)
	})
}

// TestTooMany: an operation that was told of few jobs changes none of many.
func TestTooMany(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *holdfast.Client) {
		later(t, c, 200)
		serve(t, c, func(*holdfast.Run, int) error { return nil })
		id := must[holdfast.ID](t)(operation.Start(t.Context(), c, operation.Operation{Filter: in(), Action: operation.Cancel(), Expected: 3}))
		info, err := operation.Wait(t.Context(), c, id)
		if failed, is := errors.AsType[*holdfast.JobError](err); !is || failed.State != store.Failed ||
			!strings.Contains(info.Error, "200 of about 3") {
			t.Errorf("%v: %+v", err, info)
		}
		if count(t, c, in(store.Cancelled)) != 0 {
			t.Error("jobs were cancelled")
		}
	})
}

// TestWhere: a node serves the queue of operations whatever its queues are, unless it is told not
// to, and an operation stays in its namespace.
func TestWhere(t *testing.T) {
	t.Parallel()
	t.Run("a queue", func(t *testing.T) {
		t.Parallel()
		onEach(t, func(t *testing.T, c *holdfast.Client) {
			there := must[*holdfast.Client](t)(c.In("elsewhere"))
			later(t, there, 3)
			later(t, c, 2)
			serve(t, c, func(*holdfast.Run, int) error { return nil })
			info := do(t, c, operation.Operation{Filter: in(), Action: operation.Cancel()})
			wantCounts(t, "cancel", info.Counts, operation.Counts{Matched: 2, Changed: 2})
			if got := count(t, there, in(store.Scheduled)); got != 3 {
				t.Errorf("%d of 3 of another namespace are as they were", got)
			}
			_, err := operation.Start(t.Context(), c, operation.Operation{Filter: store.Filter{Namespace: "elsewhere"}, Action: operation.Cancel()})
			if !errors.Is(err, holdfast.ErrInvalid) {
				t.Errorf("a filter of another namespace: %v", err)
			}
		}, holdfast.WithQueue("mail", 2))
	})
	t.Run("off", func(t *testing.T) {
		t.Parallel()
		onEach(t, func(t *testing.T, c *holdfast.Client) {
			later(t, c, 2)
			serve(t, c, func(*holdfast.Run, int) error { return nil })
			op := operation.Operation{Filter: in(), Action: operation.Cancel(), ID: holdfast.NewID()}
			for range 2 { // with its id it may be repeated
				if id := must[holdfast.ID](t)(operation.Start(t.Context(), c, op)); id != op.ID {
					t.Errorf("it has the id %s", id)
				}
			}
			why, err := c.Why(t.Context(), op.ID)
			if err != nil || !strings.Contains(why.String(), "no live node serves the kind holdfast.operation") {
				t.Errorf("why: %s, %v", why, err)
			}
			// The process that asks can do it by itself.
			pages := 0
			done := must[operation.Counts](t)(operation.Run(t.Context(), c, op, func(operation.Counts) { pages++ }))
			wantCounts(t, "here", done, operation.Counts{Matched: 2, Changed: 2})
			if pages != 1 {
				t.Errorf("it told of %d pages", pages)
			}
			if err := operation.Stop(t.Context(), c, "", op.ID); err != nil {
				t.Error(err)
			}
			if info := must[operation.Info](t)(operation.Get(t.Context(), c, op.ID)); info.State != store.Cancelled {
				t.Errorf("it was stopped before it began: %+v", info)
			}
		}, operation.Off())
	})
}

// TestInvalid: what can never be done is refused when it is started.
func TestInvalid(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *holdfast.Client) {
		for _, op := range []operation.Operation{
			{},
			{Action: operation.Move("")},
			{Action: operation.SetPriority(5)},
			{Action: operation.Tag()},
			{Action: operation.Tag("")},
			{Action: operation.Cancel(), Expected: -1},
			{Action: operation.Cancel(), Filter: store.Filter{States: []store.State{99}}},
		} {
			if id, err := operation.Start(t.Context(), c, op); !errors.Is(err, holdfast.ErrInvalid) {
				t.Errorf("%+v: %v, %v", op, id, err)
			}
		}
		job := must[*holdfast.Job[struct{}]](t)(mail.Enqueue(t.Context(), c, 1))
		if _, err := operation.Get(t.Context(), c, job.ID); !errors.Is(err, holdfast.ErrConflict) {
			t.Errorf("a job that is no operation: %v", err)
		}
		if err := operation.Stop(t.Context(), c, "", holdfast.NewID()); !errors.Is(err, holdfast.ErrNotFound) {
			t.Errorf("no job: %v", err)
		}
	})
}
