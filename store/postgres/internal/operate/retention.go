package operate

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/kept"
)

// retention is a Retention at a moment, with what queues say.
type retention struct {
	store.Retention
	now   time.Time
	rules *kept.Rules
}

// keep returns how long jobs in a state are kept at most, whatever their queue; 0 is for ever.
func (r retention) keep(state store.State) time.Duration {
	_, all := r.rules.Times(state)
	return all
}

// sinceThat returns the time since which jobs are kept, if they are kept for so long; -1: all are.
func (r retention) sinceThat(keep time.Duration) int64 {
	if keep <= 0 {
		return -1
	}
	return r.now.Add(-keep).UnixMicro()
}

// finishedStates are those in which jobs have finished.
var finishedStates = []store.State{store.Completed, store.Failed, store.Cancelled}

// since returns, for each finished state, the time since which jobs are kept of queues that name no
// class.
func (r retention) since() (states []int32, times []int64) {
	for _, state := range finishedStates {
		states, times = append(states, int32(state)), append(times, r.sinceThat(r.Of(state)))
	}
	return states, times
}

// sinceAll is that of all queues: what ended before is kept by none.
func (r retention) sinceAll() (states []int32, times []int64) {
	for _, state := range finishedStates {
		states, times = append(states, int32(state)), append(times, r.sinceThat(r.keep(state)))
	}
	return states, times
}

// own is what is different in queues that name a class, as statements take it.
type own struct {
	queues, states []int32
	since          []int64
}

func (r retention) own() (o own) {
	for _, queue := range r.rules.Queues() {
		for _, state := range finishedStates {
			o.queues, o.states = append(o.queues, int32(queue)), append(o.states, int32(state))
			o.since = append(o.since, r.sinceThat(r.rules.Of(queue, state)))
		}
	}
	return o
}
