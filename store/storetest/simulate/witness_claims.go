package simulate

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/simulate/play"
)

// Claim implements store.Claims.
func (w *witness) Claim(ctx context.Context, p store.ClaimParams) ([]store.Claimed, error) {
	w.begin("Claim")
	claimed, err := w.Store.Claim(ctx, p)
	if !w.alive(p.Node) {
		refused("a claim of a dead node", err, store.ErrNodeDead)
		return nil, err
	}
	must("Claim", err)
	if held, happened := w.claimedBefore(p.Node, p.Seq, p.Seq+int64(p.Records())); happened {
		w.sawAgain("a repeated claim", held, claimed)
		return claimed, nil
	}
	if len(claimed) > p.Limit {
		play.Brokenf("Limits", "%d jobs are claimed, %d were asked for", len(claimed), p.Limit)
	}
	n := w.nodes[p.Node]
	// One that took nothing, or never arrived, need not take anything once a later one was there.
	overtaken := p.Repeat && p.Seq <= n.seq
	n.seq = max(n.seq, p.Seq+int64(p.Records())-1)
	if overtaken && len(claimed) == 0 {
		return nil, nil
	}
	best := w.claimable(p)
	for i := range claimed {
		w.sawClaimed(&claimed[i], p.Node, p.Seq, i)
		if j := w.jobs[claimed[i].Job.ID]; j.body.Queue == "" || !slices.Contains(p.Kinds, j.lane()) || w.paused[j.body.Queue] {
			play.Brokenf("Contract", "%v is claimed, which is of %s and %s (paused: %v)", j, j.body.Queue, j.lane(), w.paused[j.body.Queue])
		}
	}
	w.sawOrder(p, best, claimed)
	w.look(ctx)
	return claimed, nil
}

// claimedBefore returns the jobs that still run of a range of claim records, in the order of their
// leases, and whether there is one.
func (w *witness) claimedBefore(node, from, to int64) (held []store.Lease, happened bool) {
	for seq := from; seq < to; seq++ {
		happened = happened || w.claims[claimName{node, seq}]
	}
	if !happened {
		return nil, false
	}
	for _, j := range w.order {
		if j.running() && j.lease.Node == node && j.lease.Claim >= from && j.lease.Claim < to {
			held = append(held, j.lease)
		}
	}
	slices.SortFunc(held, func(a, b store.Lease) int { return cmp.Or(cmp.Compare(a.Claim, b.Claim), cmp.Compare(a.Slot, b.Slot)) })
	return held, true
}

// sawAgain checks that a claim that had happened is answered with its jobs that are not done, and
// nothing new.
func (w *witness) sawAgain(what string, held []store.Lease, claimed []store.Claimed) {
	var told []store.Lease
	for _, c := range claimed {
		told = append(told, c.Lease)
	}
	if !slices.Equal(held, told) {
		play.Brokenf("Once", "%s holds %v, and is answered with %v", what, held, told)
	}
}

// sawClaimed notes that a job runs.
func (w *witness) sawClaimed(c *store.Claimed, node, seq int64, i int) {
	j := w.jobs[c.Job.ID]
	if j == nil {
		play.Brokenf("OneOwner", "a job is claimed that nobody has enqueued: %v", c.Job.ID)
	}
	if j.state != store.Available {
		play.Brokenf("OneOwner", "%v is claimed by node %d, and was %v, under the lease %+v", j, node, j.state, j.lease)
	}
	if c.Lease.Number <= j.body.LeaseNumber || c.Lease.Job != j.body.ID || c.Lease.Node != node || c.Job.LeaseNumber != c.Lease.Number {
		play.Brokenf("OneOwner", "%v had the lease number %d and is claimed by node %d under %+v", j, j.body.LeaseNumber, node, c.Lease)
	}
	if c.Lease.Claim != seq+int64(i/store.MaxClaimSlots) || c.Lease.Slot != i%store.MaxClaimSlots {
		play.Brokenf("Contract", "job %d of the claim %d has the lease %+v", i, seq, c.Lease)
	}
	if j.unsure {
		j.cancel, j.unsure = c.CancelRequested, false
	}
	if c.Job.Attempt != j.body.Attempt+1 || c.CancelRequested != j.cancel || c.Durable != j.durable() {
		play.Brokenf("Atomic", "%v has %d attempts, is asked to cancel: %v, remembers: %v, and is claimed as %+v",
			j, j.body.Attempt, j.cancel, j.durable(), c)
	}
	if (c.Checkpoint != nil) != (j.checkpoint != nil) || c.Checkpoint != nil && !bytes.Equal(c.Checkpoint.Value, j.checkpoint) {
		play.Brokenf("Remembered", "%v has the checkpoint %q and is claimed with %+v", j, j.checkpoint, c.Checkpoint)
	}
	if j.body.OrderingKey != "" {
		w.sawTurn(j)
	}
	j.body.Attempt, j.body.LeaseNumber, j.lease, j.claimedAt = c.Job.Attempt, c.Lease.Number, c.Lease, w.now
	w.claims[claimName{node, c.Lease.Claim}] = true
	w.enter(j, store.Running)
}

