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
	})
}
