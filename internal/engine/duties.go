package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/internal/duty"
	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/observer"
	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

// duty is maintenance work that runs periodically, or when a beat tells the leader that it is due.
// Each duty has its own goroutine and time limit, so that none can starve another.
type task struct {
	name  string
	every time.Duration   // 0: only on request
	now   <-chan struct{} // requests a run; nil: never
	// everywhere: on each node, not only on the leader.
	everywhere bool
	do         func(ctx context.Context) error
	// again, if set, is asked after each run: whether one is to follow within watchEvery, though
	// it is not requested.
	again func() bool
}

// watchEvery is how often it is looked whether jobs have ended after which others come, if their
// ends may not be noted.
const watchEvery = time.Second / 2

// batchesEvery is how often it is looked whether there are batches to count, if no wake-up tells.
const batchesEvery = 5 * time.Second

func (n *node) duties() []task {
	duties := []task{
		{name: duty.Rescue, now: n.rescueNow, do: n.rescue},
		{name: duty.Cancels, now: n.sweepNow, do: n.sweep},
		{name: duty.Children, now: n.closeNow, do: n.closeChildren, again: n.watches.Load},
		{name: duty.Batches, every: n.engine.cfg.every(batchesEvery), now: n.countNow, do: n.countBatches, again: n.counts.Load},
		{name: duty.Retain, every: n.engine.cfg.every(time.Minute), do: n.retain},
		{name: duty.Hours, every: n.engine.cfg.every(mergeEvery), do: n.mergeFacts},
		{name: duty.Unserved, every: n.engine.cfg.every(unservedEvery), do: n.logUnserved},
		{name: duty.Leases, now: n.giveUpNow, everywhere: true, do: n.giveUp},
		{name: duty.Prefetch, now: n.slots.JobsWait(), everywhere: true, do: n.releaseStale},
	}
	if o := n.engine.cfg.Observer; o != nil {
		look := func(ctx context.Context) error { return o.Look(ctx, n.store) }
		duties = append(duties, task{name: duty.Look, every: n.engine.cfg.every(observer.LookEvery), do: look})
	}
	return duties
}

func (n *node) perform(ctx context.Context, d task) {
	var ticks <-chan time.Time
	if d.every > 0 {
		ticker := time.NewTicker(d.every)
		defer ticker.Stop()
		ticks = ticker.C
	}
	var soon <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks:
		case <-soon:
		case <-d.now:
		}
		soon = nil
		if !d.everywhere && !n.leader.Load() {
			continue
		}
		call, cancel := context.WithTimeout(ctx, max(store.CallTimeout, d.every))
		err := n.engine.cfg.Observer.Perform(call, d.name, d.do)
		cancel()
		n.turns.Note(d.name)
		if err != nil && ctx.Err() == nil {
			n.engine.fatal(err)
			n.outage.Stumbled(d.name, err)
		}
		if d.again != nil && d.again() {
			soon = time.After(watchEvery)
		}
	}
}

// rescueLimit is how many claim records one rescue transaction takes.
const rescueLimit = 100

// rescue declares the nodes dead that the last beat found to be, and rescues the jobs of all dead
// nodes.
func (n *node) rescue(ctx context.Context) error {
	dead := n.heart.deadNodes()
	for {
		rescued, err := n.store.Rescue(ctx, store.RescueParams{Dead: dead, Limit: rescueLimit})
		n.died.Add(int64(len(rescued.Died)))
		n.announce(rescued)
		observer.Did(ctx, len(rescued.Jobs))
		if err != nil {
			return err
		}
		if len(rescued.Jobs) == 0 {
			return nil
		}
		for _, r := range rescued.Jobs {
			n.logRescued(r)
		}
	}
}

// logRescued logs a job that was taken from a dead node.
func (n *node) logRescued(r store.RescuedJob) {
	job := logs.About{Job: r.Job, Kind: r.Kind, Queue: r.Queue}
	attrs := []slog.Attr{slog.Int64(logs.KeyDeadNode, r.Node), slog.String(logs.KeyReason, string(r.Reason))}
	if n.runner.space() != "" || r.Namespace != n.runner.namespace {
		attrs = append(attrs, slog.String(logs.KeyNamespace, r.Namespace))
	}
	if r.State == store.Failed {
		n.lines.Say(slog.LevelError, job, "job failed: its node died", attrs...)
		return
	}
	attrs = append(attrs, slog.String(logs.KeyState, r.State.String()))
	if r.State == store.Retryable {
		attrs = append(attrs, slog.Time(logs.KeyRetryAt, r.RunAt))
	}
	n.lines.Say(slog.LevelWarn, job, "job taken from a dead node", attrs...)
}

