package machine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// machine applies the same operations to the store under test and to the model, compares the
// answers, and after each operation the states. The operations are in actions.go; here is what they
// are checked with.
//
// It also checks, by looking at the store alone, what must hold whatever the model says: see
// invariants.
type machine struct {
	t     *rapid.T
	ctx   context.Context
	ids   *env.IDs
	clock *env.Clock
	seqs  int64

	store store.Store
	model *model.Store

	mode      mode
	namespace string

	nodes    []node
	jobs     []*known
	runs     []*run           // live and stale
	outcomes []sent           // that may be sent again
	appends  []noted          // that may be sent again
	claims   []claim          // that may be sent again
	begun    []begun          // batches that may be sent again
	plans    []store.Schedule // as they were read, the last ones last
	fired    []*store.Unit    // that may be sent again
	limits   []bound          // as they were saved
	grants   []grant          // that may be sent again
	batches  []store.ID
	versions map[store.ID]store.JobBatch // as they were seen last
	rated    bool                        // keys have had rates

	follows bool                     // the feed of the store
	feedAt  store.FeedPosition       // up to which it was read
	inFeed  map[store.ID]store.State // where it says that jobs are

	along []store.Enqueue // whose signals went to other jobs, which may be sent again
	epoch int64
	looks int // how often the states were compared
	last  []store.Record
	sends int // how many messages were sent

	// gatesForgotten: the last claim has found no job that counts in a limit per key, and none was
	// enqueued since.
	gatesForgotten bool
	// removed are the jobs that retention has removed, the first of them at firstRemoved.
	removed map[countedAs]int64
	// places are where jobs were archived, in one of so many files.
	places       map[store.ID]string
	files        int
	firstRemoved time.Time
	retained     store.Retention // what was asked for last
	// closed are jobs about whose end the words are the store's own, since it was that of their
	// parent.
	closed map[store.ID]bool
	// told are the words of which a job may have been told either, because of how those had ended
	// that it came after.
	told map[store.ID][][]string
}

// mode chooses what a sequence of operations may contain.
type mode struct {
	// keyed: jobs have ordering keys. When exactly a free key is handed on is the store's choice,
	// so both sides are promoted after each operation. Without keys, due jobs may stay unpromoted.
	keyed bool
	// lossy: requests and answers to the store are lost, and the caller repeats them. Answers that
	// may differ then (such as whether an enqueue was the first) are not compared; the states are.
	lossy bool
	// durable: jobs remember, wait, have children, and are paused, resumed and forked.
	durable bool
	// scheduled: there are schedules, which enqueue jobs.
	scheduled bool
	// limited: there are limits, of which nodes ask for slots.
	limited bool
	// gated, with keyed: there are limits per key, under which jobs count.
	gated bool
	// fair: jobs have fair keys.
	fair bool
	// batched: jobs are members of batches.
	batched bool
	// logged: runs log.
	logged bool
	// searched: there are search attributes, which jobs have.
	searched bool
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

// pass notes that the job came through a state, in which it may have released its unique key. One
// that waits holds it as one that runs does.
func (k *known) pass(state store.State) {
	if state == store.Waiting {
		state = store.Running
	}
	k.released = k.released || !k.enqueue.Job.UniqueStates.Has(state)
}

// run is a claimed job as either side knows it.
type run struct {
	job          *known
	store, model store.Claimed
	ended        bool // an outcome was accepted
}

// related reports whether one of two jobs is the other's parent.
func (r *run) related(other *run) bool {
	a, b := r.store.Job, other.store.Job
	return a.Parent == b.ID || b.Parent == a.ID
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

// noted is an append that was sent and accepted.
type noted struct {
	run *run
	a   store.Append
}

func storeSide(n node) int64 { return n.store }

func modelSide(n node) int64 { return n.model }

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
	if diff := env.Difference(want, got, opts...); diff != "" {
		m.t.Fatalf("%s differs (-model +store):\n%s", what, diff)
	}
}

// sameErr compares two errors by their class, and by who holds the key. A request that is invalid,
// and that could not have been met either, may be told the one or the other.
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

// anyRemoved says whether one of the jobs was removed: it would be a new one.
func (m *machine) anyRemoved(enqueues []*store.Enqueue) bool {
	return slices.ContainsFunc(enqueues, func(q *store.Enqueue) bool { k := m.find(q.Job.ID); return k != nil && k.removed })
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

// names calls jobs by their place among those that were enqueued, -1 for those that were not.
func (m *machine) names(ids []store.ID) []int {
	var names []int
	for _, id := range ids {
		names = append(names, slices.IndexFunc(m.jobs, func(k *known) bool { return k.enqueue.Job.ID == id }))
	}
	return names
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

// What the machine compares of jobs that remember.

// ownWords reports whether a text is the model's own, which says why a child was closed; a store
// has other words for it.
func (m *machine) ownWords(text string) bool { return text == "its parent has finished" }

// lengths returns the first and the last entry of a job, and how many messages it has; of a job
// that is gone, none.
func (m *machine) lengths(id store.ID) (first, last, messages int64) {
	journals, err := m.model.Journals(m.ctx, "", []store.ID{id})
	if err != nil || len(journals) == 0 {
		return 0, 0, 0
	}
	j := &journals[0]
	if len(j.Entries) > 0 {
		first = j.Entries[0].Seq
	}
	return first, j.LastSeq(), int64(len(j.Messages))
}

func (m *machine) logBatch(batch *store.Batch) {
	for _, c := range batch.Checkpoints {
		m.t.Logf("apply: checkpoint of %v, lease %d", m.names([]store.ID{c.Lease.Job}), c.Lease.Number)
	}
	for _, a := range batch.Appends {
		m.t.Logf("apply: append to %v, lease %d, %d entries from %d, children %v, closing %v, repeat %v", m.names([]store.ID{a.Lease.Job}),
			a.Lease.Number, len(a.Entries), a.Entries[0].Seq, env.IDsOf(a.Enqueues), a.Closing, a.Repeat)
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
			"start %v, business key %q for %v, along %v, after %v",
			m.names([]store.ID{j.ID}), j.Queue, j.Kind, j.Priority, j.MaxAttempts, j.RunAt, q.Delay, j.UniqueKey, j.UniqueStates,
			q.OnConflict, j.OrderingKey, j.Options.Deadline, q.Start, j.Options.Key, j.Options.KeepKey, q.Send != nil, q.After)
	}
	if start := batch.Start; start != nil {
		m.t.Logf("apply: start on node %d with the number %d", m.place(start.Node, storeSide), start.Seq)
	}
}
