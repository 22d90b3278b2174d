package output

import (
	"testing"
	"time"
	_ "time/tzdata" // the zones below
)

func TestAgo(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)
	for want, at := range map[string]time.Time{
		"":          {},
		"now":       now.Add(-900 * time.Millisecond),
		"in 900ms":  now.Add(900 * time.Millisecond),
		"in 119s":   now.Add(119 * time.Second),
		"3h ago":    now.Add(-3 * time.Hour),
		"in 9d":     now.Add(9 * 24 * time.Hour),
		"in 3y":     now.Add(3 * 366 * 24 * time.Hour),
		"in 7973y":  time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		"2025y ago": time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC),
		"in 199y":   now.AddDate(199, 0, 60),
		"in 250y":   now.AddDate(250, 0, 0),
		"99y ago":   now.AddDate(-99, 0, -60),
	} {
		if got := Ago(now, at); got != want {
			t.Errorf("%v: %q, want %q", at, got, want)
		}
	}
}
