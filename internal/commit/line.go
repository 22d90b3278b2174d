package commit

import (
	"slices"

	"github.com/holdfastdev/holdfast/internal/portion"
	"github.com/holdfastdev/holdfast/store"
)

// line is the worker of a lane: what it has taken and not yet committed outlives a panic.
type line struct {
	*lane
	limit   int
	portion *portion.Portion // of the limit
	ops     []*op            // what could not be committed, in front, and what is to follow it; nil: answered meanwhile, or put aside
	begun   *Starting        // of these: they were tried, and may run already
	company commitDelay
	try     int
}

// startingPortion is how many bytes may be in a batch that lets jobs start. Such a batch is repeated
// with the same jobs until it is known what happened, so that it cannot be made smaller.
const startingPortion = 512 << 10

// atOnce is how many operations are in one batch at the most.
func (c *Committer) atOnce() int { return max(c.Store.Traits().MaxBatch, 1) }

// mayStart reports whether jobs of a batch may run at once, as far as the batch goes.
func mayStart(p *portion.Portion, ops []*op, batch *store.Batch) bool {
	return len(batch.Enqueues) > 0 && p.IsWhole() && portion.WeightOf(batch.Enqueues) <= startingPortion &&
		!slices.ContainsFunc(ops, func(o *op) bool { return o.tried })
}

// step commits a portion of what the line has taken, and reports whether that went well. What came
// meanwhile is behind what is repeated, and its callers, too, learn that the database is away.
func (c *Committer) step(w *line) bool {
	some, later := w.next()
	answered := callers(some)
	again, begun := c.tryOps(w, some, w.begun)
	if w.begun = begun; w.portion.Err != nil {
		later = c.sift(later, w.portion.Err)
	}
	if len(some) == 1 && len(again) == 1 && begun == nil {
		w.ops = behind(again[0], later)
	} else {
		w.ops = slices.Concat(again, later)
	}
	w.keep(w.ops)
	if len(again) > 0 {
		w.try++
		return false
	}
	if w.try = 0; len(later) == 0 {
		w.company.wait(w.lane, answered)
	}
	return true
}

// next returns what is tried now, and what follows it. What may run already is repeated as it was.
func (w *line) next() (some, later []*op) {
	least := 0
	if w.begun != nil {
		slices.SortStableFunc(w.ops, func(a, b *op) int { return rank(a) - rank(b) })
		for least < len(w.ops) && rank(w.ops[least]) == 0 {
			least++
		}
	}
	n := max(fit(w.portion, w.ops), least)
	return w.ops[:n:n], w.ops[n:]
}

// rank is 0 for ops that let jobs start, which are in front of the others.
func rank(o *op) int {
	if slices.ContainsFunc(o.enqueues, func(q *store.Enqueue) bool { return q.Start }) {
		return 0
	}
	return 1
}

// behind puts an op that did not get through, alone as it was, behind the others, which may be smaller.
// What else there is of its job stays behind it.
func behind(o *op, others []*op) []*op {
	job := o.job()
	ops := make([]*op, 0, len(others)+1)
	var following []*op
	for _, other := range others {
		if job != (store.ID{}) && other.job() == job {
			following = append(following, other)
		} else {
			ops = append(ops, other)
		}
	}
	return append(append(ops, o), following...)
}

// job is the job whose run writes the op; none if no run does.
func (o *op) job() store.ID {
	switch {
	case o.outcome != nil:
		return o.outcome.Lease.Job
	case o.remembered != nil:
		return o.remembered.Lease.Job
	case o.checkpoint != nil:
		return o.checkpoint.Lease.Job
	}
	return store.ID{}
}
