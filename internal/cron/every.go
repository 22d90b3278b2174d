package cron

import "time"

// every fires at its anchor, and at each multiple of its interval before and after that. It counts
// microseconds: two times may be further apart than a time.Duration reaches.
type every struct {
	interval time.Duration // whole microseconds
	anchor   time.Time     // whole microseconds
	zone     *time.Location
}

func (e *every) next(after time.Time) (time.Time, bool) {
	if after.Unix() > latest {
		return time.Time{}, false
	}
	if after.Unix() < earliest {
		after = time.UnixMicro(earliest*1e6 - 1)
	}
	return e.times(e.rounds(after.UnixMicro()) + 1)
}

func (e *every) prev(before time.Time) (time.Time, bool) {
	if before.Unix() < earliest {
		return time.Time{}, false
	}
	if before.Unix() > latest {
		before = time.Unix(latest+1, 0)
	}
	micros := before.UnixMicro()
	if before.Nanosecond()%1000 == 0 {
		micros--
	}
	return e.times(e.rounds(micros))
}

// rounds is how many whole intervals are between the anchor and a time, rounded down.
func (e *every) rounds(micros int64) int64 {
	since, interval := micros-e.anchor.UnixMicro(), e.interval.Microseconds()
	n, rest := since/interval, since%interval
	if rest < 0 {
		n--
	}
	return n
}

// times is the time so many intervals after the anchor, if it is between the years 1 and 9999.
func (e *every) times(n int64) (time.Time, bool) {
	t := time.UnixMicro(e.anchor.UnixMicro() + n*e.interval.Microseconds()).In(e.zone)
	if t.Unix() < earliest || t.Unix() > latest {
		return time.Time{}, false
	}
	return t, true
}
