package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// timeOf returns the time of a number of microseconds since 1970.
func timeOf(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// optTime is timeOf for what may be NULL.
func optTime(micros *int64) time.Time {
	if micros == nil {
		return time.Time{}
	}
	return timeOf(*micros)
}

// optMicros is the inverse of optTime.
func optMicros(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	micros := t.UnixMicro()
	return &micros
}

// Now is the time of the database's clock, told by the local one and the offset between them, or of the injected clock.
func (s *database) Now() time.Time { return timeOf(s.micros()) }

// micros is Now as a number of microseconds since 1970.
func (s *database) micros() int64 {
	if s.Clock != nil {
		return s.Clock().UnixMicro()
	}
	return time.Now().UnixMicro() + s.offset.Load()
}

// injected is the parameter of statements that tell liveness: NULL makes them read the database's clock.
func (s *database) injected() *int64 {
	if s.Clock == nil {
		return nil
	}
	now := s.micros()
	return &now
}

// The offset between the two clocks is known from what the database says between two moments of the local clock: it is off by half that
// round trip at the most. A busy pool or a slow network can make that as long as it likes.
const (
	// trustedTrip is how long a round trip may be for its offset to be taken as it is.
	trustedTrip = 100 * time.Millisecond
	// longestTrip is how long one may be for a store to begin with.
	longestTrip = 2 * time.Second
	// clockTries is how often a store that opens asks for a better one.
	clockTries = 5
	// offsetHolds is how long an offset is used for what is due some time after an enqueue.
	offsetHolds = 5 * time.Second
)

// reading is what the database's clock said between two moments of the local one.
type reading struct {
	micros          int64
	asked, answered time.Time
}

func (r reading) trip() time.Duration { return r.answered.Sub(r.asked) }

// offset is how far the database's clock is ahead of the local one, if it was read in the middle.
func (r reading) offset() int64 { return r.micros - r.asked.Add(r.trip()/2).UnixMicro() }

// correct returns the offset to go on with. One of a short round trip is taken as it is. A long one only says between which bounds the
// offset is: what lies between them stays, what does not is moved to the nearer one.
func (r reading) correct(offset int64) int64 {
	if r.trip() <= trustedTrip {
		return r.offset()
	}
	half := r.trip().Microseconds()/2 + 1
	return min(max(offset, r.offset()-half), r.offset()+half)
}

// noteClock corrects the offset by what was read.
func (s *database) noteClock(r reading) {
	s.offset.Store(r.correct(s.offset.Load()))
	s.clockRead.Store(&r.answered)
}

// isFresh reports whether an offset that was measured at a moment may be used at another: not for long, as the database's clock may be
// set, and not if ours was.
func isFresh(measured, now time.Time) bool {
	elapsed := now.Sub(measured) // by the monotonic clock
	set := now.Round(0).Sub(measured.Round(0)) - elapsed
	return elapsed < offsetHolds && set.Abs() < trustedTrip
}

// freshen measures the offset for enqueues that are due some time from now, if that was not done lately. A node does it with each
// beat, others do not beat.
func (s *database) freshen(ctx context.Context, t runner, enqueues []*store.Enqueue) {
	measured := s.clockRead.Load()
	isDelayed := func(q *store.Enqueue) bool { return q.Delay > 0 }
	if s.Clock != nil || measured != nil && isFresh(*measured, time.Now()) || !slices.ContainsFunc(enqueues, isDelayed) {
		return
	}
	if r, err := readClock(ctx, t); err == nil { // or else the enqueue will say so
		s.noteClock(r)
	}
}

// measureClock asks the database what time it is, a few times if the answers take long, and begins with the best of them. Where none
// is good enough run times could not be told, so the store does not open.
func (s *database) measureClock(ctx context.Context) error {
	best, err := bestReading(func() (reading, error) { return readClock(ctx, one{s}) })
	if err == nil {
		s.offset.Store(best.offset())
		s.clockRead.Store(&best.answered)
	}
	return err
}

func bestReading(read func() (reading, error)) (best reading, err error) {
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

func readClock(ctx context.Context, t runner) (r reading, err error) {
	r.asked = time.Now()
	err = t.run(ctx, "clock", func(row row) error {
		r.answered = time.Now()
		return row.Scan(&r.micros)
	})
	return r, err
}
