package pg

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// TimeOf returns the time of a number of microseconds since 1970.
func TimeOf(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// OptTime is TimeOf for what may be NULL.
func OptTime(micros *int64) time.Time {
	if micros == nil {
		return time.Time{}
	}
	return TimeOf(*micros)
}

// OptMicros is the inverse of OptTime.
func OptMicros(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	micros := t.UnixMicro()
	return &micros
}

// Now is the time of the database's clock, told by the local one and the offset between them, or of
// the injected clock.
func (d *DB) Now() time.Time { return TimeOf(d.Micros()) }

// Micros is Now as a number of microseconds since 1970.
func (d *DB) Micros() int64 {
	if d.Clock != nil {
		return d.Clock().UnixMicro()
	}
	return time.Now().UnixMicro() + d.offset.Load()
}

// Injected is the parameter of statements that tell liveness: NULL makes them read the database's
// clock.
func (d *DB) Injected() *int64 {
	if d.Clock == nil {
		return nil
	}
	now := d.Micros()
	return &now
}

// The offset between the two clocks is known from what the database says between two moments of the
// local clock: it is off by half that round trip at the most. A busy pool or a slow network can
// make that as long as it likes.
const (
	// trustedTrip is how long a round trip may be for its offset to be taken as it is.
	trustedTrip = 100 * time.Millisecond
	// longestTrip is how long one may be for a store to begin with.
	longestTrip = 2 * time.Second
	// clockTries is how often a store that opens asks for a better one.
	clockTries = 5
	// offsetHolds is how long an offset is used for what depends on how late it is.
	offsetHolds = 5 * time.Second
)

// Reading is what the database's clock said between two moments of the local one.
type Reading struct {
	Micros          int64
	Asked, Answered time.Time
}

func (r Reading) trip() time.Duration { return r.Answered.Sub(r.Asked) }

// offset is how far the database's clock is ahead of the local one, if it was read in the middle.
func (r Reading) offset() int64 { return r.Micros - r.Asked.Add(r.trip()/2).UnixMicro() }

// correct returns the offset to go on with. One of a short round trip is taken as it is. A long one
// only says between which bounds the offset is: what lies between them stays, what does not is
// moved to the nearer one.
func (r Reading) correct(offset int64) int64 {
	if r.trip() <= trustedTrip {
		return r.offset()
	}
	half := r.trip().Microseconds()/2 + 1
	return min(max(offset, r.offset()-half), r.offset()+half)
}

// NoteClock corrects the offset by what was read.
func (d *DB) NoteClock(r Reading) {
	d.offset.Store(r.correct(d.offset.Load()))
	d.clockRead.Store(&r.Answered)
}

// isFresh reports whether an offset that was measured at a moment may be used at another: not for
// long, as the database's clock may be set, and not if ours was.
func isFresh(measured, now time.Time) bool {
	elapsed := now.Sub(measured) // by the monotonic clock
	set := now.Round(0).Sub(measured.Round(0)) - elapsed
	return elapsed < offsetHolds && set.Abs() < trustedTrip
}

// Freshen measures the offset if that was not done lately, for what depends on how late it is: who
// still keeps a business key. A node does it with each beat, others do not beat.
func (d *DB) Freshen(ctx context.Context, t Runner) {
	if measured := d.clockRead.Load(); d.Clock != nil || measured != nil && isFresh(*measured, time.Now()) {
		return
	}
	if r, err := readClock(ctx, t); err == nil { // or else what follows will say so
		d.NoteClock(r)
	}
}

// FreshenFor is Freshen for enqueues: those that are due some time from now, and those that want a
// business key. All others do not need it.
func (d *DB) FreshenFor(ctx context.Context, t Runner, enqueues []*store.Enqueue) {
	if slices.ContainsFunc(enqueues, func(q *store.Enqueue) bool { return q.Delay > 0 || q.Job.Options.Key != "" }) {
		d.Freshen(ctx, t)
	}
}

// MeasureClock asks the database what time it is, a few times if the answers take long, and begins
// with the best of them. Where none is good enough run times could not be told, so the store does
// not open.
func (d *DB) MeasureClock(ctx context.Context) error {
	best, err := bestReading(func() (Reading, error) { return readClock(ctx, One{d}) })
	if err == nil {
		d.offset.Store(best.offset())
		d.clockRead.Store(&best.Answered)
	}
	return err
}

func bestReading(read func() (Reading, error)) (best Reading, err error) {
	for n := range clockTries {
		r, err := read()
		if err != nil {
			return r, err
		}
		if n == 0 || r.trip() < best.trip() {
			best = r
		}
		if best.trip() <= trustedTrip {
			return best, nil
		}
	}
	if best.trip() > longestTrip {
		return best, fmt.Errorf("%w: reading the server's clock takes %v, which is too long", store.ErrUnavailable, best.trip())
	}
	return best, nil
}

func readClock(ctx context.Context, t Runner) (r Reading, err error) {
	r.Asked = time.Now()
	err = t.Run(ctx, "clock", func(row Row) error {
		r.Answered = time.Now()
		return row.Scan(&r.Micros)
	})
	return r, err
}

// Today is the number of the day, counted from 1970.
func (d *DB) Today() int32 { return DayOf(d.Micros()) }

// DayOf is the number of the day of a time in microseconds, counted from 1970.
func DayOf(micros int64) int32 { return int32(micros / Day.Microseconds()) }

// Day is the unit of partitions, and of what is known of lanes.
const Day = 24 * time.Hour
