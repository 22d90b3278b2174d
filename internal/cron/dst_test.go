package cron

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestDST are the changes that go wrong elsewhere: each row is a schedule, what is left out (run is
// the default), and all its times between two.
func TestDST(t *testing.T) {
	for _, c := range []struct {
		name, text, zone string
		from, to         string
		run              string // the times, with a space between
		skip             string // as with dst=skip; empty: the same
	}{
		{
			"gap", "30 2 * * *", "America/New_York", "2026-03-07T12:00-05:00", "2026-03-09T12:00-04:00",
			"2026-03-08T03:00-04:00 2026-03-09T02:30-04:00", "2026-03-09T02:30-04:00",
		},
		{
			"fold", "30 1 * * *", "America/New_York", "2026-10-31T12:00-04:00", "2026-11-02T12:00-05:00",
			"2026-11-01T01:30-04:00 2026-11-02T01:30-05:00", "",
		},
		{
			"between the copies", "30 1 * * *", "America/New_York", "2026-11-01T01:10-05:00", "2026-11-02T12:00-05:00",
			"2026-11-02T01:30-05:00", "",
		},
		{
			"interval in a fold", "*/30 * * * *", "America/New_York", "2026-11-01T00:59-04:00", "2026-11-01T02:00-05:00",
			"2026-11-01T01:00-04:00 2026-11-01T01:30-04:00 2026-11-01T01:00-05:00 2026-11-01T01:30-05:00", "",
		},
		{
			"each hour in a fold", "0 * * * *", "America/New_York", "2026-11-01T00:30-04:00", "2026-11-01T02:30-05:00",
			"2026-11-01T01:00-04:00 2026-11-01T01:00-05:00 2026-11-01T02:00-05:00", "",
		},
		{
			"each hour in a gap", "0 * * * *", "America/New_York", "2026-03-08T01:00-05:00", "2026-03-08T05:00-04:00",
			"2026-03-08T01:00-05:00 2026-03-08T03:00-04:00 2026-03-08T04:00-04:00", "",
		},
		{
			"gap at midnight", "0 0 * * *", "America/Havana", "2026-03-07T12:00-05:00", "2026-03-09T12:00-04:00",
			"2026-03-08T01:00-04:00 2026-03-09T00:00-04:00", "2026-03-09T00:00-04:00",
		},
		{
			"fold at midnight", "30 0 * * *", "America/Havana", "2026-10-31T12:00-04:00", "2026-11-02T12:00-05:00",
			"2026-11-01T00:30-04:00 2026-11-02T00:30-05:00", "",
		},
		{
			"fold of half an hour", "45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00+11:00", "2026-04-06T12:00+10:30",
			"2026-04-05T01:45+11:00 2026-04-06T01:45+10:30", "",
		},
		{
			"gap of half an hour", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00+10:30", "2026-10-05T12:00+11:00",
			"2026-10-04T02:30+11:00 2026-10-05T02:15+11:00", "2026-10-05T02:15+11:00",
		},
		{
			"a day left out", "0 9 * * *", "Pacific/Apia", "2011-12-29T00:00-10:00", "2012-01-01T00:00+14:00",
			"2011-12-29T09:00-10:00 2011-12-31T00:00+14:00 2011-12-31T09:00+14:00", "2011-12-29T09:00-10:00 2011-12-31T09:00+14:00",
		},
		{
			"each six hours of a day left out", "0 */6 * * *", "Pacific/Apia", "2011-12-29T12:00-10:00", "2011-12-31T12:00+14:00",
			"2011-12-29T12:00-10:00 2011-12-29T18:00-10:00 2011-12-31T00:00+14:00 2011-12-31T06:00+14:00", "",
		},
		{
			"several in one gap are one", "0,15,45 2,3 * * *", "America/New_York", "2026-03-08T00:00-05:00", "2026-03-09T00:00-04:00",
			"2026-03-08T03:00-04:00 2026-03-08T03:15-04:00 2026-03-08T03:45-04:00", "",
		},
		{
			"a range is fixed", "0 0-3 * * *", "America/New_York", "2026-11-01T00:00-04:00", "2026-11-02T00:00-05:00",
			"2026-11-01T00:00-04:00 2026-11-01T01:00-04:00 2026-11-01T02:00-05:00 2026-11-01T03:00-05:00", "",
		},
		{
			"a step over a range is fixed", "0-59/30 2 * * *", "America/New_York", "2026-03-08T00:00-05:00", "2026-03-09T00:00-04:00",
			"2026-03-08T03:00-04:00", "-",
		},
		{
			"an open step is an interval", "0/30 1 * * *", "America/New_York", "2026-11-01T00:00-04:00", "2026-11-02T00:00-05:00",
			"2026-11-01T01:00-04:00 2026-11-01T01:30-04:00 2026-11-01T01:00-05:00 2026-11-01T01:30-05:00", "",
		},
		{
			"an interval in a gap", "*/30 2 * * *", "America/New_York", "2026-03-08T00:00-05:00", "2026-03-09T12:00-04:00",
			"2026-03-09T02:00-04:00 2026-03-09T02:30-04:00", "",
		},
		{
			"each second of a gap", "* 30 2 * * *", "America/New_York", "2026-03-08T00:00-05:00", "2026-03-09T00:00-04:00",
			"2026-03-08T03:00-04:00", "-",
		},
		{
			"another meridian, for good", "30 0 * * *", "Asia/Pyongyang", "2018-05-04T12:00+08:30", "2018-05-06T12:00+09:00",
			"2018-05-05T00:30+09:00 2018-05-06T00:30+09:00", "",
		},
		{
			"another meridian, in a gap", "45 23 * * *", "Asia/Pyongyang", "2018-05-04T12:00+08:30", "2018-05-06T00:00+09:00",
			"2018-05-05T00:00+09:00 2018-05-05T23:45+09:00", "2018-05-05T23:45+09:00",
		},
		{
			"local mean time", "56 11 18 11 *", "America/New_York", "1883-11-18T00:00-05:00", "1883-11-19T00:00-05:00",
			"1883-11-18T16:52:02Z", "",
		},
		{
			"UTC", "30 2 * * *", "UTC", "2026-03-08T00:00Z", "2026-03-09T00:00Z", "2026-03-08T02:30Z", "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, dst := range []DST{Run, Skip} {
				s := mustCron(t, c.text, Options{Zone: c.zone, DST: dst})
				want := c.run
				if dst == Skip && c.skip != "" {
					want = strings.Trim(c.skip, "-")
				}
				checkTimes(t, s, when(t, c.from), when(t, c.to), strings.Fields(want))
			}
		})
	}
}

