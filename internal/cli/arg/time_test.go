package arg

import (
	"strings"
	"testing"
	"time"
)

// TestParseTimeInAZone: times that a clock skips or shows twice are refused.
func TestParseTimeInAZone(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ zone, text, want string }{
		{"America/New_York", "2027-03-14 01:59", "2027-03-14T06:59:00Z"},
		{"America/New_York", "2027-03-14 02:30", "does not exist in this machine's zone, America/New_York"},
		{"America/New_York", "2027-03-14T02:00:00", "does not exist"},
		{"America/New_York", "2027-03-14 03:00", "2027-03-14T07:00:00Z"},
		{"America/New_York", "2026-11-01 00:59", "2026-11-01T04:59:00Z"},
		{"America/New_York", "2026-11-01 01:30", "occurs twice in this machine's zone, America/New_York; write " +
			"2026-11-01T01:30:00-04:00 or 2026-11-01T01:30:00-05:00"},
		{"America/New_York", "2026-11-01 02:00", "2026-11-01T07:00:00Z"},
		{"America/New_York", "2026-11-01T01:30:00-04:00", "2026-11-01T05:30:00Z"},
		{"Australia/Lord_Howe", "2026-10-04 02:15", "does not exist"},
		{"Australia/Lord_Howe", "2026-04-05 01:45", "occurs twice"},
		{"Australia/Lord_Howe", "2026-04-05 02:15", "2026-04-04T15:45:00Z"},
		{"Asia/Beirut", "2026-03-29", "does not exist"},
		{"Europe/Berlin", "2026-07-01", "2026-06-30T22:00:00Z"},
		{"UTC", "2026-03-29 02:30", "2026-03-29T02:30:00Z"},
		{"UTC", "tomorrow", "is not a time; write"},
		{"UTC", "2026-13-45", "is not a time; write"},
	} {
		zone, err := time.LoadLocation(test.zone)
		if err != nil {
			t.Fatal(err)
		}
		got, err := parseTimeIn(test.text, zone)
		said := got.UTC().Format(time.RFC3339)
		if err != nil {
			said = err.Error()
		}
		if !strings.Contains(said, test.want) {
			t.Errorf("%s in %s: %s, want %s", test.text, test.zone, said, test.want)
		}
	}
}
