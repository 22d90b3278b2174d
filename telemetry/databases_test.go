package telemetry_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/metrics"
	"github.com/holdfastdev/holdfast/internal/pgtest/ready"
	"github.com/holdfastdev/holdfast/internal/sqlitetest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
	"github.com/holdfastdev/holdfast/telemetry"
)

func onDatabases(t *testing.T, test func(t *testing.T, source store.Source)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, sqlite.File(sqlitetest.File(t)))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, postgres.URL(ready.Database(t)))
	})
}

func open(t *testing.T, source store.Source, opts ...holdfast.Option) *holdfast.Client {
	t.Helper()
	hf, err := holdfast.Open(t.Context(), source, append(opts, holdfast.WithLogger(slog.New(slog.DiscardHandler)))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hf.Close(context.Background()) })
	return hf
}

// until waits for a condition.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !is(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it waited in vain for " + what)
		}
	}
}

// TestTheJobCarriesItsTrace: from one process through another one, whatever becomes of the job: it
// continues as new, fails, and a person lets it run again, or forks it.
func TestTheJobCarriesItsTrace(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		t.Helper()
		sent, worked := newTraced(), newTraced()
		sender := open(t, source, telemetry.With(telemetry.Config{Tracers: sent.provider}))
		node := open(t, source, telemetry.With(telemetry.Config{Tracers: worked.provider}))
		kind := holdfast.NewKind[int, int]("round", holdfast.MaxAttempts(1))
		err := kind.Handle(node, func(run *holdfast.Run, round int) (int, error) {
			if _, err := holdfast.Step(run, "look", func(context.Context) (int, error) { return round, nil }); err != nil {
				return 0, err
			}
			if round == 1 {
				return 0, kind.ContinueAsNew(2)
			}
			return 0, errors.New("it is over")
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := node.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		job, err := kind.Enqueue(t.Context(), sender, 1)
		if err != nil {
			t.Fatal(err)
		}
		fails := func(id holdfast.ID) {
			t.Helper()
			if _, err := kind.Job(sender, id).Wait(t.Context()); !errors.Is(err, holdfast.ErrFailed) {
				t.Fatal(err)
			}
		}
		fails(job.ID)
		if _, err := sender.Retry(t.Context(), "again", job.ID); err != nil {
			t.Fatal(err)
		}
		until(t, "the second failure", func() bool { return len(worked.named("round run")) == 3 })
		fails(job.ID)
		forked, err := sender.Fork(t.Context(), "again", job.ID, holdfast.Fork{})
		if err != nil {
			t.Fatal(err)
		}
		fails(forked)
		until(t, "the fourth run", func() bool { return len(worked.named("round run")) == 4 })
		enqueued := sent.one(t, "round enqueue").SpanContext()
		for i, run := range worked.named("round run") {
			links := run.Links()
			if len(links) == 0 || links[0].SpanContext.TraceID() != enqueued.TraceID() || links[0].SpanContext.SpanID() != enqueued.SpanID() {
				t.Errorf("run %d links to %v", i, links)
			}
			if i == 1 || i == 2 { // those that have one before them
				if before := worked.named("round run")[i-1].SpanContext(); len(links) != 2 || links[1].SpanContext.SpanID() != before.SpanID() {
					t.Errorf("run %d does not link to the one before: %v", i, links)
				}
			}
		}
	})
}

// deaf is a database that takes no heartbeats any more once it is told so.
type deaf struct {
	store.Source
	silent chan struct{}
}

func (d deaf) Open(ctx context.Context) (store.Store, error) {
	st, err := d.Source.Open(ctx)
	return deafStore{st, d.silent}, err
}

type deafStore struct {
	store.Store
	silent chan struct{}
}

func (d deafStore) Beat(ctx context.Context, params store.BeatParams) (store.Beat, error) {
	select {
	case <-d.silent:
		return store.Beat{}, store.ErrUnavailable
	default:
		return d.Store.Beat(ctx, params)
	}
}

// TestRescueIsTold: the leader that takes jobs from a dead node has a span of that duty, and counts
// them; the run whose lease was lost is counted where it ran.
func TestRescueIsTold(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		t.Helper()
		r, m, lost := newTraced(), newMeasured(), newMeasured()
		silent, begun, goOn := make(chan struct{}), make(chan struct{}, 2), make(chan struct{})
		task := holdfast.NewTask[int]("hangs", holdfast.MaxAttempts(5))
		// No node that lives stands still for so long, also on a busy machine.
		leases := holdfast.WithLeases(50*time.Millisecond, 8*time.Second)
		start := func(hf *holdfast.Client, handler func(run *holdfast.Run, _ int) error) {
			if err := errors.Join(task.Handle(hf, handler), hf.Start(t.Context())); err != nil {
				t.Fatal(err)
			}
		}
		dies := open(t, deaf{source, silent}, telemetry.With(telemetry.Config{Meters: lost.provider}), leases)
		start(dies, func(*holdfast.Run, int) error { begun <- struct{}{}; <-goOn; return nil })
		job, err := task.Enqueue(t.Context(), dies, 1)
		if err != nil {
			t.Fatal(err)
		}
		<-begun
		lives := open(t, source, telemetry.With(telemetry.Config{Tracers: r.provider, Meters: m.provider}), leases)
		start(lives, func(*holdfast.Run, int) error { return nil })
		close(silent)
		if err := task.Wait(t.Context(), lives, job.ID); err != nil {
			t.Fatal(err)
		}
		close(goOn)
		until(t, "the span of the rescue", func() bool { return len(r.named("duty rescue")) > 0 })
		rescue := r.named("duty rescue")[0]
		if attr(rescue, "holdfast.jobs") != "1" || rescue.Status().Code == codes.Error || rescue.SpanKind() != trace.SpanKindInternal {
			t.Errorf("the rescue is %v, %+v", rescue.Attributes(), rescue.Status())
		}
		until(t, "the count of the rescue", func() bool { return m.sum(t, metrics.JobsRescued, "kind=hangs", "reason=node_lost") == 1 })
		m.want(t, metrics.NodesDied, 1)
		m.want(t, metrics.Retries, 1, "reason=node_lost")
		m.want(t, metrics.DutyJobs, 1, "duty=rescue")
		until(t, "the count of the lost lease", func() bool { return lost.sum(t, metrics.LeasesLost, "kind=hangs") == 1 })
		if duties := r.named("duty retention"); len(duties) > 0 {
			t.Errorf("a duty that did nothing has a span: %v", duties)
		}
	})
}
