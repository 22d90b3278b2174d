package write

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/gating"
	"github.com/holdfastdev/holdfast/store/postgres/internal/keys"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Apply is that of store.Writer, without the class of its error.
func (s *Store) Apply(ctx context.Context, in *store.Batch) error {
	s.FreshenFor(ctx, pg.One{DB: s.DB}, in.Enqueues)
	b := &batch{now: s.Micros(), patient: in.Patient, start: in.Start, starting: in.Starting(), woken: Woken{}}
	in.Reset()
	b.take(in)
	err := s.takeEnqueues(ctx, b, in)
	if err != nil {
		return err
	}
	if err := s.setAsideKnown(ctx, b); err != nil {
		return err
	}
	if err := in.Refusal(); err != nil {
		return err
	}
	b.patience = s.Blocked.patience()
	if len(b.requests) > 0 || !b.isEmpty() {
		if err = s.applyAll(ctx, in, b); err != nil {
			return err
		}
	}
	s.Blocked.freeKeys(b.newEntries())
	// The batch is committed. An error of what follows is returned only if it had nothing else.
	if err := s.enqueueDoubtful(ctx, b); err != nil {
		return err
	}
	s.Lanes.SetUsed(UsedNow(b.allEntries()))
	s.Hint(b.places())
	// An error costs a little time: jobs that are not announced are found by the next poll.
	in.Woken, _ = s.wakes(ctx, b.woken)
	if b.touchesKeys() {
		in.Woken = append(in.Woken, s.turnsAfterCommit(ctx)...)
	}
	if slices.ContainsFunc(b.runs, (*Run).freesGate) {
		in.Woken = append(in.Woken, s.orLater(gating.HandOn(ctx, s.Store))...)
	}
	return nil
}

// isEmpty reports whether nothing is left to do.
func (b *batch) isEmpty() bool {
	return len(b.checkpoints)+len(b.appends)+len(b.sends)+len(b.runs)+len(b.twins)+len(b.invalid)+len(b.entries)+len(b.fires)+len(b.calls) == 0
}

// applyAll does the fast path, and the slow path if that is needed.
func (s *Store) applyAll(ctx context.Context, in *store.Batch, b *batch) (err error) {
	if !b.slow {
		if err = pg.RetryOnConflict(ctx, func() error { return s.applyFast(ctx, b) }); err == nil {
			b.settle(ctx, true)
			return nil
		}
	}
	if pg.IsLockTimeout(err) {
		b.patience.lose()
	}
	if b.slow || needsSlowPath(err) {
		err = pg.RetryOnConflict(ctx, func() error { return s.applySlow(ctx, in, b) })
	}
	if len(b.fires) > 0 && pg.IsLockTimeout(err) {
		b.overlooks = true
		err = pg.RetryOnConflict(ctx, func() error { return s.applySlow(ctx, in, b) })
	}
	return err
}

// take sorts out what cannot be applied whatever the database says.
func (b *batch) take(in *store.Batch) {
	possible := make([]*store.CheckpointWrite, 0, len(in.Checkpoints))
	for _, c := range in.Checkpoints {
		if c.Err = c.Meta.Check(c.Lease.Job); c.Err == nil && !IsPossible(c.Lease) {
			c.Err = store.LostLease(c.Lease.Job)
		}
		if c.Err == nil {
			possible = append(possible, c)
		}
	}
	b.checkpoints, b.replaced = lastOfEach(possible)
	for _, in := range in.Appends {
		if a := (&appending{Append: in}); a.isPossible() {
			b.appends = append(b.appends, a)
			b.slow = b.slow || a.Repeat
		}
	}
	for _, q := range in.Sends {
		q.Result = store.SendResult{}
		if q.Err = q.Check(); q.Err == nil {
			b.sends = append(b.sends, q)
		}
		b.slow = b.slow || q.Required // only the slow path knows what becomes of it before the commit
	}
	first := make(map[store.Lease]*Run, len(in.Outcomes))
	for i, o := range in.Outcomes {
		o.Final, o.Err = 0, nil
		r := runOf(o, b.now)
		r.Place = i
		switch before := first[o.Lease]; {
		case !IsPossible(o.Lease), before != nil && !o.Repeat:
			o.Err = store.LostLease(o.Lease.Job)
		case r.invalid != nil:
			// Whether it is that or its lease is lost is a question to the database.
			b.invalid = append(b.invalid, r)
		case before != nil:
			r.twin = before
			b.twins = append(b.twins, r)
		default:
			first[o.Lease] = r
			b.runs = append(b.runs, r)
		}
		b.slow = b.slow || o.Repeat || r.invalid != nil
	}
	b.requests, b.fires, b.calls = in.Requests, in.Fires, in.Calls
	b.slow = b.slow || len(b.requests)+len(b.fires)+len(b.calls) > 0 // the rest tells what becomes of them
}

