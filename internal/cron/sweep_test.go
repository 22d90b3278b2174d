package cron

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// The sweep is over these years.
const firstYear, lastYear = 1990, 2040

// window are the instants from one on, before another, and what the clock of a zone shows at each
// tick since an earlier instant.
type window struct {
	zone                  *time.Location
	start, from, to, tick int64
	walls                 []int64
}

// compare compares the times of a plan with those of the scan.
func (w *window) compare(t *testing.T, p *plan, d dice) {
	t.Helper()
	s, err := Cron(p.text, Options{Zone: w.zone.String(), DST: map[bool]DST{true: Skip}[p.skip]})
	if _, impossible := errors.AsType[*ImpossibleError](err); impossible {
		return
	}
	if err != nil {
		t.Fatalf("%s: %v", p.text, err)
	}
	want := p.scan(w)
	var forward, backward []int64
	for at, ok := s.Next(time.Unix(w.from, -1)); ok && at.Unix() < w.to && len(forward) <= len(want); at, ok = s.Next(at) {
		forward = append(forward, at.Unix())
	}
	for at, ok := s.Prev(time.Unix(w.to, 0)); ok && at.Unix() >= w.from && len(backward) <= len(want); at, ok = s.Prev(at) {
		backward = append(backward, at.Unix())
	}
	slices.Reverse(backward)
	for way, got := range map[string][]int64{"Next": forward, "Prev": backward} {
		if !slices.Equal(got, want) {
			t.Errorf("%s from %v before %v: %s finds\n%v, want\n%v", s, time.Unix(w.from, 0).In(w.zone), time.Unix(w.to, 0).In(w.zone), way,
				shown(got, w.zone), shown(want, w.zone))
		}
	}
	for range 8 {
		w.probe(t, s, want, time.Unix(w.from, 0).Add(time.Duration(d(int(w.to-w.from)*4))*time.Second/4))
	}
}

// probe compares what is before and after an instant anywhere in the window, such as between the
// copies of an hour.
func (w *window) probe(t *testing.T, s Spec, want []int64, at time.Time) {
	t.Helper()
	before, after := int64(0), int64(0)
	for _, instant := range want {
		if fire := time.Unix(instant, 0); fire.Before(at) {
			before = instant
		} else if fire.After(at) && after == 0 {
			after = instant
		}
	}
	next, _ := s.Next(at)
	prev, _ := s.Prev(at)
	if after != 0 && next.Unix() != after || after == 0 && !next.IsZero() && next.Unix() < w.to {
		t.Errorf("%s: after %v comes %v, want %v", s, at.In(w.zone), next, time.Unix(after, 0).In(w.zone))
	}
	if before != 0 && prev.Unix() != before || before == 0 && !prev.IsZero() && prev.Unix() >= w.from {
		t.Errorf("%s: before %v was %v, want %v", s, at.In(w.zone), prev, time.Unix(before, 0).In(w.zone))
	}
}

// shown are the first and last instants as times.
func shown(instants []int64, zone *time.Location) (times []string) {
	for i, instant := range instants {
		if i < 5 || i >= len(instants)-3 {
			times = append(times, time.Unix(instant, 0).In(zone).Format(time.RFC3339))
		}
	}
	return times
}
