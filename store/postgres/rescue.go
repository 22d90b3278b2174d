package postgres

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
)

// claimRecords is how many claim records are given back in one statement.
const claimRecords = 100

// silentFor is how long a connection of ours may be silent in the middle of a transaction before it is ended, because it keeps a node from
// being declared dead that has not beaten for longer than that.
const silentFor = 10 * time.Second

// heldRuns reads what nodes still hold, by one of the statements slots_of_…, which lock the
// records, and locks the bodies that it needs and can have. Only then it asks what decides over the
// jobs: until then a caller's transaction may have written their journals.
func (s *operateStore) heldRuns(ctx context.Context, t session, statement string, args ...any) ([]*heldRun, error) {
	var held []*heldRun
	var ids []store.ID
	err := t.run(ctx, statement, func(r row) error {
		h := &heldRun{run: &run{}}
		l := &h.lease
		var id pgtype.UUID
		var slot int64
		err := r.Scan(&l.Node, &l.Claim, &slot, &id, &l.Number)
		l.Slot, l.Job = int(slot), id.Bytes
		held, ids = append(held, h), append(ids, l.Job)
		return err
	}, args...)
	if err != nil || len(held) == 0 {
		return nil, err
	}
	parents, err := parentsOf(ctx, t, ids)
	if err != nil {
		return nil, err
	}
	for _, parent := range parents {
		ids = append(ids, parent)
	}
	busy, err := grab(ctx, t, ids)
	if err != nil {
		return nil, err
	}
	s.blocked.addBodies(slices.DeleteFunc(ids, func(id store.ID) bool { return !busy[id] }))
	for _, h := range held {
		h.parent = parents[h.lease.Job]
		h.busy = busy[h.lease.Job] || busy[h.parent]
	}
	return held, s.describeHeld(ctx, t, held)
}

// describeHeld reads what decides over the jobs of runs.
func (s *operateStore) describeHeld(ctx context.Context, t session, held []*heldRun) error {
	ids := make([]store.ID, len(held))
	for i, h := range held {
		ids[i] = h.lease.Job
	}
	var lanes []int32
	err := t.run(ctx, "held_jobs", func(r row) error {
		var (
			place       int64
			b           body
			wrote       *int64
			hasChildren bool
		)
		err := r.Scan(&place, &b.lane, &b.runAt, &b.createdAt, &b.attempt, &b.maxAttempts, &b.options, &b.orderingKey,
			&b.parent, &b.link, &b.closing, &wrote, &hasChildren)
		if err != nil {
			return err
		}
		h := held[place-1]
		h.body, h.lane = true, b.lane
		lanes = append(lanes, b.lane)
		b.lease = h.lease.Number
		b.attempt++
		h.job, err = b.job(h.lease.Job)
		h.answers = h.job.Answers
		if wrote != nil {
			h.traits |= traitDurable | traitSeen
		}
		if wrote != nil && *wrote == h.lease.Number {
			h.traits |= traitFree
			h.job.Attempt--
		}
		if hasChildren {
			h.traits |= traitChildren
		}
		return err
	}, uuidsOf(ids))
	if err != nil {
		return err
	}
	if err := s.knowLanes(ctx, lanes); err != nil {
		return err
	}
	for _, h := range held {
		if h.body {
			if err := s.describe(&h.job, h.lane); err != nil {
				return err
			}
		}
	}
	return nil
}

