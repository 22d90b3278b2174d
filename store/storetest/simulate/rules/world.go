package rules

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/internal/slots"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
	"github.com/holdfastdev/holdfast/store/storetest/simulate/play"
)

// Subject is what a simulation is about; several may be played together.
type Subject uint

// The subjects.
const (
	Limits  Subject = 1 << iota // over all nodes, and rates
	Keys                        // limits per key
	Rests                       // of queues
	Edges                       // jobs that come after others, and turns that are kept
	Batches                     // of jobs, and what is enqueued at their ends
	Fair                        // keys that take turns
	all     Subject = 1<<iota - 1
)

// Together are all subjects in one cluster.
const Together = all

func (s Subject) has(one Subject) bool { return s&one != 0 }

// limitNames are the limits over all nodes; that of a rate is the last one.
var limitNames = []string{"a", "b", "r"}

// perKey is the limit per key.
const perKey = "per"

// namespace is the one of all jobs.
const namespace = "default"

// crowd is how many unfinished jobs there are at the most, or so.
const crowd = 40

var (
	queues = []string{"mail", "bills"}
	kinds  = []string{"send", "charge"}
	keys   = []string{"x", "y", "z"}
)

// Open opens an empty store that reads its time from a clock.
type Open func(clock func() time.Time) (store.Store, error)

// world is a cluster: nodes, people, and what lies between them and the store.
type world struct {
	ctx     context.Context
	about   Subject
	clock   *play.Clock   // the one of the database, which is set now and then
	elapsed time.Duration // a time that is never set
	eye     *eye
	store   *faults.Store // as those who ask see it
	fault   faults.Kind   // of the first call of the step
	tellf   play.Tell
	nodes   []*node
	letters []*letter        // of people, whose answer did not come
	batches []*batchOf       // that people have made
	through []store.JobBatch // that were counted, as they were then
}

// letter is what a sender outside has sent.
type letter struct {
	seed  uint64
	batch *store.Batch
}

func (l *letter) Name() uint64 { return l.seed }

// batchOf is a batch of jobs as people know it.
type batchOf struct{ id store.ID }

func (b *batchOf) Name() uint64 { return nameOf(b.id) }

// pass lets time pass, on all clocks.
func (w *world) pass(by time.Duration) {
	w.clock.Move(by)
	w.elapsed += by
}

// unfinished are the jobs that have not finished.
func (w *world) unfinished() (n int) {
	for _, j := range w.eye.jobs {
		if !j.State.Finished() {
			n++
		}
	}
	return n
}

// isLost reports whether no answer came.
func isLost(err error) bool { return errors.Is(err, store.ErrUnavailable) }

// must is for calls that nothing speaks against.
func must(op string, err error) {
	if err != nil {
		play.Brokenf("Contract", "%s fails: %v", op, err)
	}
}

// newID makes an id as a client does: it sorts by time, and the rest of it follows from the step.
func (w *world) newID(d *play.Dice) (id store.ID) {
	binary.BigEndian.PutUint64(id[:8], uint64(w.clock.Now().UnixMilli())<<16|uint64(d.Below(1<<12)))
	binary.BigEndian.PutUint64(id[8:], d.Next())
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return id
}

// nameOf is the name of a job for dice.
func nameOf(id store.ID) uint64 { return binary.BigEndian.Uint64(id[8:]) }

// short is the name of a job for people.
func short(id store.ID) string { return fmt.Sprintf("job %06x", nameOf(id)&0xffffff) }

// outcome is how a call went, for the story.
func outcome(err error) string {
	if err == nil {
		return "ok"
	}
	return err.Error()
}

// node is a process as it sees itself. It knows what it was told, and no more. One that is declared
// dead joins again, with another id and the same account.
type node struct {
	seed    uint64
	id      int64
	info    store.NodeInfo
	seq     int64
	runs    []*run
	pending *request   // without an answer: it is sent again before any other
	sent    []*request // that may arrive once more
	frozen  bool
	killed  bool
	leads   bool
	watches bool             // it is to look for ends again soon
	others  []store.NodeBeat // as it was told when it led

	slots   *slots.Slots // its account, where there are limits
	demand  slots.Demand // of the claim under way
	known   []int64      // the limits that it knows, by their ids
	over    []int64      // of them those of which more slots are held than there are, as it was told
	call    int64
	asking  *asking // a call for slots under way
	permits *permitCall
	delayed []store.GrantParams // calls for slots that may arrive (once more)
	late    [][]store.PermitAsk // the same
}

