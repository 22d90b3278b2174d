package scheduler

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/internal/firing"
	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/observer"
	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

const (
	// Patience is how long a pass waits for decisions that are not written yet.
	Patience = time.Second
	// Unreadable is after how long a schedule is looked at again whose rule cannot be read.
	Unreadable = 5 * time.Minute

	portion = 1000                  // schedules that one pass takes, beside those that rest
	early   = 10 * time.Millisecond // before a pass that has found nothing to do although something is due
	away    = time.Second           // before a pass after an error
)

// Parts are what the loop stands on.
type Parts struct {
	Store store.Store
	Leads func() bool
	// Idle is how often the loop looks without a reason.
	Idle func() time.Duration
	// Fire commits a unit and calls done, unless ctx ends first: then it may have been committed.
	Fire func(ctx context.Context, u *store.Unit, done func(error))
	// Cancel asks jobs to stop.
	Cancel func(ctx context.Context, params store.CancelParams) ([]store.Result, error)
	// Turn is called after each pass.
	Turn   func()
	Lines  *logs.Limiter
	Outage *logs.Outage
}

// Loop is the loop of one node.
type Loop struct {
	Parts

	nudged  chan struct{}
	resting resting
	written atomic.Int64 // decisions
}

// New makes a loop.
func New(p Parts) *Loop {
	return &Loop{Parts: p, nudged: make(chan struct{}, 1)}
}

// Nudge has the loop look: schedules were changed, or the node has begun to lead. It does not
// block.
func (l *Loop) Nudge() { supervise.Signal(l.nudged) }

// Run looks for what is due until ctx ends. On a node that does not lead it waits for a nudge.
func (l *Loop) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.nudged:
		case <-timer.C:
		}
		if !l.Leads() {
			timer.Stop()
			continue
		}
		at, _ := l.pass(ctx) // which has logged its error
		l.Turn()
		timer.Reset(max(at.Sub(l.Store.Now()), 0))
	}
}

// Once looks until nothing is due, or until ctx ends, on a node that need not lead. It is not to be
// called while Run runs.
func (l *Loop) Once(ctx context.Context) (err error) {
	before := l.written.Load()
	defer func() { observer.Did(ctx, int(l.written.Load()-before)) }()
	for ctx.Err() == nil {
		had := l.written.Load()
		if _, err = l.pass(ctx); err != nil || l.written.Load() == had {
			break
		}
	}
	return err
}

// pass decides about what is due, and returns when to look again.
func (l *Loop) pass(ctx context.Context) (time.Time, error) {
	call, cancel := context.WithTimeout(ctx, store.CallTimeout)
	due, next, err := l.Store.DueSchedules(call, portion+l.resting.count())
	cancel()
	now := l.Store.Now()
	if err != nil {
		if ctx.Err() == nil {
			l.Outage.Failed(logs.CallSchedules, err)
		}
		return now.Add(away), err
	}
	l.Outage.Succeeded(logs.CallSchedules)
	rested := l.resting.wake(now)
	decisions := l.decide(due, now)
	l.write(ctx, slices.DeleteFunc(slices.Clone(decisions), stops))
	if replacing := slices.DeleteFunc(slices.Clone(decisions), func(d *firing.Decision) bool { return !stops(d) }); len(replacing) > 0 {
		l.write(ctx, l.stop(ctx, replacing))
	}
	if len(decisions) > 0 {
		return l.Store.Now(), nil // and those that have become due meanwhile
	}
	at := now.Add(l.Idle())
	for _, earlier := range []time.Time{next, rested} {
		if !earlier.IsZero() && earlier.Before(at) {
			at = earlier
		}
	}
	if soon := now.Add(early); at.Before(soon) {
		return soon, nil // the clocks differ slightly
	}
	return at, nil
}

