package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/holdfastdev/holdfast/hooks"
	"github.com/holdfastdev/holdfast/internal/observer"
	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/internal/runlog"
	"github.com/holdfastdev/holdfast/internal/slots"
	"github.com/holdfastdev/holdfast/store"
)

// Config configures an engine. The zero value of a field means its default.
type Config struct {
	Logger *slog.Logger // nil: none

	// MaxJournal is the size limit of a journal.
	MaxJournal replay.JournalLimit

	// Redact, if it is set, makes the handler of the loggers of runs.
	Redact func(slog.Handler) slog.Handler

	// Logs says what is kept of what runs log.
	Logs runlog.Config

	// NoFacts: nothing is counted and measured for charts.
	NoFacts bool

	// Hooks are told of events.
	Hooks []hooks.Hooks

	// Observer is told what hooks are not; nil: none is.
	Observer *observer.Observer

	// EnqueuePatience is how long an enqueue is retried while the database does not answer; 15 s.
	EnqueuePatience time.Duration

	// Rarely, if not 0, is the least interval of what is only there for lost wake-ups and dead
	// nodes: beats, polls, periodic duties. It is for tests in memory, where there are none.
	Rarely time.Duration
	Node   NodeConfig
}

// Share is what a queue has of a node's slots beside those of others.
type Share = slots.Share

// NodeConfig configures a node.
type NodeConfig struct {
	Name  string
	Host  string
	Build store.Build
	// Describes is what the node tells of queues and kinds when it joins, in its own namespace.
	Describes []store.Descriptor
	// Slots is how many jobs run at once; 100.
	Slots int
	// Queues are the queues to serve. Nil: all of the namespace, each up to Slots.
	Queues []store.QueueDemand
	// Shares are what some of the queues have of the slots beside the others, by name.
	Shares map[string]Share
	// Beat is the interval of heartbeats; a leader also learns from them what work is due; 5 s.
	Beat time.Duration
	// DeadAfter is how long a node may be silent before it is declared dead and its jobs are
	// rescued; 20 s.
	DeadAfter time.Duration
	// Aging is how long a job waits until its priority rises by one; 60 s; negative: never.
	Aging time.Duration
	// StuckAfter is how long a handler may ignore the end of its context before it is reported as
	// stuck and its job and slot are taken from it; 10 s.
	StuckAfter time.Duration
	// StopTimeout is how long handlers may go on after the node was told to stop; 20 s.
	StopTimeout time.Duration
	// Retain is how long rows are kept: 24 h for completed and cancelled jobs, 7 days for failed
	// ones, 90 days for the audit log, 3 days for the feed. Negative: for ever.
	Retain store.Retention
	// Maintains: the node has no handlers, but for those of Holdfast's own, and does the
	// maintenance.
	Maintains bool
	// Archive, if set, keeps jobs elsewhere that are to be removed, and says of those that are to
	// leave a stub where (EndedJob.Archived). It returns nil only once all of
	// them are kept that are still finished as they are said to be.
	Archive func(ctx context.Context, st store.Store, jobs []store.EndedJob) error
	// maxAside is how many outcomes may be blocked by callers' transactions before the node stops
	// claiming: each is kept in memory with its result until the caller's transaction ends; 10,000.
	maxAside int
}

const (
	// idlePoll is the poll interval of an idle node for jobs and due times where wake-ups work.
	idlePoll = 10 * time.Second
	// blindPoll is the poll interval where wake-ups do not work.
	blindPoll = 1500 * time.Millisecond
	// firstPoll is the first poll interval of a node that just ran out of jobs; it doubles from
	// there.
	firstPoll = 50 * time.Millisecond
	// claimGap is the least time between two claims for less than a quarter of the slots, so that
	// claims come in batches.
	claimGap = time.Millisecond
	// checkpointPatience is how long a handler waits for its checkpoint to be durable.
	checkpointPatience = 15 * time.Second
	// progressEvery is the least time between two writes of the progress of a run.
	progressEvery = 500 * time.Millisecond
)

func (c *Config) fill() {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	def(&c.EnqueuePatience, 15*time.Second)
	def(&c.MaxJournal.Entries, 50_000)
	def(&c.MaxJournal.Bytes, 64<<20)
	def(&c.Node.Beat, c.every(5*time.Second))
	c.Node.fill()
}

// every is the interval of a safety net.
func (c *Config) every(usual time.Duration) time.Duration { return max(usual, c.Rarely) }

// DefaultSlots is how many jobs a node runs at once if it is not said.
const DefaultSlots = 100

func (c *NodeConfig) fill() {
	def(&c.Slots, DefaultSlots)
	def(&c.DeadAfter, 4*c.Beat)
	def(&c.Aging, time.Minute)
	c.Aging = max(c.Aging, 0)
	def(&c.StuckAfter, 10*time.Second)
	def(&c.StopTimeout, 20*time.Second)
	for _, keep := range []struct {
		d *time.Duration
		v time.Duration
	}{
		{&c.Retain.Completed, 24 * time.Hour},
		{&c.Retain.Cancelled, 24 * time.Hour},
		{&c.Retain.Failed, 7 * 24 * time.Hour},
		{&c.Retain.Audit, 90 * 24 * time.Hour},
		{&c.Retain.Feed, store.FeedKept},
		{&c.Retain.Stubs, store.StubsKept},
	} {
		def(keep.d, keep.v)
		*keep.d = max(*keep.d, 0)
	}
	def(&c.Retain.Limit, 500)
	def(&c.maxAside, 10_000)
}

// def sets a setting that was left out to its default.
func def[T comparable](setting *T, value T) {
	var zero T
	if *setting == zero {
		*setting = value
	}
}
