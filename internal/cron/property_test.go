package cron

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestDays compares which days of fifty years are meant with what a look at each day finds.
func TestDays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rolled(t)
		p := drawPlan(d, false, true)
		text := "0 9 " + strings.Join(strings.Fields(p.text)[2:], " ")
		var want []time.Time
		for day := time.Date(firstYear, 1, 1, 9, 0, 0, 0, time.UTC); day.Year() <= lastYear; day = day.AddDate(0, 0, 1) {
			if p.day(day) {
				want = append(want, day)
			}
		}
		s, err := Cron(text, Options{})
		var impossible *ImpossibleError
		if errors.As(err, &impossible) && len(want) == 0 {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		got, _ := s.Between(time.Date(firstYear, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(lastYear+1, 1, 1, 0, 0, 0, 0, time.UTC), 1e6)
		if len(got) != len(want) {
			t.Fatalf("%s: %d days, want %d", text, len(got), len(want))
		}
		for i := range got {
			if !got[i].Equal(want[i]) {
				t.Fatalf("%s: %v, want %v", text, got[i], want[i])
			}
		}
	})
}

func rolled(t *rapid.T) dice {
	return func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "roll") }
}

// TestOrder has what holds of all Specs, at any time: Next and Prev are strict, and each other's
// inverse; nothing is between them; and the stored text gives the same.
func TestOrder(t *testing.T) {
	zones := differentZones(t)
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpec(t, zones)
		at := time.UnixMicro(rapid.Int64Range(-3e15, 8e15).Draw(t, "at")) // 1874 to 2223
		next, ok := s.Next(at)
		prev, okPrev := s.Prev(at)
		if ok != next.After(at) || okPrev != (prev.Before(at) && !prev.IsZero()) {
			t.Fatalf("%s: around %v are %v, %v and %v, %v", s, at, prev, okPrev, next, ok)
		}
		// What is next to these is at, if it is one of the times, or the other one.
		afterPrev, beforeNext := next, prev
		if same, _ := s.Next(at.Add(-1)); same.Equal(at) {
			afterPrev, beforeNext = at, at
		}
		if got, _ := s.Next(prev); okPrev && !got.Equal(afterPrev) {
			t.Fatalf("%s: before %v is %v, and after that %v, want %v", s, at, prev, got, afterPrev)
		}
		if got, _ := s.Prev(next); ok && !got.Equal(beforeNext) {
			t.Fatalf("%s: after %v is %v, and before that %v, want %v", s, at, next, got, beforeNext)
		}
		checkStored(t, s, at)
	})
}

func drawSpec(t *rapid.T, zones []string) Spec {
	d := rolled(t)
	zone := zones[d(len(zones))]
	anchor := time.UnixMicro(rapid.Int64Range(-3e15, 8e15).Draw(t, "anchor"))
	var s Spec
	var err error
	switch d(4) {
	case 0:
		s, err = Every(time.Duration(rapid.Int64Range(1e6, 1e15).Draw(t, "interval"))*time.Microsecond, anchor, zone)
	case 1:
		s, err = At(anchor, zone)
	default:
		p := drawPlan(d, d(3) == 0, d(2) == 0)
		s, err = Cron(p.text, Options{Zone: zone, DST: DST(d(2))})
		if err != nil {
			t.Skip(err)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// checkStored stores a Spec, reads it again, and compares the two.
func checkStored(t rapid.TB, s Spec, at time.Time) {
	t.Helper()
	data, err := json.Marshal(s)
	var again Spec
	if err == nil {
		err = json.Unmarshal(data, &again)
	}
	if err != nil || again.String() != s.String() {
		t.Fatalf("%s is stored as %s, and read as %s, %v", s, data, again, err)
	}
	if s.Words() != again.Words() {
		t.Fatalf("%s is %q, and read again %q", s, s.Words(), again.Words())
	}
	for range 3 {
		next, ok := s.Next(at)
		nextAgain, okAgain := again.Next(at)
		if ok != okAgain || !next.Equal(nextAgain) {
			t.Fatalf("%s fires at %v, %v, and read again at %v, %v", s, next, ok, nextAgain, okAgain)
		}
		at = next
	}
}

// FuzzParse gives any text to the parsers, of expressions and of what is stored.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"*/5 0,12 1-7 JAN-jun MON#2,FRIL,7", "0 0 L-3,15W,LW,? * ?", "H(0-29)/7 H 5 * H",
		"30 4 1/2 */3 * SUN-FRI", "@every 1h30m", "@daily",
		"0 0 31 2 *", "*/90 * * * *", "CRON_TZ=UTC 0 0 * * *", "59 59 23 31 12 7L", "0 0 29 2 */6",
		`cron H 2 * * * zone=UTC dst=skip seed="a \"b\" \x00 zone="`, "every 24h0m0s anchor=2026-03-01T08:00:00Z zone=Europe/Berlin",
		"at 2026-03-01T08:00:00.25Z zone=Asia/Tokyo", "at 9999-12-31T00:00:00Z zone=UTC", "every 2562047h0m0s zone=UTC",
		"cron @every 5s zone=UTC",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		stored, err := Parse(text)
		if err == nil {
			checkStored(t, stored, when(t, "2026-03-01"))
		}
		s, err := Cron(text, Options{Zone: "America/New_York", Seed: text, DST: DST(len(text) % 2)})
		if err != nil {
			return
		}
		checkStored(t, s, when(t, "2026-03-01"))
		s.Note(when(t, "2026-03-01"))
		if next, ok := s.Next(when(t, "2026-03-01")); ok {
			if at, _ := s.Next(next.Add(-time.Microsecond)); !at.Equal(next) {
				t.Errorf("%s: %v and %v", s, at, next)
			}
		}
	})
}