func (n *node) Name() uint64 { return n.seed }

func (n *node) String() string { return fmt.Sprintf("node %d", n.id) }

// active are the nodes that do something: they need not live.
func (n *node) active() bool { return !n.frozen && !n.killed }

// run is a job that the node believes to have: it runs, or waits in the node for a slot.
type run struct {
	claimed store.Claimed
	begun   bool
	ended   bool
}

func (r *run) Name() uint64       { return nameOf(r.claimed.Job.ID) }
func (r *run) Job() *store.Job    { return &r.claimed.Job }
func (r *run) Lease() store.Lease { return r.claimed.Lease }
func (r *run) Started() time.Time { return r.claimed.ClaimedAt }
func (r *run) HasEnded() bool     { return r.ended }
func (r *run) Cancel(error)       { r.ended = true }
func (*run) Pause()               {}

// request is what a node has sent: outcomes, or a claim.
type request struct {
	node  *node
	seed  uint64
	batch *store.Batch
	runs  []*run // of its outcomes
	claim *store.ClaimParams
	took  bool // the claim has taken jobs
}

func (r *request) Name() uint64 { return r.seed }

// asking is a call for slots whose answer the node awaits.
type asking struct {
	node   int64
	asks   []store.LimitAsk
	grants []store.Grant
	err    error
}

// permitCall is a call for permits whose answer the node awaits.
type permitCall struct {
	asks   []store.PermitAsk
	sent   time.Duration
	answer []store.Permits // nil: it is lost
}

// eye stands between those who ask and the store. After each call that arrives it reads what there
// is, and holds what has changed against the rules.
type eye struct {
	store.Store
	w *world

	op      string
	calls   int
	digest  uint64
	order   []*job // by their ids
	jobs    map[store.ID]*job
	limits  []store.Limit
	batches []store.JobBatch
	sets    []time.Duration           // when the clock was set forward
	asked   map[claimName]claimOfNode // claims as their nodes meant them
	rules   []rule
}

// job is what the store says of one.
type job struct{ store.Record }

func (j *job) Name() uint64   { return nameOf(j.ID) }
func (j *job) String() string { return short(j.ID) }

func (j *job) depends() bool {
	return j.State == store.Waiting && j.Wait != nil && j.Wait.Reason == store.ReasonDependency
}

// claimName is the number of a claim.
type claimName struct{ node, seq int64 }

// claimOfNode is what a node knew when it made a claim.
type claimOfNode struct {
	at    time.Duration
	known []int64 // limits, by their ids
	over  []int64 // those of which too many slots are held
}

// rule says what must be so.
type rule interface {
	// check looks at a call that was made just now.
	check(c *change)
	// end looks at what is there when everything has come to its end.
	end()
}

// change is what came of a call.
type change struct {
	op      string
	params  any // of the call
	answer  any
	err     error
	now     time.Time
	was     map[store.ID]*job
	started []*job // in the order of their leases
	limits  []store.Limit
	batches []store.JobBatch // before it
}

// asks notes a claim that a node is about to send.
func (e *eye) asks(n *node, p *store.ClaimParams) {
	e.asked[claimName{p.Node, p.Seq}] = claimOfNode{e.w.elapsed, slices.Clone(n.known), slices.Clone(n.over)}
}

// set notes that the clock of the database was set.
func (e *eye) set(by time.Duration) {
	if by > 0 {
		e.sets = append(e.sets, e.w.elapsed)
	}
}

func (e *eye) limitNamed(name string) *store.Limit {
	for i := range e.limits {
		if e.limits[i].Name == name {
			return &e.limits[i]
		}
	}
	return nil
}

// holdsBack reports whether a job may not be claimed now, or may be in another line than others.
func (e *eye) holdsBack(j *job, c *change) bool {
	if !e.w.about.has(Rests) {
		return false
	}
	queues, err := e.Queues(e.w.ctx, namespace)
	must("Queues", err)
	for _, q := range queues {
		if q.Name == j.Queue && (!q.PausedAt.IsZero() || q.Rest.At(c.now)) {
			return true
		}
	}
	return false
}
