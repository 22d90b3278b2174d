package cron

import "time"

// once fires at one time.
type once struct {
	at time.Time // in the zone
}

func (o *once) next(after time.Time) (time.Time, bool) { return o.at, o.at.After(after) }

func (o *once) prev(before time.Time) (time.Time, bool) { return o.at, o.at.Before(before) }
