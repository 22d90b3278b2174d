package postgres

import (
	"context"
	"errors"
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// batch is a store.Batch on its way.
type batch struct {
	now         int64
	checkpoints []*store.CheckpointWrite // the last one of each lease
	replaced    map[*store.CheckpointWrite]*store.CheckpointWrite
	runs        []*run // the first one of each lease
	twins       []*run // later ones, that are repeated
	invalid     []*run
	entries     []*entry
	careful     bool // the quick way cannot answer it
	waited      bool // for a unique key that another transaction has taken, and in vain

	// What the quick way found of the entries with unique keys.
	unique []*entry
	won    []bool
	met    []*obstacle
}

// Apply implements store.Writer. It is done in one round trip of a few statements that assume that all is well: every lease lives,
// every id is new. If one finds something else nothing has happened, and the batch is done again the careful way, which
// asks first and then writes what can be written.
func (s *Store) Apply(ctx context.Context, in *store.Batch) error {
	return classify(ctx, "apply", s.apply(ctx, in))
}

func (s *Store) apply(ctx context.Context, in *store.Batch) error {
	b := &batch{now: s.now()}
	b.take(in)
	var err error
	if b.entries, err = s.entriesOf(ctx, in.Enqueues, b.now, false); err != nil {
		return err
	}
	if len(b.checkpoints)+len(b.runs)+len(b.twins)+len(b.invalid)+len(b.entries) == 0 {
		return nil
	}
	quick := false
	if !b.careful {
		err = patiently(ctx, func() error { return s.applyQuickly(ctx, b) })
		quick = err == nil
	}
	if b.careful || needsCare(err) {
		b.waited = codeOf(err) == codeLockTimeout
		err = patiently(ctx, func() error { return s.applyCarefully(ctx, b) })
	}
	if err != nil {
		return err
	}
	if quick {
		s.finishUnique(ctx, b)
	}
	b.settle(quick)
	s.lanes.setUsed(usedNow(b.entries))
	if b.touchesKeys() {
		// Promotion does it otherwise, so an error costs a little time at the most.
		_ = s.handOnAfterCommit(ctx)
	}
	return nil
}

// take sorts out what cannot be applied whatever the database says.
func (b *batch) take(in *store.Batch) {
	possible := make([]*store.CheckpointWrite, 0, len(in.Checkpoints))
	for _, c := range in.Checkpoints {
		if c.Err = nil; isPossible(c.Lease) {
			possible = append(possible, c)
		} else {
			c.Err = store.ErrLeaseLost
		}
	}
	b.checkpoints, b.replaced = lastOfEach(possible)
	first := make(map[store.Lease]*run, len(in.Outcomes))
	for _, o := range in.Outcomes {
		o.Final, o.Err = 0, nil
		r := runOf(o, b.now)
		switch before := first[o.Lease]; {
		case !isPossible(o.Lease), before != nil && !o.Repeat:
			o.Err = store.ErrLeaseLost
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
		b.careful = b.careful || o.Repeat || r.invalid != nil
	}
}

// split divides the runs into plain completions and others.
func (b *batch) split(runs []*run) (plain, others []*run) {
	for _, r := range runs {
		if r.isPlain() {
			plain = append(plain, r)
		} else {
			others = append(others, r)
		}
	}
	return plain, others
}

// needsCare reports whether a batch that was rolled back may go through the careful way.
func needsCare(err error) bool {
	code := codeOf(err)
	return code == codeRefused || code == codeLockTimeout || isData(err) || errors.Is(err, errTwins)
}

func (s *Store) applyQuickly(ctx context.Context, b *batch) error {
	var list []statement
	if len(b.checkpoints) > 0 {
		list = append(list, checkpoints(b.checkpoints, b.now))
	}
	plain, others := b.split(b.runs)
	if len(plain) > 0 {
		list = append(list, complete(plain, b.now))
	}
	if len(others) > 0 {
		list = append(list, conclude(others, true, b.now))
	}
	if len(list) > 1 {
		// Two batches that lock the same records in two statements each could wait for each other.
		list = append([]statement{b.lockClaims()}, list...)
	}
	var simple []*entry
	b.unique = nil
	for _, e := range b.entries {
		if len(e.Job.UniqueKey) == 0 {
			simple = append(simple, e)
		} else {
			b.unique = append(b.unique, e)
		}
	}
	if len(simple) > 0 {
		list = append(list, statement{name: "enqueue", args: enqueueArgs(simple, b.now, false)})
	}
	b.won, b.met = make([]bool, len(b.unique)), make([]*obstacle, len(b.unique))
	if len(b.unique) > 0 {
		if hasTwins(b.unique) {
			return errTwins
		}
		list = append(list, statement{name: "enqueue_careful", args: enqueueArgs(b.unique, b.now, true), each: func(r row) error {
			var place int64
			if err := r.Scan(&place); err != nil {
				return err
			}
			b.won[place-1] = true
			return nil
		}}, statement{name: "enqueue_obstacles", args: obstacleArgs(b.unique), each: func(r row) error {
			o, err := scanObstacle(r)
			if err == nil {
				b.met[o.place-1] = &o
			}
			return err
		}})
	}
	list = append(list, s.newQueues(b.entries, b.now)...)
	if err := s.send(ctx, list...); err != nil {
		return err
	}
	for _, e := range simple {
		e.stored(b.now)
	}
	return nil
}

// finishUnique settles enqueues with unique keys after their transaction: those that replace the holder, and those whose
// holder let go meanwhile, get a transaction of their own. The batch has been committed, so if that fails it fails alone.
func (s *Store) finishUnique(ctx context.Context, b *batch) {
	var rest []*entry
	for i, e := range b.unique {
		switch {
		case b.won[i]:
			e.stored(b.now)
		case b.met[i] == nil:
			rest = append(rest, e)
		default:
			if done, err := e.yield(*b.met[i]); err != nil {
				e.Err = classify(ctx, "enqueue job "+e.Job.ID.String(), err)
			} else if !done {
				rest = append(rest, e)
			}
		}
	}
	if rest == nil {
		return
	}
	err := patiently(ctx, func() error {
		return s.inTx(ctx, beginHot, func(t session) error { return s.enqueueEach(ctx, t, rest, b.now) })
	})
	if err != nil {
		for _, e := range rest {
			e.Result, e.Err = store.EnqueueResult{}, classify(ctx, "enqueue job "+e.Job.ID.String(), err)
		}
	}
}

// hasTwins reports whether two enqueues have one id.
func hasTwins(entries []*entry) bool {
	seen := make(map[store.ID]bool, len(entries))
	for _, e := range entries {
		if seen[e.Job.ID] {
			return true
		}
		seen[e.Job.ID] = true
	}
	return false
}

func (b *batch) lockClaims() statement {
	type record struct{ node, seq int64 }
	seen := map[record]bool{}
	var nodes, seqs []int64
	add := func(l store.Lease) {
		if r := (record{l.Node, l.Claim}); !seen[r] {
			seen[r] = true
			nodes, seqs = append(nodes, r.node), append(seqs, r.seq)
		}
	}
	for _, c := range b.checkpoints {
		add(c.Lease)
	}
	for _, r := range b.runs {
		add(r.lease)
	}
	return statement{name: "lock_claims", args: []any{nodes, seqs}}
}

func (s *Store) applyCarefully(ctx context.Context, b *batch) error {
	return s.inTx(ctx, beginHot, func(t session) error {
		if err := s.writeCheckpoints(ctx, t, b); err != nil {
			return err
		}
		if err := s.endRuns(ctx, t, b); err != nil {
			return err
		}
		if len(b.entries) == 0 {
			return nil
		}
		if b.waited {
			if err := t.exec(ctx, "SET LOCAL lock_timeout = '50ms'"); err != nil {
				return err
			}
		}
		return s.enqueueEach(ctx, t, b.entries, b.now)
	})
}

func (s *Store) writeCheckpoints(ctx context.Context, t session, b *batch) error {
	if len(b.checkpoints) == 0 {
		return nil
	}
	live, err := liveLeases(ctx, t, len(b.checkpoints), func(i int) store.Lease { return b.checkpoints[i].Lease })
	if err != nil {
		return err
	}
	var writes []*store.CheckpointWrite
	for i, c := range b.checkpoints {
		if c.Err = nil; live[i] {
			writes = append(writes, c)
		} else {
			c.Err = store.ErrLeaseLost
		}
	}
	write := func(writes []*store.CheckpointWrite) error {
		st := checkpoints(writes, b.now)
		return t.attempt(ctx, func(t session) error { return t.run(ctx, st.name, st.each, st.args...) })
	}
	if len(writes) == 0 {
		return nil
	}
	if err := write(writes); !isData(err) {
		return err
	}
	for _, c := range writes {
		if err := write([]*store.CheckpointWrite{c}); isData(err) {
			c.Err = classify(ctx, "write a checkpoint", err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) endRuns(ctx context.Context, t session, b *batch) error {
	for _, r := range slices.Concat(b.runs, b.twins, b.invalid) {
		r.final, r.outcome.Err = 0, nil
	}
	if len(b.invalid) > 0 {
		live, _, err := liveRuns(ctx, t, b.invalid)
		if err != nil {
			return err
		}
		for _, r := range live {
			r.outcome.Err = r.invalid
		}
	}
	if len(b.runs) == 0 {
		return nil
	}
	live, lost, err := liveRuns(ctx, t, b.runs)
	if err != nil {
		return err
	}
	for _, r := range b.twins {
		if slices.Contains(lost, r.twin) {
			lost = append(lost, r)
		}
	}
	if err := recognise(ctx, t, lost); err != nil {
		return err
	}
	end := func(st statement, runs []*run) error {
		err := t.attempt(ctx, func(t session) error { return t.run(ctx, st.name, st.each, st.args...) })
		if !isData(err) {
			return err
		}
		return concludeEach(ctx, t, runs, true, b.now, func(r *run, err error) {
			r.outcome.Err = classify(ctx, "end a run", err)
		})
	}
	plain, others := b.split(live)
	if len(plain) > 0 {
		if err := end(complete(plain, b.now), plain); err != nil {
			return err
		}
	}
	if len(others) > 0 {
		return end(conclude(others, true, b.now), others)
	}
	return nil
}

// enqueueEach enqueues together, and if that fails because of one of them, one by one behind savepoints.
func (s *Store) enqueueEach(ctx context.Context, t session, entries []*entry, now int64) error {
	enqueue := func(entries []*entry) error {
		return t.attempt(ctx, func(t session) error { return s.enqueueCarefully(ctx, t, entries, now) })
	}
	blocked := func(err error) bool { return isData(err) || codeOf(err) == codeLockTimeout }
	note := func() error {
		for _, st := range s.newQueues(entries, now) {
			if err := t.run(ctx, st.name, nil, st.args...); err != nil {
				return err
			}
		}
		return nil
	}
	if err := enqueue(entries); err == nil {
		return note()
	} else if !blocked(err) {
		return err
	}
	for _, e := range entries {
		e.Result, e.Err = store.EnqueueResult{}, nil
		err := enqueue([]*entry{e})
		switch {
		case err == nil:
		case blocked(err):
			e.Result = store.EnqueueResult{}
			e.Err = classify(ctx, "enqueue job "+e.Job.ID.String(), err)
			if codeOf(err) == codeLockTimeout {
				// The rest of the batch has waited long enough.
				if err := t.exec(ctx, "SET LOCAL lock_timeout = '10ms'"); err != nil {
					return err
				}
			}
		default:
			return err
		}
	}
	return note()
}

// settle passes on what became of the batch, after the commit.
func (b *batch) settle(quick bool) {
	for _, r := range b.twins {
		if r.final == 0 {
			r.final = r.twin.final
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
	for c, last := range b.replaced {
		c.Err = last.Err
	}
}

// touchesKeys reports whether turns of ordering keys may have to be handed on.
func (b *batch) touchesKeys() bool {
	for _, r := range b.runs {
		if r.frees() {
			return true
		}
	}
	for _, e := range b.entries {
		if e.inLine(b.now) && e.Err == nil {
			return true
		}
	}
	return false
}

// errTwins sends a batch the careful way without a round trip.
var errTwins = errors.New("two enqueues have one id")
