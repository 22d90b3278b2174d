package gcra

import (
	"math"

	"github.com/holdfastdev/holdfast/store"
)

// Key is where the rate of a key of a limit per key stands. A claim takes its permits at the moment
// at which it takes the jobs, so there is nothing to allow for: they come exactly Period apart, and
// in any time W at most Burst and W divided by Period are taken.
//
// What is kept of a key are the time at which the next permit comes if none are saved up, and the
// period by which that was counted: another rate goes on from as many permits as were taken. A key
// of which nothing is kept has all of its burst. One whose time lies farther ahead than a burst
// takes, since the clock was set back, has none, and the next comes after a period.
type Key struct {
	Period, Burst int64 // in microseconds; Period is 0 if no permits come
	Ahead         int64 // how long from now on until the burst is whole: at most Burst periods
}

// KeyRate is the period and the burst of each key of a limit, in microseconds; false if keys have
// no rate.
func KeyRate(l *store.LimitSettings) (period, burst int64, rated bool) {
	if !l.PerKey || l.Rate == nil {
		return 0, 0, false
	}
	return l.Rate.Period().Microseconds(), int64(l.Rate.Bursts()), true
}

// Stand is where a key stands now of which a time and a period are kept; 0: nothing is. since is
// when the limit was changed last: until then what is kept was counted by its own period.
func Stand(period, burst, tat, was, since, now int64) Key {
	k := Key{Period: period, Burst: burst}
	if period == 0 || was == 0 {
		return k
	}
	if was != period {
		tat = since + min((max(tat-since, 0)+was-1)/was, burst)*period
	}
	k.Ahead = min(max(tat-now, 0), burst*period)
	return k
}

// Free is how many permits may be taken now.
func (k *Key) Free() int {
	if k.Period == 0 {
		return 0
	}
	return int(k.Burst - (k.Ahead+k.Period-1)/k.Period)
}

// Take takes permits, also more than there are.
func (k *Key) Take(n int) { k.Ahead += int64(n) * k.Period }

// Wait is how many microseconds from now on the next permit comes, 0 or less if there is one; if
// none come it is longer than any.
func (k *Key) Wait() int64 {
	if k.Period == 0 {
		return math.MaxInt64
	}
	return k.Ahead - (k.Burst-1)*k.Period
}

// LookAt is when to look again for jobs of the key that wait, of which some were just let go, to be
// claimed; 0: not because of the rate. Those that were let go take their permits as they are
// claimed, and that claim says when to look then; so without it there is no hurry.
func (k *Key) LookAt(now int64, let int) int64 {
	if k.Period == 0 {
		return 0
	}
	then := *k
	then.Take(let)
	wait := then.Wait()
	switch {
	case wait <= 0:
		return 0
	case let > 0:
		wait = max(wait, store.SweepAfter.Microseconds())
	}
	return now + wait
}
