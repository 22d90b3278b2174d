package limit

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/gcra"
	"github.com/holdfastdev/holdfast/store"
)

// Rate is how many jobs start in a time, over all nodes: Rate(50, time.Second). 0: none start. The
// time between two jobs is rounded up to whole microseconds. At most 100,000 jobs start in a
// second, and a time is at most 366 days.
func Rate(jobs int, per time.Duration) Option {
	return func(l *store.Limit) error {
		rate := store.Rate{Count: jobs, Per: per}
		if l.Rate != nil {
			rate.Burst = l.Rate.Burst
		}
		l.Rate = &rate
		return nil
	}
}

// Burst is how many jobs start at once after a time in which few did. Without it, or if it is 0, it
// is as many as the rate lets start in a tenth of a second, or the least that a rate can have, if
// that is more: one job and those of 20 ms, so 2 for 50 jobs a second and 21 for 1,000. It may be 1
// from one job a second on and for slower rates; these jobs then start 20 ms farther apart. The
// rate of each key (PerKey) may have any burst, and its jobs are not farther apart.
func Burst(jobs int) Option {
	return func(l *store.Limit) error {
		rate := store.Rate{} // a rate is to be said, too
		if l.Rate != nil {
			rate = *l.Rate
		}
		rate.Burst = jobs
		l.Rate = &rate
		return nil
	}
}

// NoRate takes the rate away.
func NoRate() Option {
	return func(l *store.Limit) error {
		l.Rate = nil
		return nil
	}
}

// NoCapacity lets any number of jobs run at once, as in a limit that is declared without a
// Capacity. Such a limit has a rate, and no FairShare.
func NoCapacity() Option {
	return func(l *store.Limit) error {
		l.Capacity, l.Uncapped, l.Fair = 0, true, false
		return nil
	}
}

// Drain lets no permit of a limit come before a time, and empties what was saved up by then: for
// when the other side has said that it had too much, as with a 429. An earlier Drain until a later
// time stays.
//
// Nodes that hear of it drop the permits that they have taken in advance; one that does not uses
// them for at most 220 ms. Calls of Acquire that still wait take a permit after that time. Jobs
// that were claimed before run.
//
// The errors are ErrNotFound, and ErrInvalid if the limit has no rate, or one of each key, or until
// is not between the years 1 and 9999.
func Drain(ctx context.Context, c *holdfast.Client, name string, until time.Time) error {
	e, _ := access.Engine(c)
	return e.DrainLimit(ctx, c.Namespace(), name, until)
}

const (
	// firstLook and lastLook bound how long a run is parked whose limit gives no permits at all.
	firstLook = 10 * time.Second
	lastLook  = 10 * time.Minute
	// firstLate and lastLate bound how long after the time of its permit a run still uses it.
	firstLate = time.Second
	lastLate  = store.MostPeriod
)

// answer is what the journal of a run remembers of a permit.
type answer struct {
	At      time.Time `json:"at,omitzero"` // when it comes; zero: at once
	Stopped bool      `json:"stopped,omitempty"`
}

