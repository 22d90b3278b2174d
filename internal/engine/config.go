package engine

import (
	"log/slog"
	"time"

	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/store"
)

// Config is how an engine behaves. The zero value of a field means its default.
type Config struct {
	Logger *slog.Logger // nil: none

	// MaxJournal is when a journal is full.
	MaxJournal replay.JournalLimit

	// EnqueuePatience is how long an enqueue is repeated while the database does not answer; 15 s.
	EnqueuePatience time.Duration

	Node NodeConfig
}

// NodeConfig is how a node behaves.
type NodeConfig struct {
	Name    string
	Version string
	// Slots is how many jobs run at once; 100.
	Slots int
	// Queues are the queues to serve. Nil: all of the namespace, each up to Slots.
	Queues []store.QueueDemand
	// Beat is how often the node says that it lives, and, if it leads, learns what there is to do; 5 s.
	Beat time.Duration
	// DeadAfter is how long a node may be silent before its jobs are taken from it; 20 s.
	DeadAfter time.Duration
	// Aging is the wait that makes a job one priority more urgent; 60 s; negative: never.
	Aging time.Duration
	// StuckAfter is how long a handler may ignore the end of its context before it is reported, its job taken from it
	// and its slot given to another; 10 s.
	StuckAfter time.Duration
	// StopTimeout is how long handlers may go on after the node was told to stop; 20 s.
	StopTimeout time.Duration
	// Retain is how long finished jobs are kept, 24 h for completed and cancelled ones, 7 days for failed ones, and what people did, 90 days.
	// Negative: for ever.
	Retain store.Retention
}

const (
	// idlePoll is how often an idle node looks for jobs and due times although nothing woke it, where wake-ups work.
	idlePoll = 10 * time.Second
	// blindPoll is the same where wake-ups do not work.
	blindPoll = 1500 * time.Millisecond
	// firstPoll is how soon a node that just ran out of jobs looks again; the interval doubles from there.
	firstPoll = 50 * time.Millisecond
	// claimGap is the least time between two claims that do not fill a quarter of the slots, so that claims come in batches.
	claimGap = time.Millisecond
	// prefetchHorizon bounds how long a job that was claimed ahead of a free slot is expected to wait for one.
	prefetchHorizon = 50 * time.Millisecond
	// maxPrefetch bounds the jobs claimed ahead however short they are.
	maxPrefetch = 2000
	// promoteLimit is how many due jobs one transaction makes available.
	promoteLimit = 2000
	// checkpointPatience is how long a handler waits for its checkpoint to be durable.
	checkpointPatience = 15 * time.Second
	// progressEvery is how often the progress of a run is written at the most.
	progressEvery = 500 * time.Millisecond
)

func (c *Config) fill() {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	def(&c.EnqueuePatience, 15*time.Second)
	def(&c.MaxJournal.Entries, 50_000)
	def(&c.MaxJournal.Bytes, 64<<20)
	c.Node.fill()
}

func (c *NodeConfig) fill() {
	def(&c.Slots, 100)
	def(&c.Beat, 5*time.Second)
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
	} {
		def(keep.d, keep.v)
		*keep.d = max(*keep.d, 0)
	}
	def(&c.Retain.Limit, 500)
}

// def sets a setting that was left out.
func def[T comparable](setting *T, value T) {
	var zero T
	if *setting == zero {
		*setting = value
	}
}
