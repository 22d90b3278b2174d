package cron

import (
	"time"
)

// next is the first instant of the expression after a time.
func (e *expression) next(after time.Time) (time.Time, bool) {
	from := max(after.Unix(), earliest-1) // rounded down, before 1970 too
	if from >= latest {
		return time.Time{}, false
	}
	last := min(latest, from+period)
	find := e.nextInterval
	if e.fixed {
		find = e.nextFixed
	}
	instant, ok := find(from, last)
	if !ok || instant > last {
		return time.Time{}, false
	}
	return e.clock.shows(instant), true
}

// nextInterval walks along the segments and looks for a wall in each.
func (e *expression) nextInterval(after, last int64) (int64, bool) {
	for instant := after + 1; instant <= last; {
		s := e.clock.from(instant)
		end := min(s.end-1, last)
		if wall, ok := e.nextWall(s.wall(instant), s.wall(end)); ok {
			return wall - s.offset, true
		}
		instant = end + 1
	}
	return 0, false
}

// nextFixed returns when the next wall above all that the clock has shown is reached.
func (e *expression) nextFixed(after, last int64) (int64, bool) {
	wall := e.clock.highest(after)
	for {
		next, ok := e.nextWall(wall+1, last+farthest)
		if !ok {
			return 0, false
		}
		instant, shown := e.clock.first(next)
		if shown == next || !e.skip {
			return instant, true
		}
		wall = shown - 1 // what is left out with it, is too
	}
}

// prev is the last instant of the expression before a time.
func (e *expression) prev(before time.Time) (time.Time, bool) {
	from := before.Unix()
	if from <= latest && before.Nanosecond() == 0 {
		from--
	}
	if from < earliest {
		return time.Time{}, false
	}
	from = min(from, latest)
	first := max(earliest, from-period)
	find := e.prevInterval
	if e.fixed {
		find = e.prevFixed
	}
	instant, ok := find(from, first)
	if !ok || instant < first {
		return time.Time{}, false
	}
	return e.clock.shows(instant), true
}

func (e *expression) prevInterval(instant, first int64) (int64, bool) {
	for instant >= first {
		s := e.clock.upTo(instant)
		begin := max(s.start, first)
		if wall, ok := e.prevWall(s.wall(instant), s.wall(begin)); ok {
			return wall - s.offset, true
		}
		instant = begin - 1
	}
	return 0, false
}

// prevFixed returns when the highest wall was reached among those that the clock has shown, or gone
// over, by then.
func (e *expression) prevFixed(last, first int64) (int64, bool) {
	wall := e.clock.highest(last)
	for {
		prev, ok := e.prevWall(wall, first-farthest)
		if !ok {
			return 0, false
		}
		instant, shown := e.clock.first(prev)
		if shown == prev || !e.skip {
			return instant, true
		}
		wall = e.clock.highest(instant - 1)
	}
}
