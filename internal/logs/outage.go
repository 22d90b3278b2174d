package logs

import (
	"errors"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/internal/duty"
	"github.com/holdfastdev/holdfast/store"
)

// SayOutage is the least time between two lines about failing calls.
const SayOutage = 30 * time.Second

// givenUp is the age at which a failed call is no longer taken as failing: its caller has given up.
const givenUp = 10 * time.Second

// Outage logs that the database does not answer, once and then at intervals, and when it answers
// again. Callers that retry report their calls to it.
type Outage struct {
	log     *slog.Logger
	failing atomic.Int64 // number of failing calls
	all     atomic.Int64 // number of calls that have failed

	inFlight inFlight

	mu       sync.Mutex
	calls    map[string]time.Time // failing calls, and when each last failed
	since    time.Time            // when the first of them failed
	full     bool                 // the last of them has, because the disk is full
	failures int                  // failures since then
	unlogged int                  // failures since the last line
	loggedAt time.Time            // time of the last line
	logged   bool                 // the outage was logged
}

// NewOutage returns an Outage that logs to log.
func NewOutage(log *slog.Logger) *Outage { return &Outage{log: log} }

// Calls of the store that are retried until they succeed, or until the run that needs them ends.
const (
	CallBeat      = duty.Heartbeat
	CallClaim     = duty.Claims
	CallCommit    = "commit"
	CallJournals  = "journals"
	CallLimits    = duty.Limits
	CallLogs      = "logs of runs"
	CallPromote   = duty.Promote
	CallProbe     = "probe"
	CallQueues    = duty.Settings
	CallSchedules = duty.Schedules
	CallUpdates   = "updates"
)

// Failed records the failure of a call that is retried until it succeeds.
func (o *Outage) Failed(call string, err error) { o.note(call, err, true) }

// Stumbled records the failure of a call that may be given up: the outage does not last until it
// succeeds.
func (o *Outage) Stumbled(call string, err error) { o.note(call, err, false) }

func (o *Outage) note(call string, err error, lasts bool) {
	if errors.Is(err, store.ErrDatabaseGone) {
		return // permanent; the part that ends because of it logs it
	}
	if _, isCodec := errors.AsType[*store.EncodeError](err); isCodec {
		lasts = false // it says nothing of the database
	}
	o.all.Add(1)
	now := time.Now() //nolint:forbidigo // a duration, not the time of day
	o.mu.Lock()
	o.unlogged++
	if lasts {
		if len(o.calls) == 0 {
			o.since, o.failures = now, 0
			if began := o.inFlight.longest(); !began.IsZero() {
				o.since = began // this call is one of them
			}
		}
		if o.calls == nil {
			o.calls = map[string]time.Time{}
		}
		o.calls[call], o.full = now, errors.Is(err, store.ErrFull)
		o.failing.Store(int64(len(o.calls)))
		o.failures++
	}
	if !o.loggedAt.IsZero() && now.Sub(o.loggedAt) < SayOutage {
		o.mu.Unlock()
		return
	}
	attrs := []any{KeyCall, call, KeyError, err, KeyFailures, o.unlogged}
	if len(o.calls) > 0 {
		attrs = append(attrs, KeyAway, now.Sub(o.since))
		o.logged = true
	}
	o.loggedAt, o.unlogged = now, 0
	o.mu.Unlock()
	o.log.Warn("a database call failed; it will be retried", attrs...)
}

// IsFull reports whether calls fail because the disk of the database is full.
func (o *Outage) IsFull() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.calls) > 0 && o.full
}

// Failures is how many calls have failed so far.
func (o *Outage) Failures() int64 { return o.all.Load() }

// Succeeded records the success of a call. Without an outage it costs an atomic load.
func (o *Outage) Succeeded(call string) {
	if o.failing.Load() == 0 {
		return
	}
	now := time.Now() //nolint:forbidigo // as above
	o.mu.Lock()
	delete(o.calls, call)
	maps.DeleteFunc(o.calls, func(_ string, last time.Time) bool { return now.Sub(last) >= givenUp })
	o.failing.Store(int64(len(o.calls)))
	if len(o.calls) > 0 || !o.logged {
		o.mu.Unlock()
		return
	}
	away, failures := now.Sub(o.since), o.failures
	o.logged, o.unlogged = false, 0
	o.mu.Unlock()
	o.log.Info("the database answers again", KeyAway, away, KeyFailures, failures)
}