// takeEnqueues prepares the enqueues of the batch and of its appends. An append one of whose
// enqueues is invalid is not written.
func (s *Store) takeEnqueues(ctx context.Context, b *batch, in *store.Batch) (err error) {
	all := in.Enqueues
	for _, a := range b.appends {
		if len(a.Enqueues) > 0 {
			all = append(slices.Clip(all), a.Enqueues...)
		}
	}
	early := store.MarkPredecessors(in.Enqueues)
	entries, err := s.entriesOf(ctx, all, b.now, false)
	markEarly(entries, early)
	for _, e := range entries {
		b.slow = b.slow || e.Required && e.hasKey() || e.Send != nil || len(e.After)+len(e.FollowUps) > 0 || e.isMember() // as of sends
	}
	if err != nil || len(all) == len(in.Enqueues) {
		b.entries = entries
		return err
	}
	of := make(map[*store.Enqueue]*Entry, len(entries))
	for _, e := range entries {
		of[e.Enqueue] = e
	}
	for _, q := range in.Enqueues {
		if e := of[q]; e != nil {
			b.entries = append(b.entries, e)
		}
	}
	b.appends = slices.DeleteFunc(b.appends, func(a *appending) bool {
		for _, q := range a.Enqueues {
			e := of[q]
			if e != nil {
				e.appended = true
			}
			a.entries = append(a.entries, e)
		}
		return !a.isPrepared()
	})
	return nil
}

// allEntries are all enqueues of the batch.
func (b *batch) allEntries() []*Entry {
	if len(b.recheck) == 0 {
		return b.newEntries()
	}
	return append(slices.Clip(b.newEntries()), b.recheck...)
}

// newEntries are the enqueues of the batch's appends and its own.
func (b *batch) newEntries() []*Entry {
	all := b.entries
	for _, a := range b.appends {
		if len(a.entries) > 0 {
			all = append(slices.Clip(all), a.entries...)
		}
	}
	return all
}

// split divides the runs into plain completions and others.
func (b *batch) split(runs []*Run) (plain, others []*Run) {
	for _, r := range runs {
		if r.isPlain() {
			plain = append(plain, r)
		} else {
			others = append(others, r)
		}
	}
	return plain, others
}

// needsSlowPath reports whether a batch that was rolled back may go through the slow path.
func needsSlowPath(err error) bool {
	return pg.CodeOf(err) == pg.CodeRefused || pg.IsLockTimeout(err) || pg.IsData(err) || errors.Is(err, errTwins)
}

