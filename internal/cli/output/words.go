package output

import (
	"fmt"
	"time"
)

// Ago formats how long ago a time was, or how far off it is: "3s ago", "in 5m".
func Ago(now, t time.Time) string {
	const far = 200 // in years; a duration cannot hold many more
	years := t.Year() - now.Year()
	switch d := now.Sub(t); {
	case t.IsZero():
		return ""
	case years > far:
		return fmt.Sprintf("in %dy", years)
	case years < -far:
		return fmt.Sprintf("%dy ago", -years)
	case d < -time.Second/2:
		return "in " + Rough(-d)
	case d < time.Second:
		return "now"
	default:
		return Rough(d) + " ago"
	}
}

// Rough formats a duration in the unit that fits.
func Rough(d time.Duration) string {
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
