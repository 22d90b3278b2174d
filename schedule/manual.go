package schedule

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/engine"
	"github.com/holdfastdev/holdfast/internal/firing"
	"github.com/holdfastdev/holdfast/store"
)

// Trigger enqueues a job of a schedule now, beside what the clock does, also if it is paused. The
// nominal time is now. The overlap policy applies: the run says whether its job was enqueued, or
// which one was in the way. The error is ErrNotFound.
func Trigger(ctx context.Context, c *holdfast.Client, name string) (store.ScheduleRun, error) {
	e, _ := access.Engine(c)
	now, number := e.Store.Now().UTC().Truncate(time.Microsecond), newNumber()
	s, u, err := trigger(ctx, c, name, now, number)
	for range tries {
		if u == nil || u.Fire.Version == 0 || !errors.Is(err, store.ErrConflict) {
			break
		}
		if _, has := errors.AsType[*store.HasRunError](err); has {
			break
		}
		s, u, err = trigger(ctx, c, name, now, number) // it was changed meanwhile, or the answer was lost
	}
	if err == nil && u.Fire.Cancels != (store.ID{}) {
		finish(store.WithRequest(ctx, nil), e, s, u.Fire.Cancels)
	}
	if _, has := errors.AsType[*store.HasRunError](err); has {
		err = nil // a try whose answer was lost
	}
	var runs []store.ScheduleRun
	if err == nil {
		// The one before a number that is larger by one is that with this number.
		runs, err = e.Store.ScheduleRuns(ctx, store.ScheduleRunParams{
			Namespace: c.Namespace(), Name: name, Before: now, BeforeManual: u.Fire.Manual + 1, Limit: 1,
		})
	}
	if err == nil && len(runs) == 0 {
		err = store.NoSchedule(c.Namespace(), name) // it was deleted meanwhile
	}
	if err != nil {
		return store.ScheduleRun{}, fmt.Errorf("triggering schedule %q: %w", name, err)
	}
	return runs[0], nil
}

// finish asks the job to stop that a fire has replaced, and has the schedule, which is given as it
// was before, forget it: who retries that job later wants it to run. The fire has made the schedule
// due, so what does not come about here is done by the leader: if this process dies, the database
// does not answer, or a transaction of a caller holds the job.
func finish(ctx context.Context, e *engine.Engine, before store.Schedule, replaced store.ID) {
	asks := before
	asks.Cancels = replaced
	if done, err := stop(ctx, e, &asks); err != nil || !done {
		e.WakeLeader()
		return
	}
	u := firing.Asked(&before)
	_ = e.Fire(ctx, &u) // a conflict, too, leaves it to others: the leader, or who has changed the schedule
}

// trigger fires once. What replaces a job needs to know which one is the last, and that no earlier
// one is left to be asked to stop: it holds for the version that was read.
func trigger(ctx context.Context, c *holdfast.Client, name string, now time.Time, number int64) (store.Schedule, *store.Unit, error) {
	e, _ := access.Engine(c)
	s, err := Get(ctx, c, name)
	if err != nil {
		return s, nil, err
	}
	u := firing.Manual(&s, []time.Time{now}, number, s.Overlap)
	u.Request, ctx = store.RequestIn(ctx), store.WithRequest(ctx, nil) // it happens with the fire, not with the stop
	u.Fire.Actor = c.Actor()
	if parent, state := access.TraceOf(ctx); parent != "" {
		for _, q := range u.Enqueues {
			q.Job.Options.TraceParent, q.Job.Options.TraceState = parent, state
		}
	}
	if u.Fire.Cancels != (store.ID{}) {
		done, err := stop(ctx, e, &s)
		if err == nil && !done {
			err = fmt.Errorf("%w: job %s, which an earlier fire has replaced", store.ErrBusy, s.Cancels)
		}
		if err != nil {
			return s, nil, err
		}
		u.Fire.Version = s.Version
	}
	return s, &u, e.Fire(ctx, &u)
}

// newNumber tells a fire apart that a person asks for.
func newNumber() int64 { return 1 + rand.Int64N(math.MaxInt64-1) }

// Range is the nominal times from one on and before another.
type Range struct {
	From, To time.Time
	// AtOnce lets the jobs run beside each other. Without it they run one after the other, unless
	// the schedule allows overlaps.
	AtOnce bool
	// Number makes a Backfill safe to repeat for a day: times that have a job of the same number
	// are left alone. 0: one is drawn, which Backfilled tells.
	Number int64
}

