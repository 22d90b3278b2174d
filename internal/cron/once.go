package cron

import "time"

// once fires at one time.
type once struct {
	at time.Time // in the zone
}

func (o *once) next(after time.Time) (time.Time, bool) { return o.on(o.at.After(after)) }

func (o *once) prev(before time.Time) (time.Time, bool) { return o.on(o.at.Before(before)) }

func (o *once) on(is bool) (time.Time, bool) {
	if !is {
		return time.Time{}, false
	}
	return o.at, true
}
