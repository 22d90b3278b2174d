package work

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
)

// Verbs are what nodes and callers do to jobs.
type Verbs struct{ d *core.Database }

// New returns the verbs of a database.
func New(d *core.Database) Verbs { return Verbs{d} }

// Ending is how a run ends, be it by its handler, its node that leaves, a rescue, or a person.
type Ending struct {
	State     store.State
	Reason    store.Reason
	err       string
	trace     string
	result    []byte
	codec     int // of the result
	startedAt time.Time
	// fingerprint of a run that failed its job.
	fingerprint int64
	RunAt       int64 // of a job that goes on
	Taken       bool  // not the run itself ends it
	Lost        bool  // Taken, because its node died or gave its lease up

	wait     *store.Wait     // of a job that is parked
	pause    *Request        // of a job that would go on, but is held because a person asked
	again    *store.Continue // of a job that starts over
	version  string          // of the kind, from now on
	Durable  bool            // the job has a journal: it is given the chance to end itself
	children bool            // there are children to close, as the run knows

	CancelSeen bool  // the run had the chance to end itself because it was asked to cancel
	Uncounted  bool  // though it is Retryable
	due        int64 // set by goOn: when a job that waits for a time is due; 0: none
}

// addressee is what a message needs to know of the job that it is for.
type addressee struct {
	lane  int64
	runAt int64
	key   string      // the ordering key
	ended store.State // 0 while the job is not finished
	last  int64       // the row of its last message
	sent  int64       // that of the last one that is forgotten, from where Seqs count
	wait  *store.Wait // nil if it does not wait
}