// endHeld ends such runs, but for those that are busy: together, or, if that fails because of one
// of them, each on its own. What cannot be ended even so stays where it is; its final state stays
// 0. Parents are told in the order of their nodes and ids. It returns whom that woke, and those
// jobs that are available.
func (s *operateStore) endHeld(ctx context.Context, t session, held []*heldRun, now int64) (woken, error) {
	var runs []*run
	slices.SortFunc(held, func(a, b *heldRun) int {
		return cmp.Or(cmp.Compare(a.lease.Node, b.lease.Node), bytes.Compare(a.lease.Job[:], b.lease.Job[:]))
	})
	for i, h := range held {
		switch h.place = i; {
		case h.busy:
		case h.body:
			runs = append(runs, h.run)
		default:
			if err := t.run(ctx, "slot_drop", nil, h.lease.Node, h.lease.Claim, int32(h.lease.Slot)); err != nil {
				return nil, err
			}
		}
	}
	w := woken{}
	if len(runs) == 0 {
		return w, nil
	}
	list := func(runs ...*run) []statement {
		var n wakeCandidates
		n.addRuns(runs)
		list := endings(runs, runs, false, now)
		if !n.isEmpty() {
			list = append(list, w.wake(n, now))
		}
		return list
	}
	err := t.attempt(ctx, func(t session) error { return t.runAll(ctx, list(runs...)) })
	if isData(err) {
		clear(w)
		one := func(r *run) []statement { return list(r) }
		err = endEach(ctx, t, runs, one, isData, func(*run, error) {})
	}
	for _, r := range runs {
		if r.final == store.Available {
			w[r.lease.Job] = wokenJob{lane: r.lane}
		}
	}
	return w, err
}

