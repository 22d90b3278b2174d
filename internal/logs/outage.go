package logs

import (
	"errors"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// SayOutage is the least time between two lines that say that the database does not answer.
const SayOutage = 30 * time.Second

// givenUp is how long a call may rest before it is not repeated any more: whoever wanted it has
// left.
const givenUp = 10 * time.Second

// Outage says that the database does not answer, once and then from time to time, and when it
// answers again. All that repeats its calls by itself tells it of them.
type Outage struct {
	log     *slog.Logger
	failing atomic.Int64 // how many of the calls below fail

	mu       sync.Mutex
	calls    map[string]time.Time // that failed when they were made last, and when that was
	since    time.Time            // when the first of them did
	failures int                  // since then
	untold   int                  // since the last line
	said     time.Time            // when that was
	told     bool                 // that there is an outage
}

// NewOutage returns one that tells the log.
func NewOutage(log *slog.Logger) *Outage { return &Outage{log: log} }

// Calls of the store that are repeated until they succeed.
const (
	CallBeat    = "heartbeat"
	CallClaim   = "claim"
	CallCommit  = "commit"
	CallPromote = "promotion"
)

// Failed notes that a call failed which is repeated until it succeeds.
func (o *Outage) Failed(call string, err error) { o.note(call, err, true) }

// Stumbled notes that a call failed that may not be repeated for long: its success is not waited
// for.
func (o *Outage) Stumbled(call string, err error) { o.note(call, err, false) }

func (o *Outage) note(call string, err error, lasts bool) {
	if errors.Is(err, store.ErrDatabaseGone) {
		return // it does not pass, and is told of by whoever ends because of it
	}
	now := time.Now() //nolint:forbidigo // how long, and not what time it is
	o.mu.Lock()
	o.untold++
	if lasts {
		if len(o.calls) == 0 {
			o.since, o.failures = now, 0
		}
		if o.calls == nil {
			o.calls = map[string]time.Time{}
		}
		o.calls[call] = now
		o.failing.Store(int64(len(o.calls)))
		o.failures++
	}
	if !o.said.IsZero() && now.Sub(o.said) < SayOutage {
		o.mu.Unlock()
		return
	}
	attrs := []any{KeyCall, call, KeyError, err, KeyFailures, o.untold}
	if len(o.calls) > 0 {
		attrs = append(attrs, KeyAway, now.Sub(o.since))
		o.told = true
	}
	o.said, o.untold = now, 0
	o.mu.Unlock()
	o.log.Warn("a database call failed; it will be retried", attrs...)
}

// Succeeded notes that a call did what it was to do. While all is well it costs a look.
func (o *Outage) Succeeded(call string) {
	if o.failing.Load() == 0 {
		return
	}
	now := time.Now() //nolint:forbidigo // as above
	o.mu.Lock()
	delete(o.calls, call)
	maps.DeleteFunc(o.calls, func(_ string, last time.Time) bool { return now.Sub(last) >= givenUp })
	o.failing.Store(int64(len(o.calls)))
	if len(o.calls) > 0 || !o.told {
		o.mu.Unlock()
		return
	}
	away, failures := now.Sub(o.since), o.failures
	o.told, o.untold = false, 0
	o.mu.Unlock()
	o.log.Info("the database answers again", KeyAway, away, KeyFailures, failures)
}