// announce notifies the hooks of what was rescued, the waiters of rescued jobs that have ended, and
// the nodes of what the rescue made available or due.
func (n *node) announce(rescued store.Rescued) {
	n.facts.Lost(n.now(), rescued.Jobs)
	n.engine.hooks.Rescued(&rescued)
	var ended []store.ID
	for _, r := range rescued.Jobs {
		if r.State.Finished() {
			ended = append(ended, r.Job)
		}
	}
	if len(ended) > 0 {
		supervise.Signal(n.closeNow) // others may come after them, and they may have children
	}
	n.engine.announce(append(rescued.Wakes, n.engine.news.Ended(ended...)...)...)
}

func (n *node) sweep(ctx context.Context) error {
	swept, err := n.store.SweepCancels(ctx)
	if swept.Jobs > 0 {
		swept.Wakes = append(swept.Wakes, n.engine.news.MayHaveEnded()...)
	}
	n.engine.announce(swept.Wakes...)
	n.engine.hooks.Over(swept.Ended)
	observer.Did(ctx, swept.Jobs)
	return err
}

// closeChildren ends the children of finished jobs, according to their close policy, and lets go
// on, or ends, jobs that came after others.
func (n *node) closeChildren(ctx context.Context) error {
	for ctx.Err() == nil {
		closed, err := n.store.CloseChildren(ctx, closeLimit)
		if err == nil {
			n.watches.Store(closed.Watch)
		}
		n.engine.hooks.Over(closed.Ended)
		observer.Did(ctx, len(closed.Ended)+len(closed.Running))
		n.engine.announce(slices.Concat(closed.Wakes, toStop(closed.Running), n.engine.news.Ended(closed.Ended...))...)
		if err != nil {
			return err
		}
		if !closed.More {
			return nil
		}
	}
	return nil
}

// closeLimit is how many children one transaction ends, and how many jobs it tells of the ends of
// others.
const closeLimit = 500

// retain removes what is old. An archive that fails holds up only the jobs.
func (n *node) retain(ctx context.Context) error {
	params := n.cfg.Retain
	if n.cfg.Archive == nil {
		return n.retainRest(ctx, params)
	}
	params.Archived = true
	err := n.archive(ctx, params)
	return errors.Join(err, n.retainRest(ctx, params))
}

// retainRest is retain of all that is not archived.
func (n *node) retainRest(ctx context.Context, params store.Retention) error {
	for ctx.Err() == nil {
		retained, err := n.store.Retain(ctx, params)
		if err != nil {
			return err
		}
		observer.Did(ctx, retained.Jobs)
		if retained.Jobs > 0 {
			n.log.Debug("finished jobs removed", logs.KeyJobs, retained.Jobs)
		}
		if !retained.More {
			return nil
		}
	}
	return nil
}

// archive removes what is over, page by page, each once it is archived. A process that dies in
// between has archived jobs that are still there: they are archived again.
func (n *node) archive(ctx context.Context, params store.Retention) error {
	params.Limit = archivePage
	for ctx.Err() == nil {
		jobs, more, err := n.store.Expired(ctx, params)
		if err != nil {
			return err
		}
		if len(jobs) > 0 {
			if err := n.cfg.Archive(ctx, n.kept(), jobs); err != nil {
				return fmt.Errorf("archive: %w; no job is removed before this works", err)
			}
			removed, err := n.store.RemoveExpired(ctx, jobs)
			if err != nil {
				return err
			}
			observer.Did(ctx, removed)
			n.log.Debug("finished jobs archived and removed", logs.KeyJobs, removed)
			if removed == 0 {
				return nil // others have them at this moment; the next look would archive the same ones again
			}
		}
		if !more {
			return nil
		}
	}
	return nil
}

// kept is the store that has payloads as they are kept: what is encrypted stays so in an archive,
// and is not lost to a node that lacks the key.
func (n *node) kept() store.Store {
	if sealed, ok := n.store.(interface{ Inner() store.Store }); ok {
		return sealed.Inner()
	}
	return n.store
}

// archivePage is how many jobs an archived file has at most.
const archivePage = 1000

// releaseStale gives back prefetched jobs that get no slot within a second, because handlers
// suddenly take longer. It is requested when jobs wait.
func (n *node) releaseStale(ctx context.Context) error {
	supervise.Sleep(ctx, time.Second)
	for _, c := range n.slots.TakeStale(n.store.Now().Add(-time.Second)) {
		observer.Did(ctx, 1)
		n.release(c)
	}
	return nil
}
