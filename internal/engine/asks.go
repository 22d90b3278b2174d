package engine

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/internal/portion"
	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

// claimTimeout bounds a claim. While its answer travels it holds the row of its node, so that a beat
// has to wait: it is over before the node looks dead.
func claimTimeout(beat time.Duration) time.Duration {
	return min(store.CallTimeout, max(2*beat, store.CallTimeout/3))
}

// asks is how many jobs are asked for at once: so many that their bytes arrive in time, as far as can
// be told from those that came before.
type asks struct {
	*portion.Portion
	heavy int // about how many bytes a job is; what was large is remembered for some claims
}

func (a *asks) limit() int {
	if a.heavy == 0 {
		return a.Count
	}
	return max(min(a.Count, a.Bytes/a.heavy), 1)
}

// answered learns from the answer to a claim.
func (a *asks) answered(jobs []store.Claimed, took time.Duration) {
	if len(jobs) == 0 {
		return
	}
	bytes := 0
	for i := range jobs {
		bytes += portion.WeightOfJob(&jobs[i].Job)
		if c := jobs[i].Checkpoint; c != nil {
			bytes += len(c.Message) + len(c.Value)
		}
	}
	a.heavy = max(bytes/len(jobs), a.heavy*3/4)
	a.Went(len(jobs), bytes, took)
}

// repeat makes a claim ask for the same again, or for a quarter of it if it took long, as no beat gets through
// meanwhile. It reports whether it did.
func (a *asks) repeat(params *store.ClaimParams, took time.Duration) (less bool) {
	params.Repeat, params.Sent = true, max(params.Sent, params.Limit)
	if took < portion.SlowFailure {
		return false
	}
	for range 2 {
		a.Halve(params.Limit, a.Bytes)
	}
	params.Limit = min(params.Limit, a.Count)
	return true
}

// letBeat waits until a beat has got through, for as long as it is between two at the most: one that claims again at once
// may take the row of the node before the beat that waits for it.
func (d *dispatcher) letBeat(ctx context.Context) {
	const look = 100 * time.Millisecond
	since := time.Now() //nolint:forbidigo // the monotonic clock, by which beats are noted
	supervise.Signal(d.node.beatNow)
	for waited := time.Duration(0); waited < d.node.cfg.Beat && ctx.Err() == nil; waited += look {
		supervise.Sleep(ctx, look)
		if d.node.heart.beatAt().After(since) {
			return
		}
	}
}
