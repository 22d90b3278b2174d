package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// machine applies the same operations to the store under test and to the model, compares the answers, and after each
// operation the states. The operations are in actions.go; here is what they are checked with.
//
// It also checks, by looking at the store alone, what must hold whatever the model says: see invariants.
type machine struct {
	t     *rapid.T
	ctx   context.Context
	ids   *idSource
	clock *Clock
	seqs  int64

	store store.Store
	model *model.Store

	mode      mode
	namespace string

	nodes    []node
	jobs     []*known
	runs     []*run  // live and stale
	outcomes []sent  // that may be sent again
	appends  []noted // that may be sent again
	claims   []claim // that may be sent again
	begun    []begun // batches that may be sent again
	epoch    int64
	looks    int // how often the states were compared
	last     []store.Record
	sends    int // how many messages were sent

	// closed are jobs about whose end the words are the store's own, since it was that of their parent.
	closed map[store.ID]bool
}

// mode chooses what a sequence of operations may contain.
type mode struct {
	// keyed: jobs have ordering keys. When exactly a free key is handed on is the store's choice, so both sides are
	// promoted after each operation. Without keys, due jobs may stay unpromoted.
	keyed bool
	// lossy: requests and answers to the store are lost, and the caller repeats them. Answers that may differ then
	// (such as whether an enqueue was the first) are not compared; the states are.
	lossy bool
	// durable: jobs remember, wait, have children, and are paused, resumed and forked.
	durable bool
}

// node is one node as either side knows it.
type node struct {
	store, model int64
	alive        bool
	beats        []time.Time // all of its signs of life, the last one included
}

// known is what the machine knows of a job without asking the model.
type known struct {
	enqueue  store.Enqueue
	state    store.State // at the last look; 0 before the first
	lease    int64       // the highest lease number seen
	live     bool        // under a lease, as far as the answers said
	released bool        // seen in a state in which it does not hold its unique key
	retried  bool        // a person asked for it to run again since the last look
	removed  bool
	forked   bool        // from another job
	parent   bool        // has had children
	wait     *store.Wait // as it was parked last
	timeless bool        // finished while it waited
}

// run is a claimed job as either side knows it.
type run struct {
	job          *known
	store, model store.Claimed
	ended        bool // an outcome was accepted
}

// sent is an outcome that was sent, as it was before it had results.
type sent struct {
	run     *run
	outcome store.Outcome
}

// claim is a claim that was sent.
type claim struct {
	node   int
	params store.ClaimParams
	runs   []*run
}

// begun is a batch whose enqueues were to start, as it was sent but for what else was in it.
type begun struct {
	node  int
	batch *store.Batch
	runs  []*run // that it started
}

// pool keeps a store open for several checks, since opening one may cost more than a check. A check that failed leaves
// the store to itself, so that the next one, which tries to reproduce it, begins with a fresh one.
type pool struct {
	t     *testing.T
	open  Factory
	clock *Clock
	ids   *idSource
	store store.Store
	uses  int
}

func (p *pool) take() store.Store {
	taken := p.store
	p.store = nil
	if taken == nil {
		p.clock = NewClock()
		p.ids = &idSource{clock: p.clock}
		taken = p.open(p.t, p.clock)
	}
	p.uses++
	return taken
}

// newMachine starts a check, in a namespace of its own.
func newMachine(t *rapid.T, p *pool, mode mode) *machine {
	s := p.take()
	return &machine{
		t: t, ctx: p.t.Context(), ids: p.ids, clock: p.clock, mode: mode,
		store: s, model: model.New(p.clock.Now), namespace: fmt.Sprintf("check%d", p.uses),
		closed: map[store.ID]bool{},
	}
}

// must fails the check on an error of one of the sides.
func (m *machine) must(op string, errs ...error) {
	m.t.Helper()
	for i, err := range errs {
		if err != nil {
			m.t.Fatalf("%s failed on the %s: %v", op, [...]string{"store", "model"}[i], err)
		}
	}
}

