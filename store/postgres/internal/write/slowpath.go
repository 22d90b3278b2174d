package write

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/batches"
	"github.com/holdfastdev/holdfast/store/postgres/internal/locks"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/requests"
	"github.com/holdfastdev/holdfast/store/postgres/internal/schedules"
)

// applySlow writes the batch in a transaction of many round trips. It asks first what may be
// written, and returns a *store.RefusedError that names what may not. It takes its locks in the
// same order as the fast path, but of bodies only those that are free.
func (s *Store) applySlow(ctx context.Context, in *store.Batch, b *batch) error {
	return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
		b.woken = Woken{}
		asked, err := requests.Begin(ctx, t, b.requests, b.now)
		var firing *schedules.Firing
		if err == nil {
			firing, err = schedules.Begin(ctx, t, b.fires, b.patient || b.overlooks)
		}
		if err != nil {
			return err
		}
		if err := batches.Call(ctx, t, b.calls, b.now); err != nil {
			return err
		}
		_, others := b.split(b.runs)
		if err := t.RunAll(ctx, b.locks(others, b.sends, true)); err != nil {
			return err
		}
		if err := s.grabBodies(ctx, t, b); err != nil {
			return err
		}
		if err := s.examine(ctx, t, b); err != nil {
			return err
		}
		if err := in.Refusal(); err != nil {
			return err
		}
		if err := s.writeEach(ctx, t, b); err != nil {
			return err
		}
		b.settle(ctx, false)
		if err := in.Refusal(); err != nil {
			return err
		}
		if err := cmp.Or(firing.End(ctx, t, b.now), asked.End(ctx, t)); err != nil {
			return err
		}
		return in.Refusal()
	})
}

// examine finds out what of the writes of runs was done before, and sets the errors of those that
// cannot be done.
func (s *Store) examine(ctx context.Context, t pg.Session, b *batch) error {
	if err := examineCheckpoints(ctx, t, b); err != nil {
		return err
	}
	if err := s.examineAppends(ctx, t, b); err != nil {
		return err
	}
	return examineRuns(ctx, t, b)
}

// writeEach writes what is left of the batch, as much of it together as can be.
func (s *Store) writeEach(ctx context.Context, t pg.Session, b *batch) error {
	if err := writeCheckpoints(ctx, t, b); err != nil {
		return err
	}
	if err := s.appendEach(ctx, t, b); err != nil {
		return err
	}
	if err := t.Run(ctx, "wait_at_most", nil, pg.LockTimeout); err != nil { // appendEach has shortened it
		return err
	}
	if err := s.sendAll(ctx, t, b); err != nil {
		return err
	}
	if err := b.endRuns(ctx, t); err != nil {
		return err
	}
	if err := t.RunAll(ctx, saidBy(b.liveCheckpoints, b.openAppends, b.liveRuns).Writing()); err != nil {
		return err
	}
	if len(b.entries) == 0 {
		return nil
	}
	if err := s.enqueueEach(ctx, t, b); err != nil || b.start == nil {
		return err
	}
	return s.startedBefore(ctx, t, b)
}

