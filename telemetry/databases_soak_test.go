//go:build soak

package telemetry_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/metrics"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/telemetry"
)

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
