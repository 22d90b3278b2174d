package cli

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// ago says how long ago a time was, or how far off it is: "3s ago", "in 5m".
func ago(now, t time.Time) string {
	const far = 200 // years, which a duration cannot hold many more of
	years := t.Year() - now.Year()
	switch d := now.Sub(t); {
	case t.IsZero():
		return ""
	case years > far:
		return fmt.Sprintf("in %dy", years)
	case years < -far:
		return fmt.Sprintf("%dy ago", -years)
	case d < -time.Second/2:
		return "in " + rough(-d)
	case d < time.Second:
		return "now"
	default:
		return rough(d) + " ago"
	}
}

// rough is a duration in the unit that fits.
func rough(d time.Duration) string {
	const (
		day  = 24 * time.Hour
		year = 365 * day
	)
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 2*day:
		return fmt.Sprintf("%dh", int(d.Hours()))
	case d < 2*year:
		return fmt.Sprintf("%dd", int(d/day))
	}
	return fmt.Sprintf("%dy", int(d/year))
}

// maxName is how much of a name is in a cell of a table: one column must not push the others off
// the screen.
const maxName = 40

// clip shortens a text for a cell of a table.
func clip(text string, runes int) string {
	text = oneLine(text)
	if utf8.RuneCountInString(text) <= runes {
		return text
	}
	return string([]rune(text)[:runes-1]) + "…"
}

// plural is a number with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// quote makes one word of a text for a POSIX shell.
func quote(text string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,"
	if text != "" && strings.Trim(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// parseTime reads a time as users write it: RFC 3339, or without a zone, in the zone of the machine.
func parseTime(text string) (time.Time, error) {
	return parseTimeIn(text, time.Local) //nolint:gosmopolitan // a person's own clock
}

func parseTimeIn(text string, zone *time.Location) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			wanted, _ := time.Parse(layout, text) // as it did before
			return onlyTime(t, text, wanted.Format(time.DateTime))
		}
	}
	return time.Time{}, usagef("%q is not a time; write 2026-01-31T17:30:00Z or, in this machine's zone, \"2026-01-31 17:30\"", text)
}

// onlyTime refuses a time that a clock does not show, or shows twice, because it is set in between.
func onlyTime(t time.Time, text, shown string) (time.Time, error) {
	if t.Format(time.DateTime) != shown {
		return t, usagef("%q does not exist in this machine's zone, %s: the clock skips it", text, t.Location())
	}
	// What the clock shows at two times lies between two offsets from UTC.
	for _, near := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		_, offset := t.Zone()
		_, other := t.Add(near).Zone()
		twin := t.Add(time.Duration(offset-other) * time.Second)
		if other != offset && twin.Format(time.DateTime) == shown {
			first, second := t, twin
			if second.Before(first) {
				first, second = second, first
			}
			return t, usagef("%q occurs twice in this machine's zone, %s; write %s or %s",
				text, t.Location(), first.Format(time.RFC3339), second.Format(time.RFC3339))
		}
	}
	return t, nil
}
