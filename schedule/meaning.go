package schedule

import (
	"time"

	"github.com/holdfastdev/holdfast/internal/cron"
	"github.com/holdfastdev/holdfast/internal/firing"
	"github.com/holdfastdev/holdfast/store"
)

// Next returns up to n nominal times of a schedule after a time, in the zone of the schedule. The
// error is that of times that this version cannot read.
func Next(s *store.Schedule, after time.Time, n int) ([]time.Time, error) {
	spec, err := cron.Parse(s.Times)
	if err != nil {
		return nil, err
	}
	all, err := firing.Next(s, after, n)
	for i := range all {
		if at, ok := spec.Next(all[i].Add(-time.Microsecond)); ok {
			all[i] = at // the same one, as the clock there shows it
		}
	}
	return all, err
}

// Due returns the nominal time of a schedule that has come and not been acted on, and will get a
// job: as soon as a node leads, and, if the schedule is paused, when it is resumed. Of several it
// is the last one; ok is false if there is none. A schedule that has none, and no Next, is over.
func Due(s *store.Schedule, now time.Time) (nominal time.Time, ok bool) {
	if s.NextAt.IsZero() {
		return nominal, false
	}
	resumed := *s
	resumed.PausedAt = time.Time{}
	d, err := firing.Decide(&resumed, now)
	if err != nil {
		return nominal, false
	}
	for _, run := range d.Unit.Fire.Runs {
		if run.State == store.RunFired {
			nominal, ok = run.Nominal, true
		}
	}
	return nominal, ok
}

// Words says when a schedule fires, in English: "every weekday at 09:30 in Europe/Berlin".
func Words(s *store.Schedule) string {
	spec, err := cron.Parse(s.Times)
	if err != nil {
		return s.Times
	}
	return spec.Words()
}

// CronOf returns the expression and the zone of a schedule by Cron, and whether it skips gaps; ok
// is false if its times are others.
func CronOf(s *store.Schedule) (expression, zone string, skipsGaps, ok bool) {
	spec, err := cron.Parse(s.Times)
	if err != nil {
		return "", "", false, false
	}
	expression, o, ok := spec.Expression()
	return expression, o.Zone, o.DST == cron.Skip, ok
}

// ClockChange returns the next change of the clock, such as the begin of daylight-saving time, that
// affects a schedule, and what it does, in English; "" if there is none in the ten years after.
func ClockChange(s *store.Schedule, after time.Time) (at time.Time, effect string) {
	spec, err := cron.Parse(s.Times)
	if err != nil {
		return at, ""
	}
	note, ok := spec.Note(after)
	if !ok {
		return at, ""
	}
	return note.At, note.Text
}
