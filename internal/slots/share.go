package slots

import (
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Share is what a queue has of a node's slots beside those of others.
type Share struct {
	// Min slots are kept for the queue: no others use them, also while it has no jobs.
	Min int
	// Weight is its part of the slots that are kept for no queue, while several queues have jobs;
	// 0: 1.
	Weight int
}

// share is the account of one of the queues that a node serves, or of all together if it serves
// all: the slots it may use, and its prefetched jobs. It is guarded by Slots.mu.
type share struct {
	queue string // "": all
	limit int    // slots that its jobs may use

	min, weight int // of its Share

	groups map[string]*group // of queues that limits tell apart; "" is for all others
	opens  bool              // there is a group for each queue that may have jobs, and none for others

	running  int
	reserved int              // slots reserved for jobs of enqueues in progress
	buffer   []*store.Claimed // jobs are large: they stay where the claim has put them
	pace     completionRate
}

// lane is a queue and a kind, as in store.ClaimParams. "" are those that are not named.
type lane struct{ queue, kind string }

func laneOf(job *store.Job) lane { return lane{job.Queue, job.ClaimKind()} }

// room is how many of its jobs may be claimed now, if the node has room for them.
func (q *share) room(now time.Time, mostAhead int) int {
	return max(q.limit-q.running-len(q.buffer)-q.reserved+min(q.pace.ahead(now), mostAhead), 0)
}

// lag is how late the first job is that waits, here or in the database.
func (q *share) lag(now time.Time) (late time.Duration) {
	for _, g := range q.groups {
		for _, c := range g.classes {
			late = max(late, c.lag(now))
		}
	}
	if len(q.buffer) > 0 {
		late = max(late, now.Sub(q.buffer[0].Job.RunAt))
	}
	return max(late, 0)
}

// mayHaveJobs reports whether there may be jobs of one of its classes to claim.
func (q *share) mayHaveJobs() bool {
	for _, g := range q.groups {
		if g.mayHaveJobs() {
			return true
		}
	}
	return false
}

// pop takes the first prefetched job.
func (q *share) pop() store.Claimed {
	c := *q.buffer[0]
	q.buffer[0] = nil
	q.buffer = q.buffer[1:]
	if len(q.buffer) == 0 {
		q.buffer = nil
	}
	return c
}

// class is the part of a share whose jobs count in the same limits, and what is known of those that
// may be claimed. Without limits a share has one. It is guarded by Slots.mu.
type class struct {
	share *share
	lane  lane
	place int // among those that are looked at together

	counts []count
	jobs   int // that count in limits, or may when their enqueue is done

	oldest  time.Time // about when the first job was due that waits in the database; zero: none is known
	heardAt time.Time // the last wake-up
	news    int64     // counts wake-ups
	emptied int64     // value of news at the last claim that left no job behind, or never
	sure    int64     // value of news when a job was known to wait that no claim has taken since, or never
	seen    int64     // value of news when a look found jobs of it, or never
	turn    int       // the last claim that might take some of its jobs
	saves   bool      // slots are saved up for it
}

// group are the classes of a queue: one for each kind that limits tell apart, and the first for all
// others.
type group struct {
	queue    string
	classes  []*class
	idle     bool          // when it was looked at last nothing was known of jobs
	idleFrom time.Duration // since when, as Slots.elapsed
	window   int           // the last one that it is a part of
}

// count is a limit in which jobs count, and how many of its slots each takes.
type count struct {
	limit  *limit
	weight int
}

// never is a value that news does not have.
const never = -1

// mayHaveJobs reports whether there may be jobs to claim. There are none if the last claim left no
// job behind and no wake-up has come since.
func (c *class) mayHaveJobs() bool { return c.emptied != c.news }

// heard notes a wake-up: if no job was known to wait, one does since now. A wake-up for any queue
// says nothing for sure.
func (c *class) heard(now time.Time, sure bool) {
	c.news++
	if sure {
		c.sure = c.news
	}
	c.heardAt = now
	if c.oldest.IsZero() {
		c.oldest = now
	}
}

// backlog is how late a claimed job must be for those behind it to be taken for late.
const backlog = time.Second

// knows notes what a claim tells of jobs that are left: last is the last one that it took, if more
// may be left, and news were the wake-ups when it was sent.
func (c *class) knows(last *store.Claimed, news int64) {
	if c.sure <= news {
		c.sure = never
	}
	switch {
	case last != nil && last.ClaimedAt.Sub(last.Job.RunAt) >= backlog:
		c.oldest = last.Job.RunAt // the next one is due then or later
		c.sure = c.news
	case c.news != news:
		c.oldest = c.heardAt // while the claim was on its way
	default:
		c.oldest = time.Time{}
	}
}

// lag is how late the first job is that waits in the database.
func (c *class) lag(now time.Time) time.Duration {
	if !c.mayHaveJobs() || c.oldest.IsZero() {
		return 0
	}
	return now.Sub(c.oldest)
}

// fits reports whether one more of its jobs has room in its limits.
func (c *class) fits(at time.Duration) bool {
	for _, n := range c.counts {
		if room := n.limit.room(); room < n.weight || !c.saves && room-n.limit.saved < n.weight {
			return false
		}
		if permits, bounds := n.limit.permitRoom(at); bounds && permits == 0 {
			return false
		}
	}
	return true
}

// isStuck reports whether it is no use to look for its jobs for a while: there are no slots or
// permits for them, and it is no use to ask for some.
func (c *class) isStuck(now time.Time, at time.Duration) bool {
	if c.share.isFull() || !c.permitted(at) {
		return true
	}
	for _, n := range c.counts {
		if l := n.limit; l.room() < n.weight && l.keep == notAsking && !l.mayGet(now) {
			return true
		}
	}
	return false
}

// counted counts jobs of the class, or takes them out again, with the sign -1.
func (c *class) counted(jobs int) {
	c.jobs += jobs
	for _, n := range c.counts {
		n.limit.used += jobs * n.weight
	}
}

// reserve reserves slots for jobs, or releases them.
func (c *class) reserve(jobs int) {
	c.share.reserved += jobs
	c.expect(jobs)
}

// expect counts jobs of enqueues in progress in their limits, or takes them out again.
func (c *class) expect(jobs int) {
	c.jobs += jobs
	for _, n := range c.counts {
		n.limit.reserved += jobs * n.weight
	}
}

// of returns the class of a kind, as store.DemandFor would find it.
func (g *group) of(kind string) *class {
	for _, c := range g.classes[1:] {
		if c.lane.kind == kind {
			return c
		}
	}
	return g.classes[0]
}

func (g *group) mayHaveJobs() bool {
	for _, c := range g.classes {
		if c.mayHaveJobs() {
			return true
		}
	}
	return false
}

// isInUse reports whether anything is known of jobs of the group.
func (g *group) isInUse() bool {
	for _, c := range g.classes {
		if c.mayHaveJobs() || c.jobs > 0 {
			return true
		}
	}
	return false
}

// isAble reports whether jobs of the group are to be looked for.
func (g *group) isAble(now time.Time, at time.Duration) bool {
	for _, c := range g.classes {
		if c.mayHaveJobs() && !c.isStuck(now, at) {
			return true
		}
	}
	return false
}

func (g *group) heard(now time.Time, sure bool) {
	for _, c := range g.classes {
		c.heard(now, sure)
	}
}

// mayGather reports whether the node can get slots enough for a job of the class as others end.
func (c *class) mayGather() bool {
	return !slices.ContainsFunc(c.counts, func(n count) bool { return n.limit.most() < n.weight })
}

// permitted reports whether all rates that the jobs of a class count in have permits for them, or
// will have some in a moment. For others slots are of no use.
func (c *class) permitted(at time.Duration) bool {
	for _, n := range c.counts {
		if m := n.limit.meter; m != nil && m.soon(at) == 0 {
			return false
		}
	}
	return true
}

// isInUse reports whether jobs of the share are here.
func (q *share) isInUse() bool { return q.running > 0 || q.reserved > 0 || len(q.buffer) > 0 }

// isFull reports whether no job of a queue that matches a pattern can get a slot now.
func (q *share) isFull() bool {
	return q.opens && q.queue != "" && q.running+q.reserved+len(q.buffer) >= q.limit
}