// grabBodies locks the bodies that the batch needs and can have, and sets aside what needs the
// others.
func (s *Store) grabBodies(ctx context.Context, t pg.Session, b *batch) error {
	if err := b.findParents(ctx, t); err != nil {
		return err
	}
	unavailable, err := locks.Grab(ctx, t, b.bodies())
	// Mostly it is another transaction of ours, which is over in a moment.
	for wait := time.Millisecond; err == nil && len(unavailable) > 0 && wait < 10*time.Millisecond; wait *= 2 {
		if ids := slices.Collect(maps.Keys(unavailable)); len(s.Blocked.suspects(ids)) == len(ids) {
			break
		}
		select {
		case <-time.After(wait):
			unavailable, err = locks.Grab(ctx, t, b.bodies())
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err != nil || len(unavailable) == 0 {
		return err
	}
	s.Blocked.meetBodies(slices.Collect(maps.Keys(unavailable)))
	b.setAside(unavailable)
	return nil
}

// findParents finds out which jobs are answered, where the outcomes do not say.
func (b *batch) findParents(ctx context.Context, t pg.Runner) error {
	var ids []store.ID
	for _, r := range b.runs {
		if r.Answers && r.Parent == (store.ID{}) {
			ids = append(ids, r.Lease.Job)
		}
	}
	parents, err := locks.ParentsOf(ctx, t, ids)
	for _, r := range b.runs {
		if parent, ok := parents[r.Lease.Job]; ok {
			r.Parent = parent
		}
	}
	return err
}

// sendAll sends, and notes whom that woke.
func (s *Store) sendAll(ctx context.Context, t pg.Session, b *batch) error {
	if len(b.sends) == 0 {
		return nil
	}
	w, err := s.sendEach(ctx, t, b.sends, b.now)
	maps.Copy(b.woken, w)
	return err
}

func examineCheckpoints(ctx context.Context, t pg.Session, b *batch) error {
	b.liveCheckpoints = nil
	if len(b.checkpoints) == 0 {
		return nil
	}
	live, err := liveLeases(ctx, t, len(b.checkpoints), func(i int) store.Lease { return b.checkpoints[i].Lease })
	if err != nil {
		return err
	}
	for i, c := range b.checkpoints {
		if c.Err = nil; live[i] {
			b.liveCheckpoints = append(b.liveCheckpoints, c)
		} else {
			c.Err = store.LostLease(c.Lease.Job)
		}
	}
	b.settleCheckpoints()
	return nil
}

// settleCheckpoints answers for checkpoints that a later one of the same run has replaced.
func (b *batch) settleCheckpoints() {
	for c, last := range b.replaced {
		c.Err = last.Err
	}
}

func writeCheckpoints(ctx context.Context, t pg.Session, b *batch) error {
	if len(b.liveCheckpoints) == 0 {
		return nil
	}
	write := func(writes []*store.CheckpointWrite) error {
		st := checkpoints(writes, b.now)
		return t.Attempt(ctx, func(t pg.Session) error { return t.Run(ctx, st.Name, st.Each, st.Args...) })
	}
	if err := write(b.liveCheckpoints); !pg.IsData(err) {
		return err
	}
	for _, c := range b.liveCheckpoints {
		if err := write([]*store.CheckpointWrite{c}); pg.IsData(err) {
			c.Err = pg.Classify(ctx, "write the checkpoint of job "+c.Lease.Job.String(), err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// examineRuns finds out which runs still hold their leases, and which of the others have ended as
// they say.
func examineRuns(ctx context.Context, t pg.Session, b *batch) error {
	b.liveRuns = nil
	for _, r := range slices.Concat(b.runs, b.twins, b.invalid) {
		r.Final, r.known, r.outcome.Err = 0, false, nil
	}
	if len(b.invalid) > 0 {
		live, lost, err := liveRuns(ctx, t, b.invalid)
		if err != nil {
			return err
		}
		for _, r := range live {
			r.outcome.Err = r.invalid
		}
		for _, r := range lost {
			r.outcome.Err = store.LostLease(r.Lease.Job)
		}
	}
	if len(b.runs) == 0 {
		return nil
	}
	live, lost, err := liveRuns(ctx, t, b.runs)
	if err != nil {
		return err
	}
	b.liveRuns = live
	for _, r := range b.twins {
		if slices.Contains(lost, r.twin) {
			lost = append(lost, r)
		}
	}
	if err := recognise(ctx, t, lost); err != nil {
		return err
	}
	for _, r := range lost {
		if r.Final == 0 {
			r.outcome.Err = store.LostLease(r.Lease.Job)
		}
	}
	return nil
}

// endRuns ends the runs that examineRuns has found live: those together that can be, and if that
// fails because of one of them, one by one behind savepoints.
func (b *batch) endRuns(ctx context.Context, t pg.Session) error {
	live := slices.DeleteFunc(slices.Clone(b.liveRuns), func(r *Run) bool { return r.outcome.Err != nil }) // its append was busy
	if len(live) == 0 {
		return nil
	}
	end := func(list func(...*Run) []pg.Statement, runs []*Run) error {
		if len(runs) == 0 {
			return nil
		}
		err := t.Attempt(ctx, func(t pg.Session) error { return t.RunAll(ctx, list(runs...)) })
		if !pg.IsData(err) {
			return err
		}
		slices.SortFunc(runs, func(a, b *Run) int { return cmp.Compare(a.Place, b.Place) })
		one := func(r *Run) []pg.Statement { return Endings([]*Run{r}, live, true, b.now) }
		return EndEach(ctx, t, runs, one, pg.IsData, func(r *Run, err error) { r.outcome.Err = pg.Classify(ctx, "end a run", err) })
	}
	plain, others := b.split(live)
	if err := end(func(runs ...*Run) []pg.Statement {
		return append([]pg.Statement{complete(runs, b.now)}, noteFreed(runs)...)
	}, plain); err != nil {
		return err
	}
	if err := end(func(runs ...*Run) []pg.Statement { return Endings(runs, live, true, b.now) }, others); err != nil {
		return err
	}
	var n WakeCandidates
	n.AddRuns(others)
	return t.RunAll(ctx, b.woken.waking(n, b.now))
}
