package rules

import (
	"cmp"
	"context"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/simulate/play"
)

// see reads what there is after a call.
func (e *eye) see(ctx context.Context, op string, params, answer any, err error) {
	e.op, e.calls = op, e.calls+1
	c := &change{
		op: op, params: params, answer: answer, err: err, now: e.w.clock.Now(), was: e.jobs, limits: e.limits, batches: e.batches,
	}
	e.read(ctx)
	for _, j := range e.order {
		was := c.was[j.ID]
		if j.State == store.Running && (was == nil || was.LeaseNumber < j.LeaseNumber) {
			c.started = append(c.started, j)
		}
		e.digest = play.Mix(e.digest ^ j.Name() ^ uint64(j.State)<<56 ^ uint64(j.LeaseNumber)<<32 ^ uint64(j.RunAt.UnixMicro()))
	}
	slices.SortFunc(c.started, func(a, b *job) int {
		return cmp.Or(cmp.Compare(a.Lease.Claim, b.Lease.Claim), cmp.Compare(a.Lease.Slot, b.Lease.Slot))
	})
	for _, r := range e.rules {
		r.check(c)
	}
}

func (e *eye) read(ctx context.Context) {
	e.order, e.jobs = nil, map[store.ID]*job{}
	p := store.ListParams{Filter: store.Filter{Namespace: namespace}, Limit: 1000}
	for {
		page, err := e.List(ctx, p)
		must("List", err)
		for i := range page.Jobs {
			j := &job{page.Jobs[i]}
			e.order, e.jobs[j.ID] = append(e.order, j), j
		}
		if p.After = page.Next; p.After == "" {
			break
		}
	}
	var err error
	if e.w.about.has(Limits | Keys) {
		e.limits, err = e.Limits(ctx, namespace, "")
		must("Limits", err)
	}
	if e.w.about.has(Batches) {
		e.batches, err = e.Batches(ctx, store.BatchFilter{Namespace: namespace, Limit: 1000})
		must("Batches", err)
	}
}
