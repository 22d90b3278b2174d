// Package model is the store contract in the plainest terms: one mutex, maps, and sorting. It keeps
// everything in memory and scans it for every question, which makes it slow, short, and easy to
// check against the doc comments of package store.
//
// It serves three purposes: it documents the contract as running code, it is the other side of
// storetest's property tests, and it lets the suite be tested without a database. It is not meant
// for production: nothing is durable.
//
// # Where a job is
//
// A job has one state field. What the databases express by the table that holds the job's pointer
// is derived: an available job may be claimed if it has no ordering key or has the turn of its key
// (Store.turns).
//
// # Readings
//
// Where the contract leaves room the model takes these readings; comments marked "Reading:" are at
// the code.
//
//   - A job that came due stays scheduled or retryable until Promote.
//   - A free ordering key is handed on by Promote only.
//   - A job that has the turn of its key keeps it until it is finished, even if it is replaced with a later run time.
//   - Replace takes a job that was never claimed; a snoozed or released one has started.
//   - Whether a run is counted and recorded as an attempt is told by the state that its outcome asked for, wherever the job
//     goes instead: a failed attempt of a job that is then held is counted, a park that turns into Available is not.
//   - A request to pause is for one run: it ends with it, whatever becomes of the job.
//   - A job that is resumed, or woken by a message, or made available by a request to cancel it, is due now. One that its
//     time wakes was due then.
//   - A job that is parked, or paused, holds its unique key as it would if it ran. What it lost so it does not take back.
//   - A held job goes back to where its outcome, or the pause, found it: one that was put back as retryable or scheduled
//     while it was to be paused is that again.
//   - A parent that is retried or resumed is no longer finished: its children are not closed because of what it was.
//   - A run that knew of a request to cancel its durable job, and ends as it says, is not moved to
//     the job's deadline either; one without a request to cancel is, whatever it says that it knew.
//   - What people did to a job is told as long as there is the job, whatever RetainParams.Audit is.
//   - A node that was declared dead leads until its lease ends, unless it left before.
//   - What people ask for meets a job that a caller's transaction holds without waiting for that, unless that has moved it.
//   - What is called in the context of a request that another one has taken over is refused, whether it would change
//     anything or not.
//   - No end of a run goes past a transaction that has asked its job to end.
package model

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/internal/gcra"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model/known"
)

// message is one of a job's inbox, with the key of its send.
type message struct {
	store.Message
	key string
}

// waiting is how a job is parked.
type waiting struct {
	store.Wait
	since  time.Time
	due    time.Time // zero: no time wakes it
	reason store.Reason
	err    string

	// What a held job becomes when it is resumed.
	was      State
	wasRunAt time.Time
}

// pauseRequest is a request to pause a running job.
type pauseRequest struct{ reason string }

// queue is one with the time since which it was not needed, if it has no job.
type queue struct {
	store.Queue
	used    time.Time
	deleted bool // it is listed only while it has jobs that are not finished
}

// limit is one with what nodes hold of it.
type limit struct {
	store.Limit
	grants map[int64]granted
	rate   gcra.State
}

// keyRate is what is known of the rate of a key: when its next permit comes if none are saved up,
// and the period by which that was counted.
type keyRate struct{ tat, period int64 }

// granted is how many slots of a limit a node holds, and its last call; of a fair limit how many it
// wished for then, and when that was.
type granted struct {
	slots int
	call  int64
	want  int
	at    time.Time
}

// wishes are the nodes that wish for more than they hold.
func (l *limit) wishes(now time.Time) (all []store.Holder) {
	for _, node := range slices.Sorted(maps.Keys(l.grants)) {
		if g := l.grants[node]; l.Fair && g.want > g.slots && now.Sub(g.at) < store.WishFor {
			all = append(all, store.Holder{Node: node, Slots: g.want})
		}
	}
	return all
}

// holders are the nodes that hold slots.
func (l *limit) holders() (all []store.Holder) {
	for _, node := range slices.Sorted(maps.Keys(l.grants)) {
		if n := l.grants[node].slots; n > 0 {
			all = append(all, store.Holder{Node: node, Slots: n})
		}
	}
	return all
}

// ending is how a run ends: by its handler, its node's leave, a rescue, or a person who terminates
// it.
type ending struct {
	state     State // that was asked for
	reason    store.Reason
	err       string
	trace     string
	result    []byte
	codec     int // of the result
	likeness  int64
	startedAt time.Time
	runAt     time.Time // of a job that goes on

	wait    *store.Wait
	anew    *store.Continue
	version string

	durable, hasChildren, answers bool

	cancelSeen bool // the run knew of the request to cancel the job, if there is one
	uncounted  bool // though it is Retryable
}

