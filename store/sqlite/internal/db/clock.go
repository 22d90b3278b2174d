package db

import (
	"context"
	"time"
)

// TimeOf returns the time of a number of microseconds since 1970.
func TimeOf(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// Pause waits for d of real time, or until ctx ends. What it waits for is another process, which
// knows nothing of an injected clock.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
