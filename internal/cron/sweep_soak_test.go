//go:build soak

package cron

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestSweep compares Next and Prev, in all zones of the database, with what a scan of the clock
// finds: around each change of the clock, and with -cron.years=51 in all minutes of these years.
func TestSweep(t *testing.T) {
	changes := 0
	for i, name := range differentZones(t) {
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