// transaction is an open one, with all that it has written and what others must not touch
// meanwhile.
type transaction struct {
	store *Store
	wrote []written
	jobs  map[store.ID]bool     // that it has written to; true: by an append
	nodes map[int64]bool        // whose leases it has written under
	ids   map[store.ID]bool     // of jobs that it has inserted
	keys  map[string]bool       // unique keys of such jobs, and of those that it has moved
	kept  map[store.ID]bool     // that it has moved, or asked to end
	names map[store.JobKey]bool // business keys of such jobs
	ended chan struct{}         // closed when it is over

	batches map[store.ID]bool // of whose members it lets some run again
}

// businessKey is who has a business key, or had it last.
type businessKey struct {
	job   store.ID
	keep  time.Duration
	args  string    // a hash of those that it was enqueued with
	until time.Time // of a job that was removed: until when it keeps the key, but for those that do for ever
}

// sentAlong is what became of an enqueue with a Send.
type sentAlong struct {
	job store.ID
	seq int64
	at  time.Time

	differs bool
}

// enqueueID names an enqueue.
type enqueueID struct {
	namespace string
	id        store.ID
}

// written is what one call wrote, and when.
type written struct {
	batch *store.Batch
	at    time.Time
	do    func(*Store) // instead of a batch
}

// Tx is a caller's transaction of a Store. What is written in one that Begin returned happens at
// its Commit, and until then no other call sees it; what is written in the zero Tx happens at once.
type Tx struct{ *transaction }

// StoreName implements store.Tx.
func (Tx) StoreName() string { return "model" }

// holds reports whether the transaction has written to the job.
func (t *transaction) holds(job store.ID) bool {
	_, held := t.jobs[job]
	return held
}

func (t *transaction) isAppending(job store.ID) bool { return t.jobs[job] }

func (t *transaction) isOver() bool { return !slices.Contains(t.store.open, t) }

// holder returns the open transaction that has written to the job, or nil.
func (s *Store) holder(job store.ID) *transaction {
	for _, t := range s.open {
		if t.holds(job) {
			return t
		}
	}
	return nil
}

// queueKept is how long a queue is listed that has no job.
const queueKept = 48 * time.Hour

// Store is the contract in memory. Use New.
type Store struct {
	clock func() time.Time

	mu     sync.Mutex // guards everything below
	shut   bool
	jobs   map[store.ID]*job
	queues map[queueName]*queue
	unique map[string]store.ID // who holds a unique key

	attributes map[attributeName]store.DeclaredAttribute
	requests   known.Requests

	classes     map[string]store.RetentionClass
	stubs       map[store.ID]store.Stub
	descriptors map[described]store.Descriptor
	namespaces  map[string]store.Namespace
	apiKeys     map[string]store.APIKey
	endpoints   map[store.EndpointName]store.Endpoint
	audited     []store.AuditEntry         // in the order of its Seq
	removed     map[removedOf]*removedJobs // how many jobs retention has removed

	keys   map[store.JobKey]businessKey
	sent   map[enqueueID]sentAlong
	turns  map[keyName]store.ID // who has the turn of an ordering key
	nodes  map[int64]*store.Node
	gone   map[int64]bool     // nodes that ended long ago
	blank  map[int64]bool     // nodes of which it is not known any more by which program they ran
	claims map[claimName]bool // the claim records that were ever written
	closed map[store.ID]bool  // finished jobs whose children are still to be closed
	after  map[store.ID]edges // what waits for other jobs: those jobs

	schedules map[scheduleName]schedule
	batches   map[store.ID]*store.JobBatch // each is replaced when it changes
	retried   map[member]store.State       // how members had ended that were counted and retried since
	replays   bool                         // what a caller's transaction has written is done again
	limits    map[int64]*limit
	keyRates  map[int64]keyRate // by gate
	feed      feed
	facts     map[store.FactKey]store.Fact // the keys have the times of factKey
	lastLimit int64

	woken  []store.Wake        // by the operation that is under way
	names  bool                // its answer names the jobs that its caller moves
	asked  *store.KeyedRequest // in whose context it is called
	heard  chan struct{}       // holds something when a caller's transaction has committed
	leader struct {
		node    int64
		epoch   int64
		expires time.Time
		length  time.Duration // of the lease when it was got or kept last
	}
	open []*transaction // of callers
}

var _ store.Store = (*Store)(nil)

type queueName struct{ namespace, name string }

type keyName struct{ namespace, queue, key string }

type claimName struct{ node, seq int64 }