// checkTimes compares the times from one on, before another, found forwards and backwards.
func checkTimes(t *testing.T, s Spec, from, to time.Time, want []string) {
	t.Helper()
	times, more := s.Between(from, to, len(want)+5)
	got := make([]string, len(times))
	for i, at := range times {
		got[i] = at.UTC().Format(time.RFC3339Nano)
	}
	for i, text := range want {
		want[i] = when(t, text).UTC().Format(time.RFC3339Nano)
	}
	if strings.Join(got, " ") != strings.Join(want, " ") || more {
		t.Errorf("%s fires at %v, want %v", s, got, want)
	}
	at, ok := s.Prev(to)
	for _, text := range slices.Backward(want) {
		if !ok || at.UTC().Format(time.RFC3339Nano) != text {
			t.Errorf("%s fires at %v, the last of them at %v, %v, not %v", s, want, at, ok, text)
			return
		}
		at, ok = s.Prev(at)
	}
	if ok && !at.Before(from) {
		t.Errorf("%s fires at %v too", s, at)
	}
}

// TestNever are schedules that make the search go to its end.
func TestNever(t *testing.T) {
	for text, last := range map[string]string{
		"30 2 8-14 3 *":    "2025-03-14T02:30-04:00", // of seven days one is left out
		"30 2 * 3 SUN#2":   "2006-03-12T02:30-05:00", // always the day on which the clock goes forward, since 2007
		"* 30 2 * 3 SUN#2": "2006-03-12T02:30:59-05:00",
	} {
		s := mustCron(t, text, Options{Zone: "America/New_York", DST: Skip})
		at, ok := s.Prev(when(t, "2026-01-01"))
		if !ok || !at.Equal(when(t, last)) {
			t.Errorf("%s: the last time was %v, %v, want %s", s, at, ok, last)
		}
		if at, ok := s.Next(when(t, "2026-01-01")); ok != strings.Contains(text, "8-14") {
			t.Errorf("%s fires at %v, %v", s, at, ok)
		}
	}
}

// TestEnds are times at and beyond the first and last years.
func TestEnds(t *testing.T) {
	far := time.Unix(1<<55, 0)
	anchored, err := Every(250*365*24*time.Hour, when(t, "9999-01-01"), "UTC")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []Spec{
		mustCron(t, "30 9 * * *", Options{Zone: "America/New_York"}), mustCron(t, "0 0 1 1 *", Options{Zone: "Asia/Tokyo"}),
		mustCron(t, "*/30 * 29 2 MON", Options{Zone: "Asia/Tokyo"}),
		mustCron(t, "@every 36h", Options{Zone: "Asia/Tokyo"}), anchored,
	} {
		first, ok := s.Next(time.Time{})
		if again, okAgain := s.Next(time.Unix(-1<<55, 0)); !ok || !okAgain || !again.Equal(first) {
			t.Errorf("%s begins at %v, %v and %v, %v", s, first, ok, again, okAgain)
		}
		last, ok := s.Prev(far)
		if again, okAgain := s.Prev(when(t, "9999-12-31")); !ok || !okAgain || !again.Equal(last) || last.Year() < 9700 {
			t.Errorf("%s ends at %v, %v and %v, %v", s, last, ok, again, okAgain)
		}
		for _, after := range []time.Time{last, far} {
			if at, ok := s.Next(after); ok {
				t.Errorf("%s: after %v comes %v", s, after, at)
			}
		}
		for _, before := range []time.Time{first, {}, time.Unix(-1<<55, 0)} {
			if at, ok := s.Prev(before); ok {
				t.Errorf("%s: before %v was %v", s, before, at)
			}
		}
	}
}