// Backfilled is what a Backfill has done.
type Backfilled struct {
	Number   int64 // with which it can be repeated
	Times    int   // nominal times of the range
	Enqueued int   // that have got a job now
	Skipped  int   // that have none, because a job was in the way that has the same key
}

// MaxBackfill is how many nominal times one Backfill may have.
const MaxBackfill = 100_000

// Preview returns how many nominal times a schedule has in a range, at most MaxBackfill, the first
// n of them, and whether there are more than MaxBackfill. The errors are ErrNotFound and
// ErrInvalid.
func Preview(ctx context.Context, c *holdfast.Client, name string, r Range, n int) (count int, first []time.Time, more bool, err error) {
	s, err := Get(ctx, c, name)
	if err != nil {
		return 0, nil, false, err
	}
	all, more, err := timesOf(&s, r)
	return len(all), all[:min(n, len(all))], more, err
}

func timesOf(s *store.Schedule, r Range) (all []time.Time, more bool, err error) {
	if !r.From.Before(r.To) {
		return nil, false, fmt.Errorf("%w: schedule %q: the range ends at %s, which is not after its start %s",
			store.ErrInvalid, s.Name, r.To.UTC().Format(time.RFC3339), r.From.UTC().Format(time.RFC3339))
	}
	return firing.Between(s, r.From, r.To, MaxBackfill)
}

// Backfill enqueues jobs for the nominal times of a range, in their order, as if the schedule had
// fired then, whether it has or not; what the clock does is not changed. If it fails midway the
// result tells what it has done, and it can be repeated with the same range and Number. The errors
// are ErrNotFound, and ErrInvalid for more than MaxBackfill times.
func Backfill(ctx context.Context, c *holdfast.Client, name string, r Range) (Backfilled, error) {
	e, _ := access.Engine(c)
	s, err := Get(ctx, c, name)
	if err != nil {
		return Backfilled{}, err
	}
	all, more, err := timesOf(&s, r)
	if err == nil && r.To.After(e.Store.Now()) {
		err = fmt.Errorf("%w: schedule %q: a backfill is of times that have passed, and this one ends at %s", store.ErrInvalid, name,
			r.To.UTC().Format(time.RFC3339))
	}
	if err == nil && more {
		err = fmt.Errorf("%w: schedule %q has more than %d times from %s to %s; backfill it in parts", store.ErrInvalid, name, MaxBackfill,
			r.From.UTC().Format(time.RFC3339), r.To.UTC().Format(time.RFC3339))
	}
	if err == nil && r.Number < 0 {
		err = fmt.Errorf("%w: schedule %q: the number %d of a backfill is negative", store.ErrInvalid, name, r.Number)
	}
	if err != nil {
		return Backfilled{}, err
	}
	b := backfill{engine: e, actor: c.Actor(), schedule: &s, overlap: store.OverlapBufferAll}
	b.Times = len(all)
	if b.Number = r.Number; b.Number == 0 {
		b.Number = newNumber()
	}
	if r.AtOnce || s.Overlap == store.OverlapAllow {
		b.overlap = store.OverlapAllow
	}
	for at := 0; at < len(all); at += firing.Most {
		if err := b.fire(ctx, all[at:min(at+firing.Most, len(all))]); err != nil {
			return b.Backfilled, fmt.Errorf("backfilling schedule %q: %w", name, err)
		}
	}
	return b.Backfilled, nil
}

// backfill is one that is under way.
type backfill struct {
	Backfilled

	engine   *engine.Engine
	actor    string
	schedule *store.Schedule
	overlap  store.Overlap
}

// fire enqueues the jobs of some times. If one of them has its job already, all are tried alone.
func (b *backfill) fire(ctx context.Context, nominal []time.Time) error {
	u := firing.Manual(b.schedule, nominal, b.Number, b.overlap)
	u.Fire.Actor, u.Fire.Backfill = b.actor, true
	err := b.engine.Fire(ctx, &u)
	switch {
	case err == nil:
		for _, q := range u.Enqueues {
			if q.Result.ID == q.Job.ID {
				b.Enqueued++
			} else {
				b.Skipped++
			}
		}
		return nil
	case !errors.Is(err, store.ErrConflict) || len(nominal) > 1 && ctx.Err() != nil:
		return err
	case len(nominal) == 1:
		return nil
	}
	for i := range nominal {
		if err := b.fire(ctx, nominal[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}