// applyFast writes the batch in one round trip. The statements take their locks in one order: lanes
// that are made, the node on which jobs start, the fences of journals, claim records, bodies.
// Pointers and unique keys follow; that they have no order is explained in doc.go.
func (s *Store) applyFast(ctx context.Context, b *batch) error {
	b.woken = Woken{}
	plain, others := b.split(b.runs)
	list := b.locks(others, b.sends, false)
	if len(b.checkpoints) > 0 {
		list = append(list, checkpoints(b.checkpoints, b.now))
	}
	if len(b.appends) > 0 {
		list = append(list, writing(b.appends, b.now)...)
	}
	list = append(list, b.woken.sendings(b.sends, b.now)...)
	list = append(list, fastEndings(plain, others, b.runs, b.now)...)
	list = append(list, saidBy(b.checkpoints, b.appends, b.runs).Writing()...)
	_, n := receivers(b.sends)
	n.AddRuns(others)
	list = append(list, b.woken.waking(n, b.now)...)
	var simple []*Entry
	b.unique = nil
	entries := b.newEntries()
	for _, e := range entries {
		if e.hasKey() {
			b.unique = append(b.unique, e)
		} else {
			simple = append(simple, e)
		}
	}
	starting, waiting := b.startable(simple)
	started := false
	if len(waiting) > 0 {
		enqueue := pg.Statement{Name: "enqueue", Args: enqueueArgs(waiting, b.now, false)}
		if slices.ContainsFunc(waiting, (*Entry).MayWait) {
			list = append(list, pg.WaitAtMost(b.patience.wait), enqueue, pg.WaitAtMost(Briefly))
		} else {
			list = append(list, enqueue)
		}
	}
	if len(starting) > 0 {
		list = append(list, s.starts(b, starting, &started))
	}
	b.won, b.met = make([]bool, len(b.unique)), make([]*keys.Obstacle, len(b.unique))
	if len(b.unique) > 0 {
		if hasTwins(b.unique) {
			return errTwins
		}
		list = append(list, b.enqueueUnique()...)
	}
	list = append(list, s.newQueues(entries, b.now)...)
	list = append(list, attributesAhead(simple, b.unique, b.now)...)
	if err := s.SendSticky(ctx, &s.Writing, list...); err != nil {
		return err
	}
	for _, e := range simple {
		e.stored(b.now)
	}
	if started {
		b.settleStarted(starting)
	}
	return nil
}

// enqueueUnique returns the statements for the enqueues with keys. They note which were stored, and
// what the others met.
func (b *batch) enqueueUnique() []pg.Statement {
	var asking []pg.Statement
	b.unique, asking = obstacles(b.unique, b.now, true, b.met)
	list := append([]pg.Statement{pg.WaitAtMost(b.patience.wait)}, carefully(b.unique, b.now, func(place int64) { b.won[place-1] = true })...)
	return append(append(list, asking...), pg.WaitAtMost(Briefly))
}

// settleUnique says what became of the enqueues with keys: each was stored, or yields to what it
// met.
func (b *batch) settleUnique(ctx context.Context) {
	for i, e := range b.unique {
		switch {
		case b.won[i]:
			e.stored(b.now)
		case b.met[i] == nil:
			e.changedHands()
		default:
			if _, err := e.yield(*b.met[i]); err != nil {
				e.Err = pg.Classify(ctx, "enqueue job "+e.Job.ID.String(), err)
			}
		}
	}
}

// hasTwins reports whether two enqueues have one id.
func hasTwins(entries []*Entry) bool {
	seen := make(map[store.ID]bool, len(entries))
	for _, e := range entries {
		if seen[e.Job.ID] {
			return true
		}
		seen[e.Job.ID] = true
	}
	return false
}

