package slots

import "time"

// prefetchHorizon bounds how long a prefetched job is expected to wait for a slot.
const prefetchHorizon = 50 * time.Millisecond

// completionRate measures how many jobs end within one prefetch horizon, starting at zero. It
// measures all slots together, because a handler that is fast alone may be slow among a hundred.
type completionRate struct {
	began  time.Time // start of the current window
	latest time.Time // when the last job ended
	count  int       // jobs ended in the window
	last   int       // jobs ended in the previous window, per horizon
}

// ended counts a job.
func (p *completionRate) ended(now time.Time) {
	if elapsed := now.Sub(p.began); elapsed >= prefetchHorizon {
		p.last = perHorizon(p.count, elapsed)
		p.began, p.count = now, 0
	}
	p.latest = now
	p.count++
}

// ahead is how many jobs are expected to end within the next horizon: zero if none has ended within
// the last one.
func (p *completionRate) ahead(now time.Time) int {
	if now.Sub(p.latest) >= prefetchHorizon {
		return 0
	}
	if elapsed := now.Sub(p.began); elapsed >= prefetchHorizon {
		return perHorizon(p.count, elapsed)
	}
	return max(p.last, p.count)
}

func perHorizon(count int, elapsed time.Duration) int {
	return int(int64(count) * int64(prefetchHorizon) / int64(max(elapsed, prefetchHorizon)))
}
