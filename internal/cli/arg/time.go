package arg

import (
	"errors"
	"time"
)

// ParseTime parses a time: RFC 3339, or without a zone, in the local zone.
func ParseTime(text string) (time.Time, error) {
	return parseTimeIn(text, time.Local) //nolint:gosmopolitan // the user's clock
}

// ParseAgo parses a time, or a duration that says how long ago it was.
func ParseAgo(text string, now time.Time) (time.Time, error) {
	d, err := parseDuration(text)
	switch {
	case err != nil:
		return timeOrDuration(text)
	case d < 0:
		return now, Usagef("%s ago is in the future", text)
	}
	return now.Add(-d), nil
}

// ParseFromNow parses a time, or a duration from now.
func ParseFromNow(text string, now time.Time) (time.Time, error) {
	d, err := parseDuration(text)
	switch {
	case err != nil:
		return timeOrDuration(text)
	case d <= 0:
		return now, Usagef("%s from now is in the past", text)
	}
	return now.Add(d), nil
}

// timeOrDuration parses a time where a text that is no duration must be one.
func timeOrDuration(text string) (time.Time, error) {
	t, err := ParseTime(text)
	switch {
	case errors.Is(err, errNoTime):
		return t, Usagef("%q is neither a time, such as 2026-01-31T17:30:00Z or \"2026-01-31 17:30\", nor a duration, such as 24h or 7d", text)
	case err == nil && t.IsZero(): // stands for no time at all
		return t, Usagef("%q is too long ago", text)
	}
	return t, err
}

// errNoTime is the error of a text that is not a time at all.
var errNoTime = errors.New("write 2026-01-31T17:30:00Z or, in this machine's zone, \"2026-01-31 17:30\"")

func parseTimeIn(text string, zone *time.Location) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			wanted, _ := time.Parse(layout, text) // valid, as parsed before
			return onlyTime(t, text, wanted.Format(time.DateTime))
		}
	}
	return time.Time{}, Usagef("%q is not a time; %w", text, errNoTime)
}

// onlyTime refuses a local time that does not exist, or exists twice, because the clock is changed
// then.
func onlyTime(t time.Time, text, shown string) (time.Time, error) {
	if t.Format(time.DateTime) != shown {
		return t, Usagef("%q does not exist in this machine's zone, %s: the clock skips it", text, t.Location())
	}
	// Such a time lies between two offsets from UTC.
	for _, near := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		_, offset := t.Zone()
		_, other := t.Add(near).Zone()
		twin := t.Add(time.Duration(offset-other) * time.Second)
		if other != offset && twin.Format(time.DateTime) == shown {
			first, second := t, twin
			if second.Before(first) {
				first, second = second, first
			}
			return t, Usagef("%q occurs twice in this machine's zone, %s; write %s or %s",
				text, t.Location(), first.Format(time.RFC3339), second.Format(time.RFC3339))
		}
	}
	return t, nil
}
