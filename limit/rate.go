package limit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
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
// time stays; Resume takes it back.
//
// Nodes that hear of it drop the permits that they have taken in advance; one that does not uses
// them for at most 220 ms. Calls of Acquire that still wait take a permit after that time. Jobs
// that were claimed before run.
//
// The errors are ErrNotFound, and ErrInvalid if the limit has no rate, or one of each key, or until
// is not between the years 1 and 9999.
func Drain(ctx context.Context, c *holdfast.Client, name string, until time.Time) error {
	e, _ := access.Engine(c)
	err := e.DrainLimit(ctx, c.Namespace(), name, until, c.Actor())
	if store.CheckDrain(name, until) != nil {
		return err
	}
	return sayNoRate(ctx, c, name, err)
}

// Resume takes back a drain that has not ended: permits come one by one from now on. If some were
// used just before the drain the first one comes as late after those as the rate says. The reason
// is recorded with who asked, and may be "". A limit that is not drained is left alone.
//
// Nodes that hear of it take permits at once, others when they look for limits the next time. Calls
// of AcquireContext that wait for a permit look for one within a second. Runs that are
// parked in Acquire wake when they were told, and take another permit then if they have to.
//
// The errors are ErrNotFound, and ErrInvalid if the limit has no rate, or one of each key.
func Resume(ctx context.Context, c *holdfast.Client, name, reason string) error {
	e, actor := access.Engine(c)
	err := e.ResumeLimit(ctx, store.ResumeLimitParams{Namespace: c.Namespace(), Name: name, Actor: actor, Reason: reason})
	return sayNoRate(ctx, c, name, err)
}

// sayNoRate is the error of a call, which says so if the limit has no rate for it.
func sayNoRate(ctx context.Context, c *holdfast.Client, name string, err error) error {
	if errors.Is(err, store.ErrInvalid) {
		if l, getErr := Get(ctx, c, name); getErr == nil && l.Together() == nil {
			return noRate(&l)
		}
	}
	return err
}

// noRate is the ErrInvalid of a limit without a rate that Acquire and Drain could use.
func noRate(l *store.Limit) error {
	why := "has no rate"
	if l.PerKey && l.Rate != nil {
		why = "has a rate of each key, which only jobs take"
	}
	return fmt.Errorf("%w: the limit %q in the namespace %q %s", store.ErrInvalid, l.Name, l.Namespace, why)
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
	At      time.Time `json:"at,omitzero"`       // when it comes; zero: at once
	Resumed int64     `json:"resumed,omitempty"` // how many drains were taken back before
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
	before, late, look := answer{}, firstLate, firstLook
	for {
		v := &store.Reservation{Name: name, Before: before.At, BeforeResumed: before.Resumed, Late: late, Say: func(v *store.Reservation) {
			data, err := json.Marshal(answer{v.At, v.Resumed, v.Stopped})
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
			before, look = answer{}, min(2*look, lastLook)
		case a.At.IsZero():
			return nil
		default:
			if !before.At.IsZero() {
				late = min(10*late, lastLate)
			}
			err = run.SleepUntil(a.At)
			before = a
		}
		if err != nil {
			return err
		}
	}
}
