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

// TestTimesAndDurations: where a time or a duration is meant, days count, and nothing is taken for
// no time at all.
func TestTimesAndDurations(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		parse      func(string, time.Time) (time.Time, error)
		text, want string
	}{
		{ParseAgo, "7d", "2026-01-24T12:00:00Z"},
		{ParseAgo, "1d12h", "2026-01-30T00:00:00Z"},
		{ParseAgo, "0s", "2026-01-31T12:00:00Z"},
		{ParseAgo, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"},
		{ParseAgo, "-1h", "-1h ago is in the future"},
		{ParseAgo, "5", `"5" is neither a time, such as 2026-01-31T17:30:00Z or "2026-01-31 17:30", nor a duration, such as 24h or 7d`},
		{ParseAgo, "0001-01-01T00:00:00Z", "is too long ago"},
		{ParseFromNow, "7d", "2026-02-07T12:00:00Z"},
		{ParseFromNow, "90s", "2026-01-31T12:01:30Z"},
		{ParseFromNow, "2027-01-01T00:00:00Z", "2027-01-01T00:00:00Z"},
		{ParseFromNow, "0s", "0s from now is in the past"},
		{ParseFromNow, "-1d", "-1d from now is in the past"},
		{ParseFromNow, "soon", `"soon" is neither a time`},
	} {
		got, err := test.parse(test.text, now)
		said := got.UTC().Format(time.RFC3339)
		if err != nil {
			said = err.Error()
		}
		if !strings.Contains(said, test.want) {
			t.Errorf("%s: %s, want %s", test.text, said, test.want)
		}
	}
}
