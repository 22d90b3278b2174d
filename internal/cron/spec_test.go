package cron

import (
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestEvery(t *testing.T) {
	for _, c := range []struct {
		interval time.Duration
		anchor   string
		from, to string
		want     string
	}{
		{12 * time.Hour, "", "2026-03-07T12:00Z", "2026-03-08T12:01Z", "2026-03-07T12:00Z 2026-03-08T00:00Z 2026-03-08T12:00Z"},
		{24 * time.Hour, "2030-01-01T09:30:00.000001Z", "2026-03-07", "2026-03-09", "2026-03-07T09:30:00.000001Z 2026-03-08T09:30:00.000001Z"},
		{
			7 * time.Hour, "1969-12-31T23:00Z", "1969-12-31T16:00Z", "1970-01-01T06:00:00.000001Z",
			"1969-12-31T16:00Z 1969-12-31T23:00Z 1970-01-01T06:00Z",
		},
		{time.Second, "2026-01-01T00:00:00.5Z", "1969-12-31T23:59:59Z", "1970-01-01T00:00:00.5Z", "1969-12-31T23:59:59.5Z"},
	} {
		anchor := time.Time{}
		if c.anchor != "" {
			anchor = when(t, c.anchor)
		}
		s, err := Every(c.interval, anchor, "America/New_York")
		if err != nil {
			t.Fatal(err)
		}
		checkTimes(t, s, when(t, c.from), when(t, c.to), strings.Fields(c.want))
	}
	s := mustCron(t, "@every 1s", Options{})
	for after, want := range map[time.Duration]int64{0: -1, 1: 0, 999_999_999: 0, time.Second: 0, time.Second + 1: 1} {
		if at, _ := s.Prev(time.Unix(0, 0).Add(after)); at.Unix() != want {
			t.Errorf("%v after 1970 the last time was %v", after, at)
		}
	}
	for _, anchor := range []time.Time{time.Unix(1<<50, 0), time.Unix(-1<<50, 0)} {
		var wrong *SyntaxError
		if _, err := Every(time.Hour, anchor, ""); !errors.As(err, &wrong) || wrong.Field != "anchor" {
			t.Errorf("anchored at %v: %v", anchor, err)
		}
		if _, err := At(anchor, ""); !errors.As(err, &wrong) || wrong.Field != "time" {
			t.Errorf("at %v: %v", anchor, err)
		}
	}
}

func TestOnce(t *testing.T) {
	s, err := At(when(t, "2026-03-01T08:00:00.25Z").Add(999), "Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	checkTimes(t, s, when(t, "2026-01-01"), when(t, "2027-01-01"), []string{"2026-03-01T08:00:00.25Z"})
	at, _ := s.Next(time.Time{})
	if _, ok := s.Next(at); ok || at.Location().String() != "Europe/Berlin" {
		t.Errorf("it fires at %v, and again", at)
	}
	if _, ok := s.Prev(at); ok {
		t.Errorf("it fires before %v", at)
	}
}

func TestZeroSpec(t *testing.T) {
	var s Spec
	_, next := s.Next(time.Time{})
	_, prev := s.Prev(time.Unix(0, 0))
	_, note := s.Note(time.Time{})
	times, more := s.Between(time.Time{}, time.Unix(0, 0), 5)
	if next || prev || note || times != nil || more || !s.IsZero() || s.String() != "" {
		t.Errorf("the zero value does something")
	}
	data, err := json.Marshal(s)
	if err != nil || string(data) != `""` {
		t.Errorf("it is stored as %s, %v", data, err)
	}
	s = mustCron(t, "0 0 * * *", Options{})
	if err := json.Unmarshal([]byte(`""`), &s); err != nil || !s.IsZero() {
		t.Errorf("it is read as %v, %v", s, err)
	}
}

func TestBetween(t *testing.T) {
	s := mustCron(t, "0 9 * * *", Options{Zone: "Europe/Berlin"})
	from, to := when(t, "2026-03-01T09:00+01:00"), when(t, "2026-03-31T09:00+02:00")
	for limit, more := range map[int]bool{-1: true, 0: true, 29: true, 30: false, 31: false} {
		times, moreTimes := s.Between(from, to, limit)
		n, moreN := s.Count(from, to, limit)
		if want := min(max(limit, 0), 30); len(times) != want || n != want || moreTimes != more || moreN != more {
			t.Errorf("limit %d: %d, %v and %d, %v", limit, len(times), moreTimes, n, moreN)
		}
		if len(times) > 0 && !times[0].Equal(from) {
			t.Errorf("it begins with %v", times[0])
		}
	}
	if times, more := s.Between(to, from, 5); times != nil || more {
		t.Errorf("backwards there are %v, %v", times, more)
	}
}

// TestRefusedTexts has what was never stored.
func TestRefusedTexts(t *testing.T) {
	for _, text := range []string{
		"", "cron", "cron 0 0 * * *", "cron 0 0 * * * zone=", "cron 0 0 * * * zone=UTC ",
		"cron 0 0 * * * zone=UTC dst=run", "cron 0 0 * * * zone=UTC x=1",
		"cron 0 0 * * * zone=UTC seed=a", `cron 0 0 * * * zone=UTC seed="a" dst=skip`, `cron 0 0 * * * zone=UTC seed="a"b`,
		"cron 0 0 * * * zone=UTC dst=skipseed=",
		"cron 0 0 31 2 * zone=UTC", "cron H 0 * * * zone=UTC", "cron 0 0 * * * zone=Nowhere",
		"every zone=UTC", "every 5 zone=UTC", "every 0s zone=UTC",
		"every 5s anchor= zone=UTC", "every 5s anchor=2026 zone=UTC", "every 5s zone=UTC dst=skip", "at zone=UTC", "at 2026-03-01 zone=UTC",
		"at 2026-03-01T00:00:00Z zone=UTC dst=skip", "rrule FREQ=DAILY zone=UTC", "0 0 * * *",
	} {
		s := mustCron(t, "0 0 * * *", Options{})
		if got, err := Parse(text); err == nil || !got.IsZero() {
			t.Errorf("%q is read as %s, %v", text, got, err)
		}
		if err := s.UnmarshalText([]byte(text)); text != "" && (err == nil || s.IsZero()) {
			t.Errorf("%q is read as %s, %v", text, s, err)
		}
	}
}

// TestJitter shows that jitter is below its maximum, whole microseconds, and even.
func TestJitter(t *testing.T) {
	var buckets [10]int
	at := when(t, "2026-03-01")
	for i := range 10_000 {
		jitter := Jitter("report", at.Add(time.Duration(i)*time.Minute), time.Second)
		if jitter < 0 || jitter >= time.Second || jitter%time.Microsecond != 0 {
			t.Fatalf("the jitter is %v", jitter)
		}
		buckets[jitter/(100*time.Millisecond)]++
	}
	for _, n := range buckets {
		if n < 850 || n > 1150 {
			t.Errorf("the tenths of the maximum have %v", buckets)
			break
		}
	}
	elsewhere := at.In(time.FixedZone("elsewhere", 3600))
	if Jitter("a", at, time.Hour) == Jitter("b", at, time.Hour) || Jitter("a", at, time.Hour) != Jitter("a", elsewhere, time.Hour) {
		t.Error("it depends on something else than the name and the time")
	}
	if Jitter("a", at, 999) != 0 || Jitter("a", at, -time.Hour) != 0 || Jitter("a", at, time.Microsecond) != 0 {
		t.Error("there is jitter without a maximum")
	}
}

// TestSpread shows that H spreads schedules evenly over a field, and over the months' common days.
func TestSpread(t *testing.T) {
	var minutes, days [60]int
	name := ""
	for range 6000 {
		name += "x"
		e := expressionOf(t, mustCron(t, "H * H * *", Options{Seed: name}))
		for i := range 60 {
			minutes[i] += int(e.minute >> i & 1)
			days[i] += int(e.days.dom >> i & 1)
		}
	}
	for i := range 60 {
		if minutes[i] < 50 || minutes[i] > 160 || (days[i] > 0) != (1 <= i && i <= 28) {
			t.Fatalf("the minutes have %v, the days %v", minutes, days)
		}
	}
}

// TestEmbedded shows that programs bring the zones along.
func TestEmbedded(t *testing.T) {
	deps, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil || !strings.Contains(string(deps), "time/tzdata\n") {
		t.Errorf("time/tzdata is not linked: %v", err)
	}
}

func BenchmarkNext(b *testing.B) {
	for _, c := range []struct{ name, text, zone string }{
		{"minutes", "*/5 * * * *", "UTC"},
		{"daily", "30 9 * * *", "Europe/Berlin"},
		{"weekdays", "0 9-17 * * MON-FRI", "America/New_York"},
		{"last-friday", "0 18 * * FRIL", "America/New_York"},
		{"leap-monday", "0 0 ? 2 MON#5", "UTC"},
		{"every", "@every 90s", "UTC"},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := mustCron(b, c.text, Options{Zone: c.zone})
			at := when(b, "2026-03-01")
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := s.Next(at); !ok {
					b.Fatal("there is no next time")
				}
			}
		})
	}
}

func BenchmarkCron(b *testing.B) {
	for b.Loop() {
		mustCron(b, "30 9-17 * * MON-FRI", Options{Zone: "Europe/Berlin"})
	}
}