// locks are the statements that come before all others, and take what several of the others need:
// of claim records always if the way is the slow one, which locks other things in between.
func (b *batch) locks(others []*Run, sends []*store.Send, slow bool) []pg.Statement {
	var list []pg.Statement
	if bound := bindLanes(others, pg.DayOf(b.now)); bound != nil {
		list = append(list, *bound)
	}
	if b.start != nil && b.starting > 0 && len(b.checkpoints)+len(b.appends)+len(b.runs) > 0 {
		// The jobs are enqueued last, so that they see what the batch makes available. A Leave
		// takes the node before its leases.
		list = append(list, pg.Statement{Name: "node_keep", Args: []any{b.start.Node}})
	}
	if len(b.appends) > 0 {
		list = append(list, fence(b.appends))
	}
	bodies, _ := receivers(sends)
	closed, _ := closing(b.appends)
	bodies = append(bodies, closed...)
	bodies = append(bodies, saidBy(b.checkpoints, b.appends, nil).Jobs()...)
	for _, r := range others {
		if r.needsBody() {
			bodies = append(bodies, pg.UUIDOf(r.Lease.Job))
		}
	}
	var told WakeCandidates
	told.addAnswers(others)
	bodies = append(bodies, told.jobs...)
	touched := len(bodies)+len(told.Children) > 0
	// Two batches that lock the same records in two statements each could wait for each other, or
	// for one that has locked a body.
	locking := min(len(b.checkpoints), 1) + min(len(others), 1) + min(len(b.runs)-len(others), 1)
	if locking > 1 || locking > 0 && (touched || slow) {
		list = append(list, b.lockClaims())
	}
	if touched && !slow { // the slow path takes what it can get
		list = append(list, pg.WaitAtMost(Briefly), lockBodies(bodies, told.Children))
	}
	return list
}

func (b *batch) lockClaims() pg.Statement {
	type record struct{ node, number int64 }
	seen := map[record]bool{}
	var nodes, records []int64
	add := func(l store.Lease) {
		if r := (record{l.Node, l.Claim}); !seen[r] {
			seen[r] = true
			nodes, records = append(nodes, r.node), append(records, r.number)
		}
	}
	for _, c := range b.checkpoints {
		add(c.Lease)
	}
	for _, r := range b.runs {
		add(r.Lease)
	}
	return pg.Statement{Name: "lock_claims", Args: []any{nodes, records}}
}

// settle passes on what became of the batch: after the commit of the fast path (quick), and as the
// last step before that of the slow one, which looks then whether anything was refused.
func (b *batch) settle(ctx context.Context, quick bool) {
	if quick {
		b.settleUnique(ctx)
	}
	b.woken.settleRuns(b.runs)
	for _, r := range b.twins {
		if r.Final == 0 {
			r.Final = r.twin.Final
		}
	}
	for _, r := range slices.Concat(b.runs, b.twins, b.invalid) {
		if quick || r.outcome.Err == nil {
			r.settle()
		}
	}
	for _, c := range b.checkpoints {
		if quick {
			c.Err = nil
		}
	}
	if quick {
		b.settleSends()
	}
	b.settleCheckpoints()
}

// settleSends tells the sends that woke their jobs. A job that has parked in this very batch was
// woken by its own look.
func (b *batch) settleSends() {
	by := b.woken
	for _, r := range b.runs {
		if _, ok := by[r.Lease.Job]; ok && r.wait != nil && !r.known && r.Final != 0 {
			by = maps.Clone(by)
			delete(by, r.Lease.Job)
		}
	}
	by.settleSends(b.sends)
}

// places are the earliest places of each lane at which the batch put jobs into ready.
func (b *batch) places() map[int32]int64 {
	moved := local.NewMoved()
	for _, e := range b.allEntries() {
		if e.Err == nil && e.Result.State == store.Available && e.Job.OrderingKey == "" {
			moved.Place(e.Lane.ID, e.RunAt)
		}
		if at := e.Result.RunAt.UnixMicro(); e.Err == nil && e.Result.Replaced && at <= b.now {
			moved.Place(e.replaced, at)
		}
	}
	for _, r := range b.runs {
		if r.Final == store.Available {
			moved.Place(r.Lane, r.FinalRunAt)
		}
	}
	for _, job := range b.woken {
		moved.Place(job.Lane, b.now)
	}
	return moved.Places
}

// touchesKeys reports whether turns of ordering keys may have to be handed on.
func (b *batch) touchesKeys() bool {
	for _, r := range b.runs {
		if r.frees() {
			return true
		}
	}
	for _, e := range b.allEntries() {
		if (e.InLine(b.now) || e.Result.Replaced) && e.Err == nil { // the job that was replaced may have a key
			return true
		}
	}
	return false
}

// errTwins sends a batch the slow path without a round trip.
var errTwins = errors.New("two enqueues have one id")
