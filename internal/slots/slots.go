package slots

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Slots tracks what a node runs: its runs and its prefetched jobs. It alone decides what to claim
// next.
type Slots struct {
	size   int
	most   int      // slots that the queues can use
	shares []*share // one for each queue that the node serves, or one for all
	named  map[string]*share

	served   []string           // names and patterns; nil: all
	patterns map[string]pattern // by name
	byQueue  map[string]*share  // of the queues that match one, guarded by mu

	kinds map[string]string // that the node claims, as in store.ClaimParams, and their names without a version
	waits chan struct{}     // told when jobs wait for a slot
	asks  chan struct{}     // told when slots of limits are to be asked for, or given back

	permits chan struct{}        // told when permits of limits are to be asked for
	elapsed func() time.Duration // by a clock that is never set

	mu       sync.Mutex
	used     int              // slots in use
	unmet    int              // slots that are kept for queues which do not use them
	weighed  bool             // some queues have a Share
	reserved int              // for jobs of enqueues in progress
	quiet    bool             // nothing is claimed or started
	runsOf   map[store.ID]Run // nil for those that are about to start
	former   map[store.ID]Run // those whose jobs are about to start again, so that they have lost their leases
	asked    early

	limits  []*limit            // of the namespace, as far as they concern the node
	byName  map[string]*limit   // the same
	byID    map[int64]*limit    // the same
	wide    []*limit            // those of any queue
	ofQueue map[string][]*limit // and the others
	live    []*limit            // of which the node has something, or its jobs may need something

	classes   []*class // of all shares
	fixed     int      // how many of them, from the first, are there all the time
	opened    []*group // of the others
	division  int      // counts how often they were made
	look      look     // for queues that have jobs
	turn      int      // counts claims
	savers    []*class // those for which slots are saved up, in their order
	blocked   []*class // those for which some would be, if they have jobs
	contested []*class // those for which there are too few slots, if they have jobs
	inquiry   inquiry  // about these three
	looked    []*limit // those that count the classes looked at last

	mostApart, mostNamed int // only tests change them

	window   []*class // those that are looked at, of too many
	windowOf []*group
	windowAt time.Duration
	windows  int  // counts them
	leftOut  bool // jobs may wait of queues that are not among those
	next     int  // of opened, the first that comes then

	counted   map[store.ID]counted
	reserving map[lane]int  // jobs of enqueues in progress
	claiming  int           // how many jobs a claim under way may take
	promised  []*limit      // of which it may take slots or permits
	doubtUpTo int64         // the claims of which it is not known what they took are below this number; 0: there are none
	member    int64         // the node's id when it asked for the slots it holds; 0: it holds none
	lost      int64         // ids up to this one are over
	at        time.Duration // of elapsed, when it was last looked at what may be claimed
	lookAt    time.Duration // when permits are looked at again without a reason; 0: never

	aside    atomic.Int64 // outcomes blocked by callers' transactions
	maxAside int64        // limit of aside at which the node stops claiming
}

// pattern is what the node serves as a pattern: each queue that matches it has a share of its own,
// from when it is heard of until nothing was known of it for long.
type pattern struct {
	limit, weight int
}

// look is whether it is to be found out which queues have jobs. Of those that have no classes that
// is not known otherwise but by wake-ups.
type look uint8

const (
	looked   look = iota // wake-ups have told of all since
	lookDue              // a wake-up may have been lost, or was for any queue
	lookGoes             // it is found out now
)

// Run is what runs a job in a slot. It is a pointer, because runs are compared. Job, Lease, Started
// and HasEnded must not call the slots.
type Run interface {
	Job() *store.Job
	Lease() store.Lease
	Started() time.Time // by the clock of the database
	HasEnded() bool     // its context has

	Cancel(cause error) // ends its context
	Pause()             // asks it to pause
}

// Config is what a node has to give.
type Config struct {
	Size     int                 // how many jobs run at once
	Queues   []store.QueueDemand // the queues and patterns to serve, with the limit of each, if it has one; nil: all of the namespace
	Kinds    map[string]string   // the kinds to claim, as in store.ClaimParams, and their names without a version
	Shares   map[string]Share    // of some of the queues, by name
	MaxAside int                 // how many outcomes may be put aside before the node stops claiming
	// Elapsed is a clock that is never set; nil: that of the process. Permits are used by it.
	Elapsed func() time.Duration
}

// New returns the slots of a node that runs nothing.
func New(cfg Config) *Slots {
	s := &Slots{
		size: cfg.Size, most: cfg.Size, kinds: cfg.Kinds, maxAside: int64(cfg.MaxAside), runsOf: map[store.ID]Run{}, former: map[store.ID]Run{},
		permits: make(chan struct{}, 1), elapsed: cfg.Elapsed, mostApart: mostApart, mostNamed: mostNamed,
		waits: make(chan struct{}, 1), asks: make(chan struct{}, 1), counted: map[store.ID]counted{}, reserving: map[lane]int{},
	}
	if began := time.Now(); s.elapsed == nil {
		s.elapsed = func() time.Duration { return time.Since(began) }
	}
	defer s.divide()
	if len(cfg.Queues) == 0 {
		s.shares = []*share{{limit: s.size}}
		return s
	}
	s.named, s.most = map[string]*share{}, 0
	s.patterns, s.byQueue = map[string]pattern{}, map[string]*share{}
	for _, q := range cfg.Queues {
		s.served = append(s.served, q.Name)
		limit := q.Limit
		if limit <= 0 || limit > s.size {
			limit = s.size
		}
		of := cfg.Shares[q.Name]
		s.weighed = len(cfg.Shares) > 0
		if _, is := store.QueuePrefix(q.Name); is {
			s.patterns[q.Name], s.most = pattern{limit, max(of.Weight, 1)}, s.size
			continue
		}
		s.named[q.Name] = &share{queue: q.Name, limit: limit, min: min(of.Min, limit), weight: max(of.Weight, 1)}
		s.unmet += s.named[q.Name].min
		s.shares = append(s.shares, s.named[q.Name])
		s.most = min(s.most+limit, s.size)
	}
	return s
}

// Serves reports whether the node serves the queue. "" is any queue.
func (s *Slots) Serves(queue string) bool {
	if s.named == nil || queue == "" || s.named[queue] != nil {
		return true
	}
	if len(s.patterns) == 0 {
		return false
	}
	_, ok := store.ServedAs(s.served, queue)
	return ok
}

// Most is how many slots the queues can use at once.
func (s *Slots) Most() int { return s.most }

// Running is how many slots are in use.
func (s *Slots) Running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// Lag is how late the first job is that waits for a slot of the node, as far as the node knows from
// claims and wake-ups.
func (s *Slots) Lag(now time.Time) (most time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.shares {
		most = max(most, q.lag(now))
	}
	return most
}

// Jobs returns the jobs that are here, running or in the buffer.
func (s *Slots) Jobs() map[store.ID]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	jobs := make(map[store.ID]bool, len(s.runsOf))
	for id := range s.runsOf {
		jobs[id] = true
	}
	for _, q := range s.shares {
		for _, c := range q.buffer {
			jobs[c.Job.ID] = true
		}
	}
	return jobs
}
