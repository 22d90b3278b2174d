package cron

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
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
		if isRace && i%10 != 0 { // there are no goroutines, and it takes ten times as long
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

// sweepChange compares some hours around a change, minute by minute, and some minutes second by second.
func sweepChange(t *testing.T, zone *time.Location, change int64, d dice) {
	t.Helper()
	shift := readings(zone, change, change+1, 60)[0] - readings(zone, change-60, change-59, 60)[0] - 60
	around := max(shift, -shift) + 4*3600
	start, from, to := change-around-4*3600, change-around, change+around
	walls := readings(zone, start, to, 60)
	for range 3 {
		compare(t, zone, drawPlan(d, false, false), walls, start, from, to, 60)
	}
	compare(t, zone, drawPlan(d, false, true), walls, start, from, to, 60)
	// Fixed times near the change, which are what it is about.
	p := drawPlan(d, false, false)
	at := time.Unix(walls[(change-start)/60]-shift+int64(d(int(around/60)))*60-around/2, 0).UTC()
	p.text, p.fixed = at.Format("4 15 * * *"), true
	p.time[1], p.time[2] = func(m int) bool { return m == at.Minute() }, func(h int) bool { return h == at.Hour() }
	compare(t, zone, p, walls, start, from, to, 60)
	if d(40) == 0 && shift*shift <= 7200*7200 {
		start, from, to = change-2*3600, change-max(shift, 0)-1800, change+max(-shift, 0)+1800
		walls = readings(zone, start, to, 1)
		compare(t, zone, drawPlan(d, true, false), walls, start, from, to, 1)
	}
}

// sweepYear compares a year.
func sweepYear(t *testing.T, zone *time.Location, year int, d dice) {
	t.Helper()
	from := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	to := time.Date(year+1, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	start := from - 2*daySeconds
	walls := readings(zone, start, to, 60)
	for _, days := range []bool{false, true, true} {
		compare(t, zone, drawPlan(d, false, days), walls, start, from, to, 60)
	}
}

// compare compares the times from one instant on, before another, with those of the scan.
func compare(t *testing.T, zone *time.Location, p *plan, walls []int64, start, from, to, tick int64) { //nolint:revive // a window
	t.Helper()
	s, err := Cron(p.text, Options{Zone: zone.String(), DST: map[bool]DST{true: Skip}[p.skip]})
	if _, impossible := err.(*ImpossibleError); impossible { //nolint:errorlint // it is returned as it is
		return
	}
	if err != nil {
		t.Fatalf("%s: %v", p.text, err)
	}
	want := p.scan(walls, start, from, tick)
	var forward, backward []int64
	for at, ok := s.Next(time.Unix(from, -1)); ok && at.Unix() < to && len(forward) <= len(want); at, ok = s.Next(at) {
		forward = append(forward, at.Unix())
	}
	for at, ok := s.Prev(time.Unix(to, 0)); ok && at.Unix() >= from && len(backward) <= len(want); at, ok = s.Prev(at) {
		backward = append(backward, at.Unix())
	}
	slices.Reverse(backward)
	for way, got := range map[string][]int64{"Next": forward, "Prev": backward} {
		if !slices.Equal(got, want) {
			t.Errorf("%s from %v before %v: %s finds\n%v, want\n%v", s, time.Unix(from, 0).In(zone), time.Unix(to, 0).In(zone), way,
				shown(got, zone), shown(want, zone))
		}
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
