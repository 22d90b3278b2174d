package cron

import "time"

// Note says how a change of the zone's clock affects a schedule.
type Note struct {
	At     time.Time // the change: its first instant
	Effect Effect
	Text   string // for people
}

// Effect is what a change of the clock does to a schedule.
type Effect string

const (
	// Moved is a time that is left out, and fires after the gap.
	Moved Effect = "moved"
	// Skipped is a time that is left out, and does not fire.
	Skipped Effect = "skipped"
	// Once is a time that comes twice, and fires once.
	Once Effect = "once"
	// Twice is a time that comes twice, and fires twice.
	Twice Effect = "twice"
)

// noteYears is how far ahead changes are looked for.
const noteYears = 10

func (e *every) note(time.Time) (Note, bool) { return Note{}, false }

func (o *once) note(time.Time) (Note, bool) { return Note{}, false }

func (e *expression) note(after time.Time) (Note, bool) {
	from := min(max(after.Unix(), earliest), latest)
	last := min(from+noteYears*366*daySeconds, latest)
	for s := e.clock.from(from); s.end <= last; {
		next := e.clock.from(s.end)
		if n, ok := e.change(s, next); ok {
			return n, true
		}
		s = next
	}
	return Note{}, false
}

// change is the note of the change between two segments.
func (e *expression) change(s, next segment) (Note, bool) {
	from, to := s.wall(s.end), next.wall(s.end)
	low, ok := e.nextWall(min(from, to), max(from, to)-1)
	if !ok || e.keepsTime(from, to) {
		return Note{}, false
	}
	high, _ := e.prevWall(max(from, to)-1, low)
	n := Note{At: e.clock.shows(s.end)}
	times, verbs, goes, fires := face(low, low), [2]string{"does not exist", "comes twice"}, "goes from ", "fires at "
	if high > low {
		times, verbs, fires = times+" to "+face(high, low), [2]string{"do not exist", "come twice"}, "fires once, at "
	}
	verb, does := verbs[0], "the schedule "
	switch {
	case from < to && e.fixed && !e.skip:
		n.Effect, does = Moved, does+fires+face(to, low)
	case from < to:
		n.Effect, does = Skipped, does+"does not fire then"
	case e.fixed:
		n.Effect, does = Once, does+"fires the first time only"
	default:
		n.Effect, does = Twice, does+"fires both times"
	}
	if from > to {
		verb, goes = verbs[1], "goes back from "
	}
	n.Text = times + " " + verb + " on " + date(low) + " in " + e.clock.zone.String() +
		", where the clock " + goes + face(from, low) + " to " + face(to, low) + ": " + does
	return n, true
}

// keepsTime reports whether an interval goes on through a change as if there were none: it fires in
// each hour, in the same minutes after the change as before.
func (e *expression) keepsTime(from, to int64) bool {
	const hours = 1<<24 - 1
	if e.fixed || e.hour != hours || (to-from)%60 != 0 {
		return false
	}
	first, _ := split(min(from, to) - 3600)
	last, _ := split(max(from, to) + 3600)
	for day := first; day <= last; day++ {
		if !e.isDay(day) {
			return false
		}
	}
	by := int((to-from)/60%60+60) % 60
	const minutes = 1<<60 - 1
	return (e.minute<<by|e.minute>>(60-by))&minutes == e.minute
}