// same compares an answer of the store with the model's.
func (m *machine) same(what string, got, want any, opts ...cmp.Option) {
	m.t.Helper()
	if diff := difference(want, got, opts...); diff != "" {
		m.t.Fatalf("%s differs (-model +store):\n%s", what, diff)
	}
}

// sameErr compares two errors by their class, and by who holds the key. A request that is invalid, and
// that could not have been met either, may be told the one or the other.
func (m *machine) sameErr(what string, got, want error) {
	m.t.Helper()
	if got != nil && want != nil && errors.Is(got, store.ErrInvalid) != errors.Is(want, store.ErrInvalid) {
		return
	}
	for _, class := range []error{
		store.ErrInvalid, store.ErrNotFound, store.ErrConflict, store.ErrLeaseLost, store.ErrNodeDead, store.ErrUnavailable,
		store.ErrBusy, store.ErrReadOnly, store.ErrFull, store.ErrSchema, store.ErrDatabaseGone, store.ErrClosed,
	} {
		if errors.Is(got, class) != errors.Is(want, class) {
			m.t.Fatalf("%s: the store says %v, the model says %v", what, got, want)
		}
	}
	if (got == nil) != (want == nil) {
		m.t.Fatalf("%s: the store says %v, the model says %v", what, got, want)
	}
	var gotKey, wantKey *store.UniqueError
	if errors.As(want, &wantKey) && (!errors.As(got, &gotKey) || gotKey.Holder != wantKey.Holder) {
		m.t.Fatalf("%s: the store says %v, the model says %v", what, got, want)
	}
}

// find returns what the machine knows of a job, or nil.
func (m *machine) find(id store.ID) *known {
	for _, k := range m.jobs {
		if k.enqueue.Job.ID == id {
			return k
		}
	}
	return nil
}

// place is the index of a node, which is the same on both sides as its ids are not; -1 for none.
func (m *machine) place(id int64, side func(node) int64) int64 {
	return int64(slices.IndexFunc(m.nodes, func(n node) bool { return side(n) == id }))
}

func storeSide(n node) int64 { return n.store }
func modelSide(n node) int64 { return n.model }

// tidy makes records of the two sides the same if they say the same: nodes by their index, leases without the place in
// the claim record, which is the store's choice. Times and empty slices are written in one way, so that most
// comparisons are quick ones.
func (m *machine) tidy(r store.Record, side func(node) int64) store.Record {
	if r.State != store.Running {
		r.Lease.Job = store.ID{}
	}
	for _, t := range []*time.Time{&r.CreatedAt, &r.RunAt, &r.ClaimedAt, &r.FinishedAt, &r.Options.Deadline} {
		*t = t.UTC()
	}
	if len(r.Tags) == 0 {
		r.Tags = nil
	}
	r.Lease.Claim, r.Lease.Slot = 0, 0
	if r.Lease.Node != 0 {
		r.Lease.Node = m.place(r.Lease.Node, side)
	}
	r.Attempts = slices.Clone(r.Attempts)
	for i := range r.Attempts {
		a := &r.Attempts[i]
		a.Node = m.place(a.Node, side)
		if a.StartedAt.IsZero() {
			a.Error, a.Trace = "", "" // nobody reported this run: the words are the store's
		}
	}
	if n := len(r.Attempts); n > 0 && r.Attempts[n-1].StartedAt.IsZero() {
		r.Error = ""
	}
	m.tidyDurable(&r)
	return r
}

// settle hands on free ordering keys on both sides, and makes available what is due.
func (m *machine) settle() {
	for _, s := range []store.Store{m.store, m.model} {
		for {
			promoted, err := s.Promote(m.ctx, 1000)
			m.must("Promote", err)
			if !promoted.More {
				break
			}
		}
	}
}

