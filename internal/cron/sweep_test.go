package cron

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/racing"
)

// The sweep is over these years.
const firstYear, lastYear = 1990, 2040

// TestSweep compares Next and Prev, in all zones of the database, with what a scan of the clock
// finds: around each change of the clock, and with -cron.years=51 in all minutes of these years.
func TestSweep(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	changes := 0
	for i, name := range differentZones(t) {
		if racing.Less() && i%10 != 0 { // there are no goroutines, and it takes ten times as long
			continue
		}
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(uint64(i), 1))
		for _, change := range changesOf(zone) {
			changes++
			sweepChange(t, zone, change, r.IntN)
		}
		for n := range *sweepYears {
			// 23 and 51 have no common factor: the years are all, in a scattered order.
			year := firstYear + (i+23*n)%(lastYear-firstYear+1)
			sweepYear(t, zone, year, r.IntN)
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d changes of clocks", changes)
}

// changesOf returns the instants of the changes of a clock, found by looking at it.
func changesOf(zone *time.Location) (changes []int64) {
	offset := func(instant int64) int {
		_, offset := time.Unix(instant, 0).In(zone).Zone()
		return offset
	}
	const step = 12 * 60 * 60
	end := time.Date(lastYear+1, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	for instant := time.Date(firstYear, 1, 1, 0, 0, 0, 0, time.UTC).Unix(); instant < end; instant += step {
		before, after := instant, instant+step
		if offset(before) == offset(after) {
			continue
		}
		for after-before > 60 {
			if middle := before + (after-before)/120*60; offset(middle) == offset(before) {
				before = middle
			} else {
				after = middle
			}
		}
		changes = append(changes, after)
	}
	return changes
}

// window are the instants from one on, before another, and what the clock of a zone shows at each
// tick since an earlier instant.
type window struct {
	zone                  *time.Location
	start, from, to, tick int64
	walls                 []int64
}

func newWindow(zone *time.Location, from, to, tick int64) *window {
	start := from - 6*3600 // in these years no clock was set back by more
	return &window{zone, start, from, to, tick, readings(zone, start, to, tick)}
}

// sweepChange compares some hours around a change, minute by minute, and some minutes second by
// second.
func sweepChange(t *testing.T, zone *time.Location, change int64, d dice) {
	t.Helper()
	before, after := readings(zone, change-60, change, 60)[0]+60, readings(zone, change, change+60, 60)[0]
	size := max(after-before, before-after)
	w := newWindow(zone, change-size-4*3600, change+size+4*3600, 60)
	for i := range 4 {
		w.compare(t, drawPlan(d, false, i == 0), d)
	}
	// A fixed time near the change, which is what it is about.
	p := drawPlan(d, false, false)
	at := time.Unix(min(before, after)-3600+60*int64(d(int(size/60)+120)), 0).UTC()
	p.text, p.fixed = at.Format("4 15 * * *"), true
	p.time[1], p.time[2] = func(m int) bool { return m == at.Minute() }, func(h int) bool { return h == at.Hour() }
	w.compare(t, p, d)
	if d(40) == 0 && size <= 2*3600 {
		newWindow(zone, change-size-1800, change+size+1800, 1).compare(t, drawPlan(d, true, false), d)
	}
}

// sweepYear compares a year.
func sweepYear(t *testing.T, zone *time.Location, year int, d dice) {
	t.Helper()
	from := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	to := time.Date(year+1, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	w := newWindow(zone, from, to, 60)
	for _, days := range []bool{false, true, true} {
		w.compare(t, drawPlan(d, false, days), d)
	}
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
