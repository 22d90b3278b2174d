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
// Capacity. Such a limit has a rate.
func NoCapacity() Option {
	return func(l *store.Limit) error {
		l.Capacity, l.Uncapped = 0, true
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
// The errors are ErrNotFound, and ErrInvalid if the limit has no rate, or one of each key.
func Drain(ctx context.Context, c *holdfast.Client, name string, until time.Time) error {
	e, _ := access.Engine(c)
	return e.DrainLimit(ctx, c.Namespace(), name, until)
}

const (
	// firstLook and lastLook bound how long a run is parked whose limit gives no permits at all.
	firstLook = 10 * time.Second
	lastLook  = 10 * time.Minute
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
// In the journal it is a step, "acquire NAME", and a sleep. The errors are those of a step:
// ErrNotFound, and ErrInvalid if the limit has no rate, or one of each key, among them.
func Acquire(run *holdfast.Run, name string) error {
	before, look := time.Time{}, firstLook
	for {
		v := &store.Reservation{Name: name, Before: before, Say: func(v *store.Reservation) {
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
			err = run.SleepUntil(a.At)
			before = a.At
		}
		if err != nil {
			return err
		}
	}
}

// AcquireContext is Acquire for code outside of durable functions: it waits in this process. If ctx
// ends first, or says that it will, the permit goes back, unless another one was taken since. The
// errors are ErrNotFound, ErrInvalid if the limit has no rate, or one of each key, ErrConflict if
// its permits are taken for ten years, and that of ctx.
func AcquireContext(ctx context.Context, c *holdfast.Client, name string) error {
	e, _ := access.Engine(c)
	look, before := 100*time.Millisecond, time.Time{}
	for {
		l, err := Get(ctx, c, name)
		switch {
		case err != nil:
			return err
		case l.Together() == nil:
			return gcra.NoRate(c.Namespace(), name)
		case !before.IsZero() && !l.DrainedUntil.After(before):
			return nil
		}
		sent := time.Now()
		got, err := e.Store.TakePermits(ctx, []store.PermitAsk{{Limit: l.ID, Version: l.Version, Want: 1, Ahead: store.MostAhead}})
		if err != nil {
			return err
		}
		switch {
		case len(got) == 0: // it was changed meanwhile
		case got[0].Count > 0:
			wait := got[0].From(0) - time.Since(sent)
			if wait <= 0 {
				return nil
			}
			before = e.Store.Now().Add(wait)
			if err := pause(ctx, wait); err != nil {
				back := store.PermitAsk{Limit: l.ID, Version: l.Version, Back: 1, Move: got[0].Move}
				giving, cancel := context.WithTimeout(context.WithoutCancel(ctx), store.CallTimeout)
				_, _ = e.Store.TakePermits(giving, []store.PermitAsk{back}) // one that is not given back is lost
				cancel()
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