// Acquire takes a permit of a limit with a rate in a durable function, and returns when it has
// come. Until then the run is parked. The permit is taken in the transaction that remembers it, so
// that a run which dies takes no second one. While the rate is 0 it looks now and then, at last
// every ten minutes.
//
// A permit that does not come at once is booked for its time, whether or not a worker is free then.
// A run that wakes up to a second after it uses it; one that wakes later, as when no worker was
// there, takes another permit, for which it waits if there is none. So of all runs in any time no
// more come out of Acquire than the burst and what the rate lets come in that time and one second,
// and it is the database's clock that says when they do. That second is ten times as long with each
// permit that a run has to wait for again, so that those get on whose workers are always late. A
// run that dies once its permit has come goes on with that, whenever it runs again.
//
// In the journal it is a step, "acquire NAME"; and if the permit does not come at once, a sleep and
// another such step for each that was waited for. The errors are those of a step: ErrNotFound, and
// ErrInvalid if the limit has no rate, or one of each key, among them.
func Acquire(run *holdfast.Run, name string) error {
	before, late, look := time.Time{}, firstLate, firstLook
	for {
		v := &store.Reservation{Name: name, Before: before, Late: late, Say: func(v *store.Reservation) {
			data, err := json.Marshal(answer{v.At, v.Stopped})
			if err == nil { // always
				v.Append.Entries[0].Data = data
			}
		}}
		data, err := access.Reserve(run, "acquire "+name, v)
		if err != nil {
			return err
		}
		var a answer
		if err := json.Unmarshal(data, &a); err != nil {
			return fmt.Errorf("cannot read when a permit of limit %q comes: %w", name, err)
		}
		switch {
		case a.Stopped:
			err = run.Sleep(look)
			before, look = time.Time{}, min(2*look, lastLook)
		case a.At.IsZero():
			return nil
		default:
			if !before.IsZero() {
				late = min(10*late, lastLate)
			}
			err = run.SleepUntil(a.At)
			before = a.At
		}
		if err != nil {
			return err
		}
	}
}

// AcquireContext is Acquire for code outside of durable functions: it waits in this process. If ctx
// ends first, or says that it will, the permit goes back, unless another one was taken since. It
// returns while its permit may be used, by the clock of the database, wherever in the call to it
// its moment was: if that call took too long, or the process stood still, the permit is lost and it
// takes another one; where calls are slow it takes several, for one start. A Drain is heard until a
// tenth of a second before the permit comes.
//
// The errors are ErrNotFound, ErrInvalid if the limit has no rate, or one of each key, ErrConflict
// if its permits are taken for ten years, and that of ctx.
func AcquireContext(ctx context.Context, c *holdfast.Client, name string) error {
	e, _ := access.Engine(c)
	a := acquiring{client: c, store: e.Store, name: name, want: 1}
	for look := 100 * time.Millisecond; ; {
		l, err := a.limit(ctx)
		if err != nil {
			return err
		}
		got, err := a.take(ctx, l)
		if err != nil {
			return err
		}
		switch {
		case len(got) == 0: // it was changed meanwhile
		case got[0].Count > 0:
			if in, err := a.await(ctx, got[0]); in || err != nil {
				return err
			}
		case got[0].Period > 0:
			return gcra.BookedOut(c.Namespace(), name)
		default:
			if err := pause(ctx, look); err != nil {
				return err
			}
			look = min(2*look, firstLook)
		}
	}
}

// acquiring is a call of AcquireContext.
type acquiring struct {
	client *holdfast.Client
	store  store.Store
	name   string

	want           int             // permits that the next call takes, all of them for one start
	back           store.PermitAsk // those that were not used, which go back with it if they can
	sent, answered time.Time       // of the last call
	quickest       time.Duration   // call so far
}

func (a *acquiring) limit(ctx context.Context) (store.Limit, error) {
	l, err := Get(ctx, a.client, a.name)
	if err == nil && l.Together() == nil {
		err = gcra.NoRate(a.client.Namespace(), a.name)
	}
	return l, err
}

// take takes permits that follow one another.
func (a *acquiring) take(ctx context.Context, l store.Limit) ([]store.Permits, error) {
	ask := store.PermitAsk{Limit: l.ID, Version: l.Version, Want: a.want, Ahead: store.MostAhead}
	if a.back.Limit == l.ID && a.back.Version == l.Version {
		ask.Back, ask.Move = a.back.Back, a.back.Move
	}
	a.back, a.sent = store.PermitAsk{}, time.Now()
	got, err := a.store.TakePermits(ctx, []store.PermitAsk{ask})
	a.answered = time.Now()
	if took := a.answered.Sub(a.sent); a.quickest == 0 || took < a.quickest {
		a.quickest = took
	}
	if len(got) > 0 {
		a.back = store.PermitAsk{Limit: l.ID, Version: l.Version, Back: got[0].Count, Move: got[0].Move}
	}
	return got, err
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
		if err != nil || l.DrainedUntil.After(comes) {
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
	a.want = min(2*a.want, enough(p, 2*a.quickest))
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
