package sqlite

import (
	"context"
	"time"
)

// timeOf returns the time of a number of microseconds since 1970.
func timeOf(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// Now implements store.Store: the clock of the process, or the one that was injected.
func (s *Store) Now() time.Time { return timeOf(s.now()) }

func (s *Store) now() int64 { return s.config.Clock().UnixMicro() }

// pause waits for d of real time, or until ctx ends. What it waits for is another process, which knows nothing of an
// injected clock.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
