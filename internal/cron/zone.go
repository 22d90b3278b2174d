package cron

import (
	"math"
	"path"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // so that every node knows every zone, see the package comment
)

// zones has the zones that were loaded, by name: a hundred thousand schedules share some hundreds.
var zones sync.Map

// loadZone returns a zone of the IANA database; "" is UTC.
func loadZone(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	if zone, ok := zones.Load(name); ok {
		return zone.(*time.Location), nil //nolint:errcheck // it holds only these
	}
	if name == "Local" {
		return nil, &ZoneError{name, "it is another zone on each machine; give its name, such as Europe/Berlin"}
	}
	unknown := &ZoneError{name, "not in the zone database; give a name of it, such as Europe/Berlin, America/New_York or UTC"}
	if !isEverywhere(name) {
		return nil, unknown
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, unknown
	}
	zones.Store(name, zone)
	return zone, nil
}

// isEverywhere reports whether a name can be in each zone database, not only in files of a system,
// which have zones with leap seconds, too, and may be found by several paths.
func isEverywhere(name string) bool {
	return path.Clean(name) == name && !strings.HasPrefix(name, "right/") && !strings.HasPrefix(name, "posix/") &&
		!strings.ContainsFunc(name, func(r rune) bool {
			return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("/_+-", r))
		})
}

const (
	daySeconds = 24 * 60 * 60
	// farthest is more than any zone has ever been from UTC, in seconds.
	farthest = daySeconds
	// period is after how many seconds the calendar repeats: 400 years.
	period = 146097 * daySeconds
)

// earliest and latest bound all times, in seconds since 1970: the years 1 to 9999 in every zone.
var (
	earliest = time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC).Unix()
	latest   = time.Date(9999, 12, 30, 0, 0, 0, 0, time.UTC).Unix()
)

// A wall is what the face of a clock shows, date included, as the seconds since 1970 of the instant
// at which UTC shows the same. An instant is a number of seconds since 1970.

// split returns the day since 1970 and the second of the day.
func split(wall int64) (day, since int64) {
	day, since = wall/daySeconds, wall%daySeconds
	if since < 0 {
		day, since = day-1, since+daySeconds
	}
	return day, since
}

// clock is the clock on the wall in a zone.
type clock struct {
	zone *time.Location
}

// segment is a span of time in which the clock is not changed: instants from start, before end.
type segment struct {
	start, end int64
	offset     int64 // what the clock shows is the instant and this
}

func (s segment) wall(instant int64) int64 { return instant + s.offset }

// from returns a segment that begins with an instant.
//
// Of what ZoneBounds says only the end is used, and not on the last day of a leap year, when it is
// the day's beginning: see go.dev/issue/81583. Its start can be before a change of the clock in the
// year in which a zone's file ends and its rule for later years takes over.
func (c clock) from(instant int64) segment {
	t := time.Unix(instant, 0).In(c.zone)
	_, offset := t.Zone()
	s := segment{start: instant, end: math.MaxInt64, offset: int64(offset)}
	if _, end := t.ZoneBounds(); !end.IsZero() {
		s.end = end.Unix()
	}
	if s.end <= instant {
		day, _ := split(instant)
		s.end = (day + 1) * daySeconds
	}
	return s
}

// upTo returns a segment that ends with an instant.
func (c clock) upTo(instant int64) segment {
	start, _ := time.Unix(instant, 0).In(c.zone).ZoneBounds()
	if start.IsZero() {
		s := c.from(instant)
		return segment{math.MinInt64, instant + 1, s.offset}
	}
	s := c.from(min(start.Unix(), instant))
	for s.end <= instant {
		s = c.from(s.end)
	}
	s.end = instant + 1
	return s
}

// first returns the first instant at which the clock shows a wall or more, and what it shows then.
func (c clock) first(wall int64) (instant, shown int64) {
	s := c.from(wall - farthest)
	for s.end != math.MaxInt64 && s.wall(s.end) <= wall {
		s = c.from(s.end)
	}
	instant = max(s.start, wall-s.offset)
	return instant, s.wall(instant)
}

// highest returns the most that the clock has shown, up to an instant: what it shows, unless it was
// set back a short time ago.
func (c clock) highest(instant int64) int64 {
	s := c.from(instant - 2*farthest)
	high := s.wall(s.start)
	for s.end <= instant {
		high = max(high, s.wall(s.end-1))
		s = c.from(s.end)
	}
	return max(high, s.wall(instant))
}

// shows is the instant as a time in the zone.
func (c clock) shows(instant int64) time.Time { return time.Unix(instant, 0).In(c.zone) }
