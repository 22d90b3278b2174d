package await

import "time"

// Limit is when a wait ends at the latest. The zero value means never.
type Limit struct {
	Within time.Duration // from the beginning of the wait
	Until  time.Time
	Set    bool
}

// EndsAt is when a wait ends that begins now, of a limit that is set.
func (l Limit) EndsAt(now time.Time) time.Time {
	if !l.Until.IsZero() {
		return l.Until
	}
	return now.Add(max(l.Within, 0))
}