// check compares the states of both sides after an operation, and looks at the invariants.
func (m *machine) check(*rapid.T) {
	if m.mode.keyed {
		m.settle()
	}
	got, want := m.list(m.store), m.list(m.model)
	m.noteClosed(want)
	// The words of a rescue are the store's own; whether there may be any is seen in the attempts, which List leaves out.
	for i := range want {
		if i < len(got) && want[i].Error == "" && got[i].Error != "" {
			full, err := m.model.Get(m.ctx, want[i].ID)
			m.must("Get", err)
			if last := full.Attempts; len(last) > 0 && slices.ContainsFunc(last, func(a store.Attempt) bool { return a.StartedAt.IsZero() }) {
				got[i].Error = ""
			}
		}
		want[i] = m.tidy(want[i], modelSide)
	}
	for i := range got {
		got[i] = m.tidy(got[i], storeSide)
	}
	m.same("List", got, want)
	m.invariants(got)
	m.last = got

	if m.looks++; m.looks%3 == 0 { // the counts follow from what List has shown, at a price
		m.checkQueues(got)
		m.checkJournals(got)
	}
}

func (m *machine) checkQueues(records []store.Record) {
	queues, err := m.store.Queues(m.ctx, m.namespace)
	m.must("Queues", err)
	wantQueues, err := m.model.Queues(m.ctx, m.namespace)
	m.must("Queues", nil, err)
	for i := range queues {
		queues[i].Counts = counted(queues[i])
	}
	for i := range wantQueues {
		wantQueues[i].Counts = counted(wantQueues[i])
	}
	m.same("Queues", queues, wantQueues, cmpopts.IgnoreFields(store.Queue{}, "PausedAt"))

	counts, unfinished := 0, 0
	for _, q := range queues {
		for _, c := range q.Counts {
			counts += c.N
		}
	}
	for _, r := range records {
		if !r.State.Finished() {
			unfinished++
		}
	}
	if counts != unfinished {
		m.t.Fatalf("NoLoss: the queues count %d jobs, %d are listed as unfinished", counts, unfinished)
	}
}

func (m *machine) list(s store.Store) []store.Record {
	var all []store.Record
	params := store.ListParams{Filter: store.Filter{Namespace: m.namespace}, Limit: 100}
	for {
		page, err := s.List(m.ctx, params)
		m.must("List", err)
		all = append(all, page.Jobs...)
		if page.Next == "" {
			return all
		}
		params.After = page.Next
	}
}

// invariants looks at the store alone: what follows would be wrong even if the model had the same mistake.
func (m *machine) invariants(records []store.Record) {
	// NoLoss: every job that was enqueued is somewhere, once.
	seen := map[store.ID]bool{}
	for _, r := range records {
		if seen[r.ID] {
			m.t.Fatalf("NoLoss: job %v is in two places", r.ID)
		}
		seen[r.ID] = true
	}
	for _, k := range m.jobs {
		if !k.removed && !seen[k.enqueue.Job.ID] {
			m.t.Fatalf("NoLoss: job %v is nowhere", k.enqueue.Job.ID)
		}
	}

	holders, turns := map[string]store.ID{}, map[string]store.ID{}
	for _, r := range records {
		k := m.find(r.ID)
		// FinishedIsFinal.
		if k.state.Finished() && r.State != k.state && !k.retried {
			m.t.Fatalf("FinishedIsFinal: job %v was %v and is %v, and nobody asked for it", r.ID, k.state, r.State)
		}
		// OneOwner: lease numbers never go back, and a job runs if and only if its lease was handed out and not ended.
		if r.LeaseNumber < k.lease {
			m.t.Fatalf("OneOwner: the lease number of job %v went from %d to %d", r.ID, k.lease, r.LeaseNumber)
		}
		if (r.State == store.Running) != k.live {
			m.t.Fatalf("OneOwner: job %v is %v, and its lease is live: %v", r.ID, r.State, k.live)
		}
		// UniqueIsUnique. A key that was released is not taken back, except by an operator's retry of a finished job.
		if k.retried && k.state.Finished() {
			k.released = false
		}
		if len(r.UniqueKey) > 0 {
			k.pass(r.State)
			if other, taken := holders[string(r.UniqueKey)]; taken && !k.released {
				m.t.Fatalf("UniqueIsUnique: jobs %v and %v both hold the key %q", r.ID, other, r.UniqueKey)
			}
			if !k.released {
				holders[string(r.UniqueKey)] = r.ID
			}
		}
		// Order: one at a time within an ordering key.
		if r.OrderingKey != "" && r.State == store.Running {
			name := r.Queue + "/" + r.OrderingKey
			if other, taken := turns[name]; taken {
				m.t.Fatalf("Order: jobs %v and %v of one ordering key both run", r.ID, other)
			}
			turns[name] = r.ID
		}
		if (r.CancelRequested || r.PauseRequested) && r.State != store.Running {
			m.t.Fatalf("job %v is %v and still asked to stop", r.ID, r.State)
		}
		k.timeless = r.State.Finished() && (k.timeless || k.state == store.Waiting)
		k.state, k.retried = r.State, false
	}
}

