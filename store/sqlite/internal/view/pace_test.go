package view

import (
	"testing"
	"time"
)

// TestPace: changes are told within a tenth of the interval while there are some, no more than two
// in an interval if they do not end, and if there are none it is looked once in each.
func TestPace(t *testing.T) {
	const poll = 20 * time.Millisecond
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	told := 0
	look := func(p *pace, now *time.Time, changed bool) time.Duration {
		if p.tells(changed, *now) {
			told++
		}
		wait := p.next(false, *now)
		*now = now.Add(wait)
		return wait
	}
	t.Run("one", func(t *testing.T) {
		p, now := pace{poll: poll}, began
		if wait := look(&p, &now, false); wait != poll {
			t.Errorf("before any change %v", wait)
		}
		if wait := look(&p, &now, true); wait != poll/10 {
			t.Errorf("after the first %v", wait)
		}
		looks := 0
		for since := now; now.Sub(since) < 10*poll; looks++ {
			if wait := look(&p, &now, false); wait < poll/10 || wait > poll {
				t.Fatalf("it waits %v", wait)
			}
		}
		if wait := look(&p, &now, false); wait != poll || looks > 40 {
			t.Errorf("after %d looks in vain %v", looks, wait)
		}
	})
	t.Run("always", func(t *testing.T) {
		p, now, looks := pace{poll: poll}, began, 0
		for told = 0; now.Sub(began) < 100*poll; looks++ {
			look(&p, &now, true)
		}
		if looks != told {
			t.Errorf("it looks %d times, and tells of %d changes", looks, told)
		}
		if told < 100*mostTold || told > 101*mostTold {
			t.Errorf("in 100 intervals %d are told", told)
		}
	})
	t.Run("now and then", func(t *testing.T) {
		p, now := pace{poll: poll}, began
		for range 100 {
			if wait := look(&p, &now, true); wait != poll/10 {
				t.Fatalf("it waits %v", wait)
			}
			for since := now; now.Sub(since) < 2*poll; {
				if wait := look(&p, &now, false); wait > 3*poll/calmer {
					t.Fatalf("it waits %v", wait)
				}
			}
		}
	})
	t.Run("a clock that is set back", func(t *testing.T) {
		p, now := pace{poll: poll}, began
		look(&p, &now, true)
		now = now.Add(-time.Hour)
		if wait := look(&p, &now, false); wait > poll {
			t.Errorf("it waits %v", wait)
		}
		if !p.tells(true, now) {
			t.Error("a change is not told for an hour")
		}
	})
	t.Run("eagerly", func(t *testing.T) {
		p, now := pace{poll: poll}, began
		looks := 0
		for told = 0; now.Sub(began) < 100*poll; looks++ {
			if p.tells(true, now) {
				told++
			}
			now = now.Add(p.next(true, now))
		}
		if told < 90*mostTold || told > 101*mostTold {
			t.Errorf("in 100 intervals %d are told", told)
		}
		if looks < 100*eagerest || looks > 102*eagerest+told {
			t.Errorf("in 100 intervals it looks %d times", looks)
		}
		// Nothing is written while the jobs run for whose slots it waits.
		for range 1000 {
			p.tells(false, now)
			wait := p.next(true, now)
			if wait > poll/lazily {
				t.Fatalf("when nothing was written for %v it waits %v", now.Sub(p.changed), wait)
			}
			now = now.Add(wait)
		}
		if wait := p.next(true, now); wait != poll/lazily {
			t.Errorf("when nothing was written for %v it waits %v", now.Sub(p.changed), wait)
		}
	})
}

// TestHeardPace: what another store has written is looked for until it is seen, less often after a
// while, and what was written by whichever store keeps the next look from being far off.
func TestHeardPace(t *testing.T) {
	const poll = 20 * time.Millisecond
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := pace{poll: poll, changed: now.Add(-time.Hour), heard: now.Add(-time.Hour)}
	if !p.quiet(now) || p.next(false, now) != poll {
		t.Errorf("without any write it waits %v", p.next(false, now))
	}
	if p.hears(false, now); p.quiet(now) || p.next(false, now) != poll {
		t.Errorf("after one of its own it waits %v", p.next(false, now))
	}
	looks, heard := 0, now.Add(time.Minute)
	now = heard
	for p.hears(true, now); now.Sub(heard) < quietAfter; looks++ {
		if p.tells(false, now) || p.quiet(now) {
			t.Fatal("it is as if it had been seen")
		}
		wait := p.next(false, now)
		if since := now.Sub(heard); wait > poll || wait > max(since/4, heardLook) {
			t.Fatalf("%v after it was heard it waits %v", since, wait)
		}
		now = now.Add(wait)
	}
	if looks > 100 {
		t.Errorf("it looks %d times for what is not there", looks)
	}
	if !p.quiet(now) {
		t.Error("it is looked for as if there were no end")
	}
	p.hears(true, now)
	if !p.tells(true, now) || p.next(false, now) != poll/10 || p.quiet(now) {
		t.Errorf("after it was seen it waits %v", p.next(false, now))
	}
}
