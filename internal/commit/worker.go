package commit

import (
	"slices"

	"github.com/holdfastdev/holdfast/internal/portion"
	"github.com/holdfastdev/holdfast/store"
)

// worker is the state of a goroutine that commits a backlog; it survives a panic.
type worker struct {
	*backlog
	limit    int
	portion  *portion.Portion // of the limit
	ops      []*op            // to be retried, then new ones; nil: answered or put aside meanwhile
	starting *Starting        // of these ops: they were tried, and their jobs may have started
	delay    commitDelay
	try      int
}

// startingPortion bounds the bytes of a batch that starts jobs. Such a batch is retried with the
// same jobs until the result is known, so it cannot be made smaller.
const startingPortion = 512 << 10

// atOnce is the largest number of operations in one batch.
func (c *Committer) atOnce() int { return max(c.Store.Traits().MaxBatch, 1) }

// mayStart reports whether a batch may start jobs.
func mayStart(p *portion.Portion, ops []*op, batch *store.Batch) bool {
	return len(batch.Enqueues) > 0 && p.IsWhole() && portion.WeightOf(batch.Enqueues) <= startingPortion &&
		!slices.ContainsFunc(ops, func(o *op) bool { return o.tried })
}

// startable are the enqueues whose jobs may start: a unit may be taken out of its batch.
func startable(enqueues []*store.Enqueue) []*store.Enqueue {
	if !slices.ContainsFunc(enqueues, func(q *store.Enqueue) bool { return q.Required }) {
		return enqueues
	}
	return slices.DeleteFunc(slices.Clone(enqueues), func(q *store.Enqueue) bool { return q.Required })
}

// commitSome commits a portion of the taken ops, and reports whether that succeeded. Ops taken
// later queue behind the retried ones, and share their error if the database is away.
func (c *Committer) commitSome(w *worker) bool {
	some, later := w.next()
	answered := callers(some)
	again, starting := c.tryOps(w, some, w.starting)
	w.starting = starting
	if w.portion.Err != nil {
		later = c.sift(later, w.portion.Err)
	}
	if len(some) == 1 && len(again) == 1 && starting == nil {
		w.ops = behind(again[0], later)
	} else {
		w.ops = slices.Concat(again, later)
	}
	w.keep(w.ops)
	if len(again) > 0 {
		w.try++
		return false
	}
	w.try = 0
	if len(later) == 0 {
		w.delay.wait(w.backlog, answered)
	}
	return true
}

// next returns what to try now, and what follows. Ops that may have started jobs are retried
// unchanged.
func (w *worker) next() (some, later []*op) {
	least := 0
	if w.starting != nil {
		slices.SortStableFunc(w.ops, func(a, b *op) int { return rank(a) - rank(b) })
		for least < len(w.ops) && rank(w.ops[least]) == 0 {
			least++
		}
	}
	n := max(fit(w.portion, w.ops), least)
	return w.ops[:n:n], w.ops[n:]
}

// rank is 0 for ops that start jobs, which are in front of the others.
func rank(o *op) int {
	if slices.ContainsFunc(o.Enqueues, func(q *store.Enqueue) bool { return q.Start }) {
		return 0
	}
	return 1
}

// behind moves an op that failed alone behind the others, which may be smaller. Other ops of its
// job stay behind it.
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

// job is the job whose run writes the op; zero if no run does.
func (o *op) job() store.ID {
	switch {
	case o.Outcome != nil:
		return o.Outcome.Lease.Job
	case o.Append != nil:
		return o.Append.Lease.Job
	case o.Checkpoint != nil:
		return o.Checkpoint.Lease.Job
	}
	return store.ID{}
}
