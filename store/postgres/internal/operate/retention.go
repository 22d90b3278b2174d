package operate

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// retention is RetainParams at a moment.
type retention struct {
	store.Retention
	now time.Time
}

// keep returns how long jobs in a state are kept; 0 is for ever.
func (r retention) keep(state store.State) time.Duration {
	switch state {
	case store.Completed:
		return r.Completed
	case store.Failed:
		return r.Failed
	default:
		return r.Cancelled
	}
}

// shortest returns the shortest time that anything is kept, or 0 if all is kept for ever.
func (r retention) shortest() (d time.Duration) {
	for _, keep := range []time.Duration{r.Completed, r.Failed, r.Cancelled} {
		if keep > 0 && (d == 0 || keep < d) {
			d = keep
		}
	}
	return d
}

// since returns, for each finished state, the time since which jobs are kept.
func (r retention) since() (states []int32, times []int64) {
	for _, state := range []store.State{store.Completed, store.Failed, store.Cancelled} {
		states = append(states, int32(state))
		if keep := r.keep(state); keep > 0 {
			times = append(times, r.now.Add(-keep).UnixMicro())
		} else {
			times = append(times, -1)
		}
	}
	return states, times
}
