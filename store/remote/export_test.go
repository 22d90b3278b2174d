package remote

import "time"

// WithClock returns a source whose stores have a clock of the test's.
func WithClock(c Config, now func() time.Time) Config {
	c.now = now
	return c
}