// job is a body with its state. Job.Attempt counts the current run while there is one.
type job struct {
	store.Job
	state State

	decided   int64                // while it is closing: the entry with which that was decided
	lease     store.Lease          // of the current run
	claimedAt time.Time            // of the current or last run
	cancel    *store.CancelRequest // for the current run; of a job with a journal, until it is finished
	pause     *pauseRequest        // for the current run
	askedLate bool                 // to cancel, while a transaction had it
	wait      *waiting             // while it is Waiting

	// How it finished. endedBy is the lease of the run that finished it, zero if it was not
	// running.
	reason     store.Reason
	err        string
	result     []byte
	codec      int // of the result
	startedAt  time.Time
	finishedAt time.Time
	likeness   int64 // the fingerprint of its failure
	endedBy    store.Lease

	checkpoint *store.Checkpoint
	attempts   []store.Attempt
	actions    []store.Action
	lost       []int64 // nodes with which runs of it were lost
	journal    []store.Entry
	earlier    []store.Entry // what it published and streamed before the journal began
	inbox      []message
	updates    []store.Update
	logs       []store.LogChunk            // by their places
	requests   int64                       // the number of the last update
	endings    map[store.Lease]store.State // what each Outcome led to, to recognise it when it is repeated
}

// State is store.State; the alias keeps the field list above readable.
type State = store.State

// New returns an empty store that reads its time from clock.
func New(clock func() time.Time) *Store {
	return &Store{
		clock: clock, jobs: map[store.ID]*job{},
		queues: map[queueName]*queue{},
		unique: map[string]store.ID{}, keys: map[store.JobKey]businessKey{}, sent: map[enqueueID]sentAlong{}, turns: map[keyName]store.ID{},
		nodes: map[int64]*store.Node{}, gone: map[int64]bool{}, blank: map[int64]bool{},
		claims: map[claimName]bool{}, closed: map[store.ID]bool{}, after: map[store.ID]edges{},

		attributes: map[attributeName]store.DeclaredAttribute{}, requests: known.Requests{},

		schedules:   map[scheduleName]schedule{},
		batches:     map[store.ID]*store.JobBatch{},
		retried:     map[member]store.State{},
		limits:      map[int64]*limit{},
		classes:     map[string]store.RetentionClass{},
		removed:     map[removedOf]*removedJobs{},
		stubs:       map[store.ID]store.Stub{},
		descriptors: map[described]store.Descriptor{},
		namespaces:  map[string]store.Namespace{}, apiKeys: map[string]store.APIKey{}, endpoints: map[store.EndpointName]store.Endpoint{},
		keyRates: map[int64]keyRate{},

		heard: make(chan struct{}, 1),
	}
}

// begin starts an operation: it takes the lock, unless the context or the store has ended.
func (s *Store) begin(ctx context.Context) (time.Time, error) {
	if err := ctx.Err(); err != nil {
		return time.Time{}, err
	}
	s.mu.Lock()
	if s.shut {
		s.mu.Unlock()
		return time.Time{}, store.ErrClosed
	}
	now := s.Now()
	s.woken, s.names, s.asked = nil, false, store.RequestIn(ctx)
	err := s.requests.Refuses(s.asked, now)
	if err != nil {
		s.mu.Unlock()
	}
	return now, err
}

// tell notes that a job became available, or that one is due, or may have its turn, at a time,
// unless the answer names the job.
func (s *Store) tell(w store.Wake) {
	if !s.names {
		s.woken = store.AddWake(s.woken, w)
	}
}

// Traits implements store.Store.
func (s *Store) Traits() store.Traits {
	return store.Traits{Name: "model", Wakeups: true, MaxBatch: 1000}
}

// Now implements store.Store.
func (s *Store) Now() time.Time { return s.clock().Truncate(time.Microsecond) }

// audit records what people did.
func (s *Store) audit(now time.Time, e store.AuditEntry) {
	e.At, e.Seq = now.UTC().Truncate(time.Microsecond), int64(len(s.audited)+1)
	s.audited = append(s.audited, e)
	s.requests.Happens(s.asked, now)
}

// act records what a person does to a job.
func (s *Store) act(j *job, e store.AuditEntry, now time.Time) {
	e.Job, e.Namespace, e.Target = j.ID, j.Namespace, store.AuditTarget{Kind: store.AuditJob, Name: j.ID.String()}
	s.acted(j, e, now)
}

func (s *Store) acted(j *job, e store.AuditEntry, now time.Time) {
	j.actions = append(j.actions, store.Action{At: now, Kind: store.ActionKind(e.Action), Actor: e.Actor, Reason: e.Detail})
	s.audit(now, e)
}

// Watch implements store.Store. Only callers' transactions write to this store besides its caller.
func (s *Store) Watch(ctx context.Context, wake func(store.Wake)) error {
	for {
		select {
		case <-s.heard:
			wake(store.Wake{Kind: store.WakeAll})
		case <-ctx.Done():
			return nil
		}
	}
}

// Notify implements store.Store.
func (s *Store) Notify(...store.Wake) {}

// Close implements store.Store.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shut = true
	return nil
}

// described names a descriptor.
type described struct {
	namespace string
	subject   store.Subject
	name      string
}
