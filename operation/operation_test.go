package operation_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/internal/pgtest/ready"
	"github.com/holdfastdev/holdfast/internal/sqlitetest"
	"github.com/holdfastdev/holdfast/operation"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// onEach tells a story on both databases.
func onEach(t *testing.T, story func(t *testing.T, c *holdfast.Client), opts ...holdfast.Option) {
	t.Helper()
	for name, source := range map[string]func(t *testing.T) store.Source{
		"sqlite":   func(t *testing.T) store.Source { return sqlite.File(sqlitetest.File(t)) },
		"postgres": func(t *testing.T) store.Source { return postgres.URL(ready.Database(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "postgres" {
				pgtest.InSoak(t)
			}
			opts := append([]holdfast.Option{holdfast.WithLogger(slog.New(slog.DiscardHandler)), holdfast.WithActor("ann")}, opts...)
			c, err := holdfast.Open(t.Context(), source(t), opts...)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := c.Close(context.Background()); err != nil {
					t.Error(err)
				}
			})
			story(t, c)
		})
	}
}

var (
	mail  = holdfast.NewTask[int]("mail", holdfast.MaxAttempts(1))
	other = holdfast.NewTask[int]("other")
)

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// serve runs a node whose mail does what the function says.
func serve(t *testing.T, c *holdfast.Client, handler func(run *holdfast.Run, n int) error) {
	t.Helper()
	if err := mail.Handle(c, handler); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// later enqueues jobs that are not due in this test.
func later(t *testing.T, c *holdfast.Client, n int) {
	t.Helper()
	if _, err := mail.EnqueueMany(t.Context(), c, make([]int, n), holdfast.Delay(time.Hour)); err != nil {
		t.Fatal(err)
	}
}

// do starts an operation and waits for its end.
func do(t *testing.T, c *holdfast.Client, op operation.Operation) operation.Info {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	id := must[holdfast.ID](t)(operation.Start(ctx, c, op))
	return must[operation.Info](t)(operation.Wait(ctx, c, id))
}

func count(t *testing.T, c *holdfast.Client, f store.Filter) int {
	t.Helper()
	return must[store.Count](t)(c.Count(t.Context(), f)).N
}

func in(states ...store.State) store.Filter {
	return store.Filter{Kinds: []string{"mail"}, States: states}
}

func wantCounts(t *testing.T, what string, got, want operation.Counts) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

// TestActions does each action to more than one page of jobs, and once more.
func TestActions(t *testing.T) {
	t.Parallel()
	const n = 620
	onEach(t, func(t *testing.T, c *holdfast.Client) {
		must[*holdfast.Job[struct{}]](t)(other.Enqueue(t.Context(), c, 1, holdfast.Delay(time.Hour)))
		later(t, c, n)
		serve(t, c, func(*holdfast.Run, int) error { return nil })
		for _, step := range []struct {
			action operation.Action
			from   store.Filter
			to     store.Filter // selects all of them afterwards
			again  operation.Counts
		}{
			{operation.Move("slow"), in(store.Scheduled), store.Filter{Queues: []string{"slow"}}, operation.Counts{Matched: n, Already: n}},
			{operation.Tag("seen", "old"), in(), store.Filter{Tags: []string{"seen", "old"}}, operation.Counts{Matched: n, Already: n}},
			{
				operation.Retag([]string{"new"}, []string{"old"}), in(),
				store.Filter{Tags: []string{"seen", "new"}},
				operation.Counts{Matched: n, Already: n},
			},
			{operation.Untag("new"), store.Filter{Tags: []string{"new"}}, store.Filter{Tags: []string{"seen"}}, operation.Counts{}},
			{operation.SetPriority(3), in(), in(store.Scheduled), operation.Counts{Matched: n, Already: n}},
			{operation.Pause(), in(), in(store.Waiting), operation.Counts{Matched: n, Already: n}},
			{operation.Resume(), in(store.Waiting), in(store.Scheduled), operation.Counts{}},
			{operation.Cancel(), in(store.Scheduled), in(store.Cancelled), operation.Counts{}},
			{operation.Retry(), in(store.Cancelled), in(store.Completed), operation.Counts{}},
			{operation.Delete(), in(store.Completed), store.Filter{Kinds: []string{"none"}}, operation.Counts{}},
		} {
			found := must[operation.Found](t)(operation.Look(t.Context(), c, step.from))
			if found.Count.N != n || len(found.Sample) != 10 {
				t.Fatalf("%s: %d jobs, %d are shown", step.action, found.Count.N, len(found.Sample))
			}
			op := operation.Operation{Filter: step.from, Action: step.action, Note: "because", Expected: n}
			done := do(t, c, op)
			wantCounts(t, step.action.String(), done.Counts, operation.Counts{Matched: n, Changed: n})
			if done.State != store.Completed || done.Actor != "ann" || done.Note != "because" || done.Action.String() != step.action.String() {
				t.Errorf("%s: %+v", step.action, done)
			}
			want := n
			if step.action.Verb() == "delete" {
				want = 0
			}
			if step.action.Verb() == "retry" {
				settled(t, c, step.to, n)
			}
			if got := count(t, c, step.to); got != want {
				t.Fatalf("after %s there are %d of %d", step.action, got, want)
			}
			wantCounts(t, step.action.String()+" again", do(t, c, op).Counts, step.again)
			if want > 0 {
				wantRecorded(t, c, step.to, done)
			}
		}
		if count(t, c, store.Filter{Kinds: []string{"other"}, States: []store.State{store.Scheduled}}) != 1 {
			t.Error("a job that did not match was changed")
		}
	})
}

// settled waits until so many jobs match.
func settled(t *testing.T, c *holdfast.Client, f store.Filter, n int) {
	t.Helper()
	for until := time.Now().Add(5 * time.Minute); count(t, c, f) != n; time.Sleep(10 * time.Millisecond) { //nolint:forbidigo // it polls
		if time.Now().After(until) {
			t.Fatalf("%d of %d", count(t, c, f), n)
		}
	}
}

// wantRecorded wants the operation in the actions of a job that it has changed, once.
func wantRecorded(t *testing.T, c *holdfast.Client, f store.Filter, op operation.Info) {
	t.Helper()
	page := must[store.Page](t)(c.List(t.Context(), f, "", 1))
	record := must[store.Record](t)(c.Get(t.Context(), page.Jobs[0].ID))
	times, reason := 0, fmt.Sprintf("operation %s: because", op.ID)
	for _, a := range record.Actions {
		if a.Reason == reason && a.Actor == "ann" {
			times++
		}
	}
	if times != 1 {
		t.Errorf("%q is recorded %d times: %+v", reason, times, record.Actions)
	}
}
