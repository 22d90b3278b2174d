package schedule

import (
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/internal/cron"
	"github.com/holdfastdev/holdfast/store"
)

// Times are the nominal times of a schedule. Cron, Every and At make them; what is wrong with them
// is told when the schedule is created.
type Times struct {
	make func(schedule string, dst cron.DST) (cron.Spec, error)
	dst  cron.DST
}

// Cron are the times of an expression of five fields, or six with seconds in front, in a time zone
// of the IANA database; "" is UTC.
//
//	minute hour day month weekday     */5 * * * *     every five minutes
//	                                  30 2 * * MON-FRI  at 02:30 from Monday to Friday
//	L, W and #                        0 9 LW * *      on the last working day of the month
//	H                                 15 H * * *      once a day, in an hour spread by the name
//	@hourly @daily @weekly @monthly @yearly @every 90s
//
// When the clock is set back, a fixed time fires once, and an interval such as */5 in both hours.
// When it is set forward, a fixed time that is left out fires at the first instant after the gap;
// see SkipGaps.
func Cron(expression, zone string) Times {
	return Times{make: func(schedule string, dst cron.DST) (cron.Spec, error) {
		return cron.Cron(expression, cron.Options{Zone: zone, DST: dst, Seed: schedule})
	}}
}

// Every are times an interval apart, counted from 1970 in UTC: whatever the clock shows, and the
// same on every node. The interval is at least a second.
func Every(interval time.Duration) Times {
	return Times{make: func(string, cron.DST) (cron.Spec, error) { return cron.Every(interval, time.Time{}, "") }}
}

// EveryFrom are times an interval apart, of which anchor is one.
func EveryFrom(interval time.Duration, anchor time.Time) Times {
	return Times{make: func(string, cron.DST) (cron.Spec, error) { return cron.Every(interval, anchor, "") }}
}

// At is one time. If that has passed Create refuses it, and after Sync or Update the schedule is
// over: it stays in the list and does not fire.
func At(t time.Time) Times {
	return Times{make: func(string, cron.DST) (cron.Spec, error) { return cron.At(t, "") }}
}

// SkipGaps leaves out the times that the clock goes over when it is set forward.
func (t Times) SkipGaps() Times {
	t.dst = cron.Skip
	return t
}

// text is how the times of a schedule are stored.
func (t Times) text(schedule string) (string, error) {
	if t.make == nil {
		return "", fmt.Errorf("%w: schedule %q: it has no times; use Cron, Every or At", store.ErrInvalid, schedule)
	}
	spec, err := t.make(schedule, t.dst)
	if err != nil {
		return "", fmt.Errorf("%w: schedule %q: %w", store.ErrInvalid, schedule, err)
	}
	return spec.String(), nil
}