// sawTurn checks that it is the turn of a job that starts, among those with its ordering key.
func (w *witness) sawTurn(j *job) {
	t := w.turn(j)
	if t.holder == j {
		return
	}
	if t.holder != nil {
		play.Brokenf("Order", "%v starts while %v, which is %v, has the turn of %s", j, t.holder, t.holder.state, j.keyName())
	}
	for _, other := range w.order {
		waited := other.since <= t.freed && j.since <= t.freed && other.state == store.Available
		if waited && other != j && other.keyName() == j.keyName() && urgent(other, j) < 0 {
			play.Brokenf("Order", "%v has the turn of %s before %v", j, j.keyName(), other)
		}
	}
	t.holder = j
}

// urgent compares two jobs by who goes first.
func urgent(a, b *job) int {
	return cmp.Or(cmp.Compare(a.body.Priority, b.body.Priority), a.body.RunAt.Compare(b.body.RunAt),
		bytes.Compare(a.body.ID[:], b.body.ID[:]))
}

// claimable are the jobs that a claim may find, best first. Those of ordering keys are left out:
// whose turn it is the store decides.
func (w *witness) claimable(p store.ClaimParams) []*job {
	var found []*job
	for _, j := range w.order {
		if j.state == store.Available && !w.paused[j.body.Queue] && slices.Contains(p.Kinds, j.lane()) && j.body.OrderingKey == "" {
			found = append(found, j)
		}
	}
	slices.SortFunc(found, urgent)
	return found
}

// sawOrder checks that a claim took the best, and all that it might. best is what there was.
func (w *witness) sawOrder(p store.ClaimParams, best []*job, claimed []store.Claimed) {
	left := map[string]int{}
	for _, q := range p.Queues {
		left[q.Name] = q.Limit
	}
	var last *job
	for _, c := range claimed {
		j := w.jobs[c.Job.ID]
		if p.Aging == 0 && last != nil && urgent(last, j) > 0 {
			play.Brokenf("Order", "%v is claimed before %v", last, j)
		}
		if left[j.body.Queue]--; p.Queues != nil && left[j.body.Queue] < 0 {
			play.Brokenf("Limits", "more of %s is claimed than was asked for: %+v", j.body.Queue, p.Queues)
		}
		last = j
	}
	for _, j := range best {
		if j.running() || p.Queues != nil && left[j.body.Queue] <= 0 {
			continue
		}
		if len(claimed) < p.Limit || p.Aging == 0 && urgent(j, last) < 0 {
			play.Brokenf("EveryDueThing", "%v is left out by a claim of at most %d jobs that takes %d", j, p.Limit, len(claimed))
		}
	}
}

// sawStart checks which jobs run at once that a batch has enqueued.
func (w *witness) sawStart(batch *store.Batch) {
	start := batch.Start
	records := int64(store.ClaimRecords(batch.Starting()))
	if held, happened := w.claimedBefore(start.Node, start.Seq, start.Seq+records); happened {
		if w.alive(start.Node) { // a dead one need not be told
			w.sawAgain("a repeated start", held, start.Claimed)
		}
		return
	}
	for i := range start.Claimed {
		c := &start.Claimed[i]
		at := slices.IndexFunc(batch.Enqueues, func(q *store.Enqueue) bool { return q.Job.ID == c.Job.ID })
		if at < 0 || !batch.Enqueues[at].MayStart() || batch.Enqueues[at].Result.Existing || w.paused[c.Job.Queue] || !w.alive(start.Node) {
			play.Brokenf("Contract", "a job starts with its enqueue that may not: %+v", c.Job)
		}
		j := w.jobs[c.Job.ID]
		for _, other := range w.order {
			if other.state == store.Available && other.since < w.calls && other.body.OrderingKey == "" && other.lane() == j.lane() &&
				other.body.Queue == j.body.Queue && other.body.Priority == j.body.Priority {
				play.Brokenf("Order", "%v starts with its enqueue before %v", j, other)
			}
		}
		w.sawClaimed(c, start.Node, start.Seq, i)
	}
}