// decide decides about schedules that are due and do not rest.
func (l *Loop) decide(due []store.Schedule, now time.Time) (decisions []*firing.Decision) {
	for i := range due {
		s := &due[i]
		if l.resting.rests(key{s.Namespace, s.Name}) {
			continue
		}
		d, err := firing.Decide(s, now, l.resting.takenOf(key{s.Namespace, s.Name})...)
		if err != nil {
			l.Lines.Say(slog.LevelError, logs.About{Kind: s.Job.Kind}, "the times of a schedule cannot be read; it does not fire",
				slog.String(logs.KeyNamespace, s.Namespace), slog.String(logs.KeySchedule, s.Name), slog.Any(logs.KeyError, err))
			d = firing.Postpone(s, now.Add(Unreadable))
		}
		if d.Missed > 0 {
			l.Lines.Say(slog.LevelWarn, logs.About{Kind: s.Job.Kind}, "times of a schedule were missed",
				slog.String(logs.KeyNamespace, s.Namespace), slog.String(logs.KeySchedule, s.Name), slog.Int(logs.KeyMissed, d.Missed))
		}
		if !d.IsEmpty(s) {
			decisions = append(decisions, &d)
		}
	}
	return decisions
}

// stops reports whether a job is to be asked to stop before the decision is written.
func stops(d *firing.Decision) bool { return d.Stop != (store.ID{}) }

// stop asks the jobs to stop that were replaced, and returns the decisions whose jobs were asked:
// one that has ended, or is gone, needs no further word. The others rest, because a transaction of
// a caller holds their jobs, or because the database does not answer.
func (l *Loop) stop(ctx context.Context, decisions []*firing.Decision) (asked []*firing.Decision) {
	for _, terminate := range []bool{false, true} {
		params := store.CancelParams{Reason: firing.Replaced, Terminate: terminate, Unrecorded: true}
		var of []*firing.Decision
		for _, d := range decisions {
			if d.Terminate == terminate {
				params.Jobs, of = append(params.Jobs, d.Stop), append(of, d)
			}
		}
		if len(of) == 0 {
			continue
		}
		call, cancel := context.WithTimeout(ctx, store.CallTimeout)
		results, err := l.Cancel(call, params)
		cancel()
		if err != nil && ctx.Err() == nil {
			l.Outage.Stumbled(logs.CallSchedules, err)
		}
		for i, d := range of {
			if err == nil && (results[i].Err == nil || errors.Is(results[i].Err, store.ErrNotFound)) {
				asked = append(asked, d)
			} else {
				l.resting.rest(key{d.Unit.Fire.Namespace, d.Unit.Fire.Name}, l.Store.Now().Add(away))
			}
		}
	}
	return asked
}

// write passes decisions on, and waits until they are written, or until Patience is over.
func (l *Loop) write(ctx context.Context, decisions []*firing.Decision) {
	if len(decisions) == 0 {
		return
	}
	call, cancel := context.WithTimeout(ctx, store.CallTimeout)
	var left sync.WaitGroup
	for _, d := range decisions {
		f := d.Unit.Fire
		l.resting.rest(key{f.Namespace, f.Name}, time.Time{})
		left.Add(1)
		l.Fire(call, &d.Unit, func(err error) {
			l.answered(f, err)
			left.Done()
		})
	}
	written, late := make(chan struct{}), make(chan struct{})
	go func() {
		left.Wait()
		cancel()
		close(written)
		select {
		case <-late:
			l.Nudge()
		default:
		}
	}()
	patience := time.NewTimer(Patience)
	defer patience.Stop()
	select {
	case <-written:
	case <-patience.C:
		close(late)
	case <-ctx.Done():
	}
}

// answered ends the rest of a schedule, unless its fire would be refused again.
func (l *Loop) answered(f *store.Fire, err error) {
	k := key{f.Namespace, f.Name}
	taken, has := errors.AsType[*store.HasRunError](err)
	switch {
	case err == nil, errors.Is(err, store.ErrNotFound):
		if err == nil {
			l.written.Add(1)
		}
		l.resting.written(k)
	case has:
		l.resting.has(k, taken.Nominal)
	case errors.Is(err, store.ErrConflict):
		l.resting.again(k) // it was changed meanwhile: what is there now is decided about
	case errors.Is(err, store.ErrBusy), store.IsRetryable(err), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		l.resting.rest(k, l.Store.Now().Add(away))
	default:
		l.Lines.Say(slog.LevelError, logs.About{}, "a schedule cannot fire; it is tried again later",
			slog.String(logs.KeyNamespace, f.Namespace), slog.String(logs.KeySchedule, f.Name), slog.Any(logs.KeyError, err))
		l.resting.rest(k, l.Store.Now().Add(Unreadable))
	}
}
