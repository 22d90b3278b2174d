package postgres

import (
	"context"
	"fmt"
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

// Now implements store.Store: the clock of the database, told by the local one and the offset between them, which every
// beat measures anew; or the injected clock. It is off by half the shortest round trip at the most.
func (s *Store) Now() time.Time { return timeOf(s.now()) }

func (s *Store) now() int64 {
	if s.config.Clock != nil {
		return s.config.Clock().UnixMicro()
	}
	return time.Now().UnixMicro() + s.offset.Load()
}

// injected is the parameter of statements that tell liveness: NULL makes them read the database's clock.
func (s *Store) injected() *int64 {
	if s.config.Clock == nil {
		return nil
	}
	now := s.now()
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

// noteClock corrects the offset by what a beat has read.
func (s *Store) noteClock(r reading) { s.offset.Store(r.correct(s.offset.Load())) }

// measureClock asks the database what time it is, a few times if the answers take long, and begins with the best of them. Where none
// is good enough run times could not be told, so the store does not open.
func (s *Store) measureClock(ctx context.Context) error {
	best, err := bestReading(func() (reading, error) { return s.readClock(ctx) })
	if err == nil {
		s.offset.Store(best.offset())
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
		return best, fmt.Errorf("%w: it takes %v to tell the time", store.ErrUnavailable, best.trip())
	}
	return best, nil
}

func (s *Store) readClock(ctx context.Context) (r reading, err error) {
	r.asked = time.Now()
	err = s.send(ctx, statement{name: "clock", each: func(row row) error {
		r.answered = time.Now()
		return row.Scan(&r.micros)
	}})
	return r, err
}
