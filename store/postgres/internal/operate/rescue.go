package operate

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/limits"
	"github.com/holdfastdev/holdfast/store/postgres/internal/locks"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/read"
	"github.com/holdfastdev/holdfast/store/postgres/internal/write"
)

// heldRun is a run whose node will not end it.
type heldRun struct {
	*write.Run
	job  store.Job
	body bool // the job is there
	busy bool // a caller's transaction has what its end needs
}

// rescue is what takes the jobs of dead nodes, and of leases that were given up.
type rescue struct {
	store        *Store
	limit        int32
	node, record int64 // the last record that was looked at
	policies     map[int64]map[string]store.Policy
	queues       limits.Queues

	died    []int64 // nodes that were declared dead before
	rescued []store.RescuedJob
	woken   write.Woken
	freed   bool
}

// claimRecords is how many claim records are given back in one statement.
const claimRecords = 100

// silentFor is how long a connection of ours may be silent in the middle of a transaction before it
// is ended, because it keeps a node from being declared dead that has not beaten for longer than
// that.
const silentFor = 10 * time.Second

// heldRuns reads what nodes still hold, by one of the statements slots_of_…, which lock the
// records, and locks the bodies that it needs and can have. Only then it asks what decides over the
// jobs: until then a caller's transaction may have written their journals.
func (s *Store) heldRuns(ctx context.Context, t pg.Session, statement string, args ...any) ([]*heldRun, error) {
	var held []*heldRun
	var ids []store.ID
	err := t.Run(ctx, statement, func(r pg.Row) error {
		h := &heldRun{Run: &write.Run{}}
		l := &h.Lease
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
	parents, err := locks.ParentsOf(ctx, t, ids)
	if err != nil {
		return nil, err
	}
	for _, parent := range parents {
		ids = append(ids, parent)
	}
	busy, err := locks.Grab(ctx, t, ids)
	if err != nil {
		return nil, err
	}
	s.Blocked.AddBodies(slices.DeleteFunc(ids, func(id store.ID) bool { return !busy[id] }))
	for _, h := range held {
		h.Parent = parents[h.Lease.Job]
		h.busy = busy[h.Lease.Job] || busy[h.Parent]
	}
	return held, s.describeHeld(ctx, t, held)
}

// describeHeld reads what decides over the jobs of runs.
func (s *Store) describeHeld(ctx context.Context, t pg.Session, held []*heldRun) error {
	ids := make([]store.ID, len(held))
	for i, h := range held {
		ids[i] = h.Lease.Job
	}
	var lanes []int32
	err := t.Run(ctx, "held_jobs", func(r pg.Row) error {
		var (
			place       int64
			b           pg.Body
			wrote       *int64
			ends        bool // the journal says how the job ends
			hasChildren bool
		)
		err := r.Scan(&place, &b.Lane, &b.RunAt, &b.CreatedAt, &b.Attempt, &b.MaxAttempts, &b.Options, &b.OrderingKey,
			&b.Parent, &b.Link, &b.Closing, &wrote, &ends, &hasChildren)
		if err != nil {
			return err
		}
		h := held[place-1]
		h.body, h.Lane = true, b.Lane
		lanes = append(lanes, b.Lane)
		b.Lease = h.Lease.Number
		b.Attempt++
		h.job, err = b.Job(h.Lease.Job)
		h.Answers = h.job.Answers
		if wrote != nil {
			h.Traits |= pg.TraitDurable | pg.TraitCancelSeen
		}
		if wrote != nil && *wrote == h.Lease.Number || ends {
			h.Traits |= pg.TraitFree
			h.job.Attempt--
		}
		if hasChildren {
			h.Traits |= pg.TraitChildren
		}
		return err
	}, pg.UUIDsOf(ids))
	if err != nil {
		return err
	}
	if err := s.KnowLanes(ctx, lanes); err != nil {
		return err
	}
	for _, h := range held {
		if h.body {
			if err := s.Describe(&h.job, h.Lane); err != nil {
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
func (s *Store) endHeld(ctx context.Context, t pg.Session, held []*heldRun, now int64) (write.Woken, error) {
	var runs []*write.Run
	slices.SortFunc(held, func(a, b *heldRun) int {
		return cmp.Or(cmp.Compare(a.Lease.Node, b.Lease.Node), bytes.Compare(a.Lease.Job[:], b.Lease.Job[:]))
	})
	for i, h := range held {
		switch h.Place = i; {
		case h.busy:
		case h.body:
			runs = append(runs, h.Run)
		default:
			if err := t.Run(ctx, "slot_drop", nil, h.Lease.Node, h.Lease.Claim, int32(h.Lease.Slot)); err != nil {
				return nil, err
			}
		}
	}
	w := write.Woken{}
	if len(runs) == 0 {
		return w, nil
	}
	list := func(runs ...*write.Run) []pg.Statement {
		var n write.WakeCandidates
		n.AddRuns(runs)
		list := write.Endings(runs, runs, false, now)
		if !n.IsEmpty() {
			list = append(list, w.Wake(n, now))
		}
		return list
	}
	err := t.Attempt(ctx, func(t pg.Session) error { return t.RunAll(ctx, list(runs...)) })
	if pg.IsData(err) {
		clear(w)
		one := func(r *write.Run) []pg.Statement { return list(r) }
		err = write.EndEach(ctx, t, runs, one, pg.IsData, func(*write.Run, error) {})
	}
	for _, r := range runs {
		if r.Final == store.Available {
			w[r.Lease.Job] = write.WokenJob{Lane: r.Lane}
		}
	}
	return w, err
}

// Rescue is that of store.Maintenance, without the class of its error.
func (s *Store) Rescue(ctx context.Context, params store.RescueParams) (store.Rescued, error) {
	if len(params.Lost) > 0 {
		return s.giveUp(ctx, params.Lost)
	}
	dead, err := s.declareDead(ctx, params.Dead)
	if err != nil {
		return store.Rescued{Died: dead.died}, err
	}
	rescue := rescue{store: s, limit: int32(params.Limit), policies: map[int64]map[string]store.Policy{}, died: dead.died}
	if rescue.limit <= 0 {
		rescue.limit = claimRecords
	}
	for again := dead.jobs; again; {
		err := pg.RetryOnConflict(ctx, func() (err error) {
			again, err = rescue.some(ctx)
			return err
		})
		if err != nil {
			return store.Rescued{Died: dead.died}, err
		}
	}
	rescued := rescue.answer(ctx)
	if dead.slots {
		err = s.sweepSlots(ctx, &rescued)
	}
	return rescued, err
}

// sweepSlots takes back the slots of limits that dead nodes hold for no job any more.
func (s *Store) sweepSlots(ctx context.Context, rescued *store.Rescued) error {
	before := rescued.Wakes
	return pg.RetryOnConflict(ctx, func() error {
		rescued.Wakes = slices.Clone(before)
		return s.Send(ctx, limits.Sweep(&rescued.Wakes))
	})
}

// dying is what declareDead has found.
type dying struct {
	died  []int64
	jobs  bool // a dead node may hold jobs
	slots bool // or slots of limits
}

// declareDead marks nodes as dead, and tells which it has marked, and whether a dead node may hold
// something. A node that cannot be marked is at work, or its machine has vanished in the middle of
// a transaction, whose connection is ended then.
func (s *Store) declareDead(ctx context.Context, dead []store.NodeBeat) (found dying, err error) {
	ids, beats := make([]int64, len(dead)), make([]int64, len(dead))
	for i, d := range dead {
		ids[i], beats[i] = d.Node, d.At.UnixMicro()
	}
	for try := 0; ; try++ {
		var wanted int64
		var now []int64
		die := pg.Statement{Name: "nodes_die", Args: []any{ids, beats, s.Injected()}, Each: func(r pg.Row) error {
			return r.Scan(&wanted, &now, &found.jobs, &found.slots)
		}}
		err = pg.RetryOnConflict(ctx, func() error { return s.Send(ctx, die) })
		if err == nil {
			found.died = append(found.died, now...)
		}
		if err != nil || int64(len(now)) >= wanted || try > 0 {
			return found, err
		}
		// Few may end the connections of others; then it is up to the server when they go.
		_ = s.Send(ctx, s.EndSilent(silentFor))
	}
}

// EndSilent is the statement that ends connections of nodes of this schema.
func (s *Store) EndSilent(since time.Duration) pg.Statement {
	args := []any{since.Seconds(), pg.ApplicationName(s.SchemaName)}
	return pg.Statement{Name: "end_silent", Args: args, Each: func(pg.Row) error { return nil }}
}

// some takes the jobs of some records, in one transaction. It tells whether there are more to look
// at although nothing was taken: records whose jobs are all busy do not hold up the others.
func (r *rescue) some(ctx context.Context) (again bool, err error) {
	held, err := r.take(ctx, func(t pg.Session) ([]*heldRun, error) {
		return r.store.heldRuns(ctx, t, "slots_of_dead", r.limit, r.node, r.record)
	})
	if err != nil || len(held) == 0 {
		return false, err
	}
	for _, h := range held {
		if cmp.Or(cmp.Compare(h.Lease.Node, r.node), cmp.Compare(h.Lease.Claim, r.record)) > 0 {
			r.node, r.record = h.Lease.Node, h.Lease.Claim
		}
	}
	return len(r.rescued) == 0, nil
}

// take ends the runs that find finds, in one transaction, as their nodes have promised.
func (r *rescue) take(ctx context.Context, find func(t pg.Session) ([]*heldRun, error)) (held []*heldRun, err error) {
	s := r.store
	var w write.Woken
	err = s.InTx(ctx, pg.BeginHot, func(t pg.Session) (err error) {
		if held, err = find(t); err != nil || len(held) == 0 {
			return err
		}
		if err := cmp.Or(r.queues.Learn(ctx, t), r.learn(ctx, t, held)); err != nil {
			return err
		}
		now := s.Micros()
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
		if h.Final == 0 {
			continue
		}
		r.freed = r.freed || h.Final.Finished() && h.job.OrderingKey != ""
		r.rescued = append(r.rescued, store.RescuedJob{
			Job: h.Lease.Job, Namespace: h.job.Namespace, Kind: h.job.Kind, Node: h.Lease.Node, State: h.Final, Reason: h.FinalReason,
			Queue: h.job.Queue, RunAt: pg.TimeOf(h.FinalRunAt),
		})
	}
	return held, nil
}

// answer is what the rescue took, and what nodes are to be told of.
func (r *rescue) answer(ctx context.Context) store.Rescued {
	wakes := r.store.AfterCommit(ctx, r.woken, r.freed)
	for _, j := range r.rescued {
		if j.State == store.Retryable {
			wakes = store.AddWake(wakes, store.Wake{Kind: store.WakeDeferred, Due: j.RunAt})
		}
	}
	return store.Rescued{Jobs: r.rescued, Died: r.died, Wakes: wakes}
}

// decide says what becomes of a job whose run is lost, as its node has promised.
func (r *rescue) decide(h *heldRun, now int64) {
	h.State, h.Reason = store.Failed, string(store.ReasonCrashLoop)
	h.Traits |= pg.TraitLost
	if !h.body {
		return
	}
	if delay, retry := r.policies[h.Lease.Node][h.job.Kind].In(r.queues.Of(&h.job)).Lost(&h.job); retry {
		h.State, h.Reason, h.RunAt = store.Retryable, string(store.ReasonNodeLost), now+max(delay, 0).Microseconds()
	}
}

// learn reads what the nodes of the runs have promised. What this program cannot read, because a
// later one has written it, was not promised: no job waits for a program that can.
func (r *rescue) learn(ctx context.Context, t pg.Session, held []*heldRun) error {
	var unknown []int64
	for _, h := range held {
		if _, ok := r.policies[h.Lease.Node]; !ok && !slices.Contains(unknown, h.Lease.Node) {
			unknown = append(unknown, h.Lease.Node)
		}
	}
	if unknown == nil {
		return nil
	}
	return t.Run(ctx, "node_infos", func(row pg.Row) error {
		var node int64
		var text []byte
		err := row.Scan(&node, &text)
		r.policies[node] = read.NodeInfoOf(text).Policies
		return err
	}, unknown)
}

// giveUp takes the jobs of leases of which their node says that none of its runs has them, as a
// rescue would if the node were dead. Since it lives, what is being written to journals under its
// leases comes first, as when a job is terminated: what was accepted counts for the job.
func (s *Store) giveUp(ctx context.Context, lost []store.Lease) (store.Rescued, error) {
	lost = slices.DeleteFunc(slices.Clone(lost), func(l store.Lease) bool { return !write.IsPossible(l) })
	if len(lost) == 0 {
		return store.Rescued{}, nil
	}
	var owners []int64
	for _, l := range lost {
		owners = append(owners, l.Node)
	}
	slices.Sort(owners)
	owners = slices.Compact(owners)
	nodes, records, slots, ids, numbers := write.LeaseArgs(len(lost), func(i int) store.Lease { return lost[i] })

	rescue := rescue{store: s, policies: map[int64]map[string]store.Policy{}}
	err := pg.RetryOnConflict(ctx, func() error {
		_, err := rescue.take(ctx, func(t pg.Session) ([]*heldRun, error) {
			if err := t.Run(ctx, "fence_out", nil, owners); err != nil {
				return nil, err
			}
			return s.heldRuns(ctx, t, "slots_of_leases", nodes, records, slots, ids, numbers)
		})
		return err
	})
	if err != nil {
		return store.Rescued{}, err
	}
	return rescue.answer(ctx), nil
}
