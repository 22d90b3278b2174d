package postgres

import (
	"context"
	"time"
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
// beat measures anew; or the injected clock.
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

// setOffset notes what the database's clock said between two moments of the local one.
func (s *Store) setOffset(micros int64, asked, answered time.Time) {
	s.offset.Store(micros - asked.Add(answered.Sub(asked)/2).UnixMicro())
}

// measureClock asks the database what time it is.
func (s *Store) measureClock(ctx context.Context) error {
	asked := time.Now()
	return s.send(ctx, statement{name: "clock", each: func(r row) error {
		var micros int64
		if err := r.Scan(&micros); err != nil {
			return err
		}
		s.setOffset(micros, asked, time.Now())
		return nil
	}})
}
