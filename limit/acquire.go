package limit

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/engine"
	"github.com/holdfastdev/holdfast/internal/gcra"
	"github.com/holdfastdev/holdfast/store"
)

// AcquireContext is Acquire for code outside of durable functions: it waits in this process, in
// line with its other calls. It takes a permit a tenth of a second before its time, and none that
// comes after the deadline of ctx: it returns as soon as it knows that there is no other, at once
// or when it has come to the front. If ctx ends while it has a permit this goes back, unless
// another one was taken since.
//
// It returns while its permit may be used, by the clock of the database, wherever in the call to it
// its moment was: if that call took too long, or the process stood still, the permit is lost and it
// takes another one; where calls are slow it takes several, for one start, and longer before their
// time. A Drain is heard until a tenth of a second before the permit comes.
//
// The errors are ErrNotFound, ErrInvalid if the limit has no rate, or one of each key, ErrConflict
// if its permits are taken for ten years, and that of ctx.
func AcquireContext(ctx context.Context, c *holdfast.Client, name string) error {
	e, _ := access.Engine(c)
	a := acquiring{client: c, engine: e, store: e.Store, name: name, want: 1, ahead: store.PermitAhead}
	for {
		got, err := a.next(ctx)
		if err != nil {
			return err
		}
		if in, err := a.await(ctx, got); in || err != nil {
			return err
		}
	}
}

// acquiring is a call of AcquireContext.
type acquiring struct {
	client *holdfast.Client
	engine *engine.Engine
	store  store.Store
	name   string

	want           int             // permits that the next call takes, all of them for one start
	ahead          time.Duration   // how long before their time
	back           store.PermitAsk // those that were not used, which go back with it if they can
	sent, answered time.Time       // of the last call
	quickest       time.Duration   // call so far
}

// next takes permits that follow one another, as soon as it is the turn of the caller and their
// time is near.
func (a *acquiring) next(ctx context.Context) (got store.Permits, err error) {
	l, err := a.limit(ctx)
	if err != nil {
		return got, err
	}
	at := place{a.engine, a.client.Namespace(), a.name}
	in, err := enter(ctx, at, inFront(l.Rate))
	if err != nil {
		return got, err
	}
	defer in.leave(at)
	for look := 100 * time.Millisecond; ; {
		got, err := a.take(ctx, l)
		if got.Period > 0 {
			in.comes(a.sent.Add(got.Next))
		}
		if err != nil || got.Count > 0 {
			return got, err
		}
		wait := look
		switch {
		case got.Limit == 0: // it was changed meanwhile
			wait = 0
		case got.Period == 0:
			look = min(2*look, firstLook)
		case got.Next > store.MostAhead:
			return got, gcra.BookedOut(a.client.Namespace(), a.name)
		default:
			if end, ok := ctx.Deadline(); ok && a.sent.Add(got.Next).After(end) {
				return got, context.DeadlineExceeded
			}
			wait = min(max(got.Next-a.ahead, time.Millisecond), lookAgain)
		}
		if err := pause(ctx, wait); err != nil {
			return got, err
		}
		if l, err = a.limit(ctx); err != nil {
			return got, err
		}
	}
}

// lookAgain is how often who waits for a permit that comes later looks whether one comes earlier.
const lookAgain = time.Second

func (a *acquiring) limit(ctx context.Context) (store.Limit, error) {
	l, err := Get(ctx, a.client, a.name)
	if err == nil && l.Together() == nil {
		err = noRate(&l)
	}
	return l, err
}

// take takes permits, if there are some that come soon, and before ctx ends.
func (a *acquiring) take(ctx context.Context, l store.Limit) (p store.Permits, err error) {
	ahead := a.ahead
	if end, ok := ctx.Deadline(); ok {
		ahead = max(min(ahead, time.Until(end)), 0)
	}
	ask := store.PermitAsk{Limit: l.ID, Version: l.Version, Want: a.want, Ahead: ahead}
	if a.back.Limit == l.ID && a.back.Version == l.Version {
		ask.Back, ask.Move = a.back.Back, a.back.Move
	}
	a.back, a.sent = store.PermitAsk{}, time.Now()
	got, err := a.store.TakePermits(ctx, []store.PermitAsk{ask})
	a.answered = time.Now()
	if took := a.answered.Sub(a.sent); a.quickest == 0 || took < a.quickest {
		a.quickest = took
	}
	if len(got) == 0 {
		return p, err
	}
	a.back = store.PermitAsk{Limit: l.ID, Version: l.Version, Back: got[0].Count, Move: got[0].Move}
	return got[0], err
}

// await waits until permits come, and reports whether they may be used then. The moment from which
// their times are told was between the sending of the call and its answer: so they have come when
// they have from the answer on, and may be used until the last one may from the sending on.
func (a *acquiring) await(ctx context.Context, p store.Permits) (in bool, err error) {
	from, until := a.answered.Add(p.From(0)), a.sent.Add(p.Until(p.Count-1))
	if early := time.Until(from) - store.PermitAhead; early > 0 {
		comes := a.store.Now().Add(time.Until(from))
		if err := a.pause(ctx, early); err != nil {
			return false, err
		}
		l, err := a.limit(ctx)
		if err != nil || l.DrainedUntil.After(comes) || l.Resumed != store.ResumesOf(p.Move) {
			return false, err
		}
	}
	if wait := time.Until(from); wait > 0 {
		if err := a.pause(ctx, wait); err != nil {
			return false, err
		}
	}
	if !time.Now().After(until) {
		return true, nil
	}
	a.want, a.ahead = min(2*a.want, enough(p, 2*a.quickest)), min(2*a.ahead, store.MostAhead)
	return false, nil
}

// enough is how many permits that follow one another may be used for so long together, whenever
// they come: from when the first one may until the last one may no longer.
func enough(p store.Permits, window time.Duration) int {
	n := 1 + int((max(window-store.PermitLife, 0)+p.Period-1)/p.Period)
	if window > store.PermitStays+store.PermitLife {
		n += p.Burst - 1 // that were saved up, and come with the first one
	}
	return min(n, store.MaxCapacity)
}

// pause waits, or gives the permits back if ctx ends before that.
func (a *acquiring) pause(ctx context.Context, wait time.Duration) error {
	err := pause(ctx, wait)
	if err != nil {
		giving, cancel := context.WithTimeout(context.WithoutCancel(ctx), store.CallTimeout)
		defer cancel()
		_, _ = a.store.TakePermits(giving, []store.PermitAsk{a.back}) // one that is not given back is lost
	}
	return err
}

// pause waits, or returns at once if ctx ends before that.
func pause(ctx context.Context, wait time.Duration) error {
	if end, ok := ctx.Deadline(); ok && time.Until(end) < wait {
		return context.DeadlineExceeded
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
