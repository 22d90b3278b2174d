package simulate

import (
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/simulate/play"
)

// ledger is what must be so, by what the store was asked and what it has answered. It knows no
// queues of work, no pointers and no records: it is one list of jobs, and one of nodes.
type ledger struct {
	clock   *play.Clock
	calls   int
	op      string    // the call
	now     time.Time // of the call
	jobs    map[store.ID]*job
	order   []*job // as they came
	turns   map[string]*turn
	nodes   map[int64]*member
	claims  map[claimName]bool // which records are there
	paused  map[string]bool
	queues  map[string]bool
	orphan  map[store.ID]bool // finished jobs whose children are to be closed, as far as it is known
	touch   []*job            // by the call
	removed map[store.ID]bool
	leader  leadership

	schedules map[string]*scheduled
}

// names are those under which jobs publish and stream.
var names = []string{"a", "b"}

// turn is that of an ordering key.
type turn struct {
	holder *job // that has started, and not finished
	freed  int  // the call in which one finished that had it
}

// member is a node.
type member struct {
	id     int64
	info   store.NodeInfo
	beatAt time.Time
	seq    int64 // the last number of a claim
	dead   bool
}

type claimName struct{ node, seq int64 }

// leadership is which node was told last that it leads.
type leadership struct {
	node    int64
	epoch   int64
	expires time.Time
	length  time.Duration
}

func newLedger(c *play.Clock) *ledger {
	return &ledger{
		clock: c, jobs: map[store.ID]*job{}, turns: map[string]*turn{}, nodes: map[int64]*member{}, claims: map[claimName]bool{},
		paused: map[string]bool{}, queues: map[string]bool{}, orphan: map[store.ID]bool{}, removed: map[store.ID]bool{},
		schedules: map[string]*scheduled{},
	}
}

// begin begins the account of a call.
func (l *ledger) begin(op string) {
	l.calls, l.op = l.calls+1, op
	l.now, l.touch = l.clock.Now(), l.touch[:0]
}

// touched notes that the call was about a job.
func (l *ledger) touched(j *job) {
	if !slices.Contains(l.touch, j) {
		l.touch = append(l.touch, j)
	}
}

// live returns the job whose live lease this is, or nil.
func (l *ledger) live(lease store.Lease) *job {
	if j := l.jobs[lease.Job]; j != nil && j.running() && j.lease == lease {
		return j
	}
	return nil
}

func (l *ledger) alive(node int64) bool {
	n := l.nodes[node]
	return n != nil && !n.dead
}

// keyHolder returns the job that holds a unique key, or nil.
func (l *ledger) keyHolder(key []byte) *job {
	for _, j := range l.order {
		if j.holds && string(j.body.UniqueKey) == string(key) {
			return j
		}
	}
	return nil
}

func (l *ledger) turn(j *job) *turn {
	name := j.keyName()
	if l.turns[name] == nil {
		l.turns[name] = &turn{}
	}
	return l.turns[name]
}

// enter moves a job to a state.
func (l *ledger) enter(j *job, state store.State) {
	j.state, j.since = state, l.calls
	if state != store.Waiting {
		j.wait = nil
	}
	as := state
	if state == store.Waiting {
		as = store.Running
	}
	if !j.body.UniqueStates.Has(as) {
		j.holds = false
	}
	l.touched(j)
}

// put makes a job scheduled or available, by its run time.
func (l *ledger) put(j *job, runAt time.Time) {
	j.body.RunAt = runAt
	if runAt.After(l.now) {
		l.enter(j, store.Scheduled)
	} else {
		l.enter(j, store.Available)
	}
}

// ready makes a job available now.
func (l *ledger) ready(j *job) {
	j.body.RunAt = l.now
	l.enter(j, store.Available)
}

// finish ends a job for good, and tells its parent.
func (l *ledger) finish(j *job, state store.State, result []byte) {
	l.enter(j, state)
	j.finishedAt, j.cancel, j.unsure, j.pause, j.lease = l.now, false, false, false, store.Lease{}
	if t := l.turn(j); t.holder == j {
		t.holder, t.freed = nil, l.calls
	}
	if parent := l.jobs[j.body.Parent]; parent != nil && j.body.Answers && parent.state != store.Completed {
		l.deliver(parent, message{Message: store.Message{Kind: store.MessageChild, From: j.body.ID, State: state, Data: result}})
	}
}

// deliver puts a message into the inbox of a job, and reports whether that wakes it.
func (l *ledger) deliver(j *job, m message) (woken bool) {
	m.Seq, m.At = j.lastMessage()+1, l.now
	j.inbox = append(j.inbox, m)
	l.touched(j)
	if j.state == store.Waiting && j.wait.Wakes(&m.Message) {
		l.ready(j)
		return true
	}
	return false
}

// restart lets a job that failed or was cancelled run again.
func (l *ledger) restart(j *job) {
	j.holds = len(j.body.UniqueKey) > 0
	j.body.Attempt, j.body.Closing, j.finishedAt = 0, false, time.Time{}
	j.spared = true
	delete(l.orphan, j.body.ID)
	l.ready(j)
}

// request asks a job to stop: it is cancelled at once, or its run, or the next one of a job with a
// journal, is told.
func (l *ledger) request(j *job) {
	switch {
	case j.finished():
		return
	case !j.running() && !j.durable():
		l.finish(j, store.Cancelled, nil)
		l.orphan[j.body.ID] = true
		return
	}
	j.cancel, j.unsure = true, false
	l.touched(j)
	if j.state != store.Running && j.state != store.Available {
		l.ready(j)
	}
}

// terminate ends a job at once.
func (l *ledger) terminate(j *job) {
	if j.finished() {
		return
	}
	if j.running() {
		j.recorded++
	}
	l.finish(j, store.Cancelled, nil)
	l.orphan[j.body.ID] = true
}

// hold makes a job wait for a person, who finds it where it would be otherwise.
func (l *ledger) hold(j *job, was store.State, runAt time.Time) {
	j.wait = &parked{Wait: store.Wait{Held: true}, was: was, wasRunAt: runAt}
	l.enter(j, store.Waiting)
}

// park makes a job wait, until its deadline at the latest, unless it is held.
func (l *ledger) park(j *job, wait *store.Wait) {
	j.wait = &parked{Wait: *wait, was: store.Available}
	if !wait.Held {
		j.wait.due = wait.Until.Truncate(time.Microsecond)
		if d := j.body.Options.Deadline; !j.body.Closing && !d.IsZero() && (wait.Until.IsZero() || d.Before(wait.Until)) {
			j.wait.due = d
		}
		j.body.RunAt = j.wait.due
	}
	l.enter(j, store.Waiting)
}
