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
	if after.Year() > 9999 {
		return time.Time{}, false
	}
	from := time.Unix(earliest-1, 0)
	if after.After(from) {
		from = after
	}
	return e.times(e.rounds(from.UnixMicro()) + 1)
}

func (e *every) prev(before time.Time) (time.Time, bool) {
	if before.Year() < 1 {
		return time.Time{}, false
	}
	from := time.Unix(latest+1, 0)
	if before.Before(from) {
		from = before
	}
	micros := from.UnixMicro()
	if from.Nanosecond()%1000 == 0 {
		micros--
	}
	return e.times(e.rounds(micros))
}

// rounds is how many whole intervals are between the anchor and a time, rounded down.
func (e *every) rounds(micros int64) int64 {
	n, rest := (micros-e.anchor.UnixMicro())/e.interval.Microseconds(), (micros-e.anchor.UnixMicro())%e.interval.Microseconds()
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