// pass notes that the job came through a state, in which it may have released its unique key. One that waits holds it as one that
// runs does.
func (k *known) pass(state store.State) {
	if state == store.Waiting {
		state = store.Running
	}
	k.released = k.released || !k.enqueue.Job.UniqueStates.Has(state)
}

// names calls jobs by their place among those that were enqueued, -1 for those that were not.
func (m *machine) names(ids []store.ID) []int {
	var names []int
	for _, id := range ids {
		names = append(names, slices.IndexFunc(m.jobs, func(k *known) bool { return k.enqueue.Job.ID == id }))
	}
	return names
}

func (m *machine) logBatch(batch *store.Batch) {
	for _, c := range batch.Checkpoints {
		m.t.Logf("apply: checkpoint of %v, lease %d", m.names([]store.ID{c.Lease.Job}), c.Lease.Number)
	}
	for _, a := range batch.Appends {
		m.t.Logf("apply: append to %v, lease %d, %d entries from %d, children %v, closing %v, repeat %v", m.names([]store.ID{a.Lease.Job}),
			a.Lease.Number, len(a.Entries), a.Entries[0].Seq, idsOf(a.Enqueues), a.Closing, a.Repeat)
	}
	for _, q := range batch.Sends {
		m.t.Logf("apply: send %d, %q with key %q to %v", q.Message.Kind, q.Message.Name, q.Key, m.names([]store.ID{q.Job}))
	}
	for _, o := range batch.Outcomes {
		if o.Wait != nil || o.Continue != nil || o.Version != "" {
			m.t.Logf("apply: wait %+v, continue %v, version %q", o.Wait, o.Continue != nil, o.Version)
		}
		m.t.Logf("apply: %v of %v, lease %d, reason %q, delay %v, at %v, cancel seen %v, repeat %v",
			o.State, m.names([]store.ID{o.Lease.Job}), o.Lease.Number, o.Reason, o.Delay, o.RunAt, o.CancelSeen, o.Repeat)
	}
	for _, q := range batch.Enqueues {
		j := q.Job
		m.t.Logf("apply: enqueue %v in %s, %s, priority %d, attempts %d, at %v, delay %v, unique %q in %b, conflict %d, key %q, deadline %v, "+
			"start %v", m.names([]store.ID{j.ID}), j.Queue, j.Kind, j.Priority, j.MaxAttempts, j.RunAt, q.Delay, j.UniqueKey, j.UniqueStates,
			q.OnConflict, j.OrderingKey, j.Options.Deadline, q.Start)
	}
	if start := batch.Start; start != nil {
		m.t.Logf("apply: start on node %d with the number %d", m.place(start.Node, storeSide), start.Seq)
	}
}