// Rescue is that of store.Maintenance, without the class of its error.
func (s *operateStore) Rescue(ctx context.Context, params store.RescueParams) ([]store.Rescued, error) {
	if len(params.Lost) > 0 {
		return s.giveUp(ctx, params.Lost)
	}
	found, err := s.declareDead(ctx, params.Dead)
	if err != nil || !found {
		return nil, err
	}
	rescue := rescue{store: s, limit: int32(params.Limit), policies: map[int64]map[string]store.Policy{}}
	if rescue.limit <= 0 {
		rescue.limit = claimRecords
	}
	for again := true; again; {
		err := retryOnConflict(ctx, func() (err error) {
			again, err = rescue.some(ctx)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return rescue.tell(ctx), nil
}

// declareDead marks nodes as dead, and tells whether a dead node may hold something. A node that cannot be marked is at work, or its
// machine has vanished in the middle of a transaction, whose connection is ended then.
func (s *operateStore) declareDead(ctx context.Context, dead []store.NodeBeat) (found bool, err error) {
	ids, beats := make([]int64, len(dead)), make([]int64, len(dead))
	for i, d := range dead {
		ids[i], beats[i] = d.Node, d.At.UnixMicro()
	}
	for try := 0; ; try++ {
		var wanted, died int64
		die := statement{name: "nodes_die", args: []any{ids, beats, s.injected()}, each: func(r row) error {
			return r.Scan(&wanted, &died, &found)
		}}
		err = retryOnConflict(ctx, func() error { return s.send(ctx, die) })
		if err != nil || died >= wanted || try > 0 {
			return found, err
		}
		// Few may end the connections of others; then it is up to the server when they go.
		_ = s.send(ctx, s.endSilent(silentFor))
	}
}

// endSilent is the statement that ends connections of nodes of this schema.
func (s *operateStore) endSilent(since time.Duration) statement {
	args := []any{since.Seconds(), applicationName(s.SchemaName)}
	return statement{name: "end_silent", args: args, each: func(row) error { return nil }}
}

// some takes the jobs of some records, in one transaction. It tells whether there are more to look at although nothing was taken: records
// whose jobs are all busy hold up nobody.
func (r *rescue) some(ctx context.Context) (again bool, err error) {
	held, err := r.take(ctx, func(t session) ([]*heldRun, error) {
		return r.store.heldRuns(ctx, t, "slots_of_dead", r.limit, r.node, r.seq)
	})
	if err != nil || len(held) == 0 {
		return false, err
	}
	for _, h := range held {
		if cmp.Or(cmp.Compare(h.lease.Node, r.node), cmp.Compare(h.lease.Claim, r.seq)) > 0 {
			r.node, r.seq = h.lease.Node, h.lease.Claim
		}
	}
	return len(r.rescued) == 0, nil
}

// take ends the runs that find finds, in one transaction, as their nodes have promised.
func (r *rescue) take(ctx context.Context, find func(t session) ([]*heldRun, error)) (held []*heldRun, err error) {
	s := r.store
	var w woken
	err = s.inTx(ctx, beginHot, func(t session) (err error) {
		if held, err = find(t); err != nil || len(held) == 0 {
			return err
		}
		if err := r.learn(ctx, t, held); err != nil {
			return err
		}
		now := s.micros()
		for _, h := range held {
			r.decide(h, now)
		}
		w, err = s.endHeld(ctx, t, held, now)
		return err
	})
	if err != nil || len(held) == 0 {
		return nil, err
	}
	if r.woken = w; len(w) == 0 {
		r.woken = nil
	}
	for _, h := range held {
		if h.final == 0 {
			continue
		}
		r.freed = r.freed || h.final.Finished() && h.job.OrderingKey != ""
		r.rescued = append(r.rescued, store.Rescued{
			Job: h.lease.Job, Kind: h.job.Kind, Node: h.lease.Node, State: h.final, Reason: h.finalReason, Queue: h.job.Queue,
			RunAt: timeOf(h.finalRunAt),
		})
	}
	return held, nil
}

// tell passes on what the rescue made ready, and returns what it took.
func (r *rescue) tell(ctx context.Context) []store.Rescued {
	r.store.tellWoken(ctx, r.woken)
	if r.freed {
		_ = r.store.handOnAfterCommit(ctx) // promotion does it otherwise
	}
	return r.rescued
}

// decide says what becomes of a job whose run is lost, as its node has promised.
func (r *rescue) decide(h *heldRun, now int64) {
	h.state, h.reason = store.Failed, string(store.ReasonCrashLoop)
	if !h.body {
		return
	}
	if delay, retry := r.policies[h.lease.Node][h.job.Kind].Lost(&h.job); retry {
		h.state, h.reason, h.runAt = store.Retryable, string(store.ReasonNodeLost), now+max(delay, 0).Microseconds()
	}
}

// learn reads what the nodes of the runs have promised. What this program cannot read, because a later one
// has written it, was not promised: no job waits for a program that can.
func (r *rescue) learn(ctx context.Context, t session, held []*heldRun) error {
	var unknown []int64
	for _, h := range held {
		if _, ok := r.policies[h.lease.Node]; !ok && !slices.Contains(unknown, h.lease.Node) {
			unknown = append(unknown, h.lease.Node)
		}
	}
	if unknown == nil {
		return nil
	}
	return t.run(ctx, "node_infos", func(row row) error {
		var node int64
		var text []byte
		err := row.Scan(&node, &text)
		r.policies[node] = readInfo(text).Policies
		return err
	}, unknown)
}

// giveUp takes the jobs of leases of which their node says that nobody works on them, as a rescue
// would if the node were dead. Since it lives, whatever is being written to journals under its
// leases comes first, as when somebody terminates a job: what was accepted counts for the job.
func (s *operateStore) giveUp(ctx context.Context, lost []store.Lease) ([]store.Rescued, error) {
	lost = slices.DeleteFunc(slices.Clone(lost), func(l store.Lease) bool { return !isPossible(l) })
	if len(lost) == 0 {
		return nil, nil
	}
	var owners []int64
	for _, l := range lost {
		owners = append(owners, l.Node)
	}
	slices.Sort(owners)
	owners = slices.Compact(owners)
	nodes, seqs, slots, ids, numbers := leaseArgs(len(lost), func(i int) store.Lease { return lost[i] })

	rescue := rescue{store: s, policies: map[int64]map[string]store.Policy{}}
	err := retryOnConflict(ctx, func() error {
		_, err := rescue.take(ctx, func(t session) ([]*heldRun, error) {
			if err := t.run(ctx, "fence_out", nil, owners); err != nil {
				return nil, err
			}
			return s.heldRuns(ctx, t, "slots_of_leases", nodes, seqs, slots, ids, numbers)
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return rescue.tell(ctx), nil
}
