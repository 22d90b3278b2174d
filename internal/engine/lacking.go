package engine

import (
	"errors"
	"log/slog"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/outcome"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// A node may lack a key with which payloads of a job were encoded, as while keys are rotated. It
// holds such a job: the job waits, its attempt does not count, and a node that has the key may take
// it when the wait is over.

// lackingBackoff is how long a job is held: longer each time.
var lackingBackoff = store.Backoff{Base: time.Second, Cap: time.Minute, Jitter: 0.25}

// jobOf is a job of a namespace.
type jobOf struct {
	namespace string
	job       store.ID
}

// idsOf returns the ids of jobs, and their namespace, "" if they are of several.
func idsOf(jobs []jobOf) (namespace string, ids []store.ID) {
	ids = make([]store.ID, len(jobs))
	for i, j := range jobs {
		ids[i] = j.job
		switch {
		case i == 0:
			namespace = j.namespace
		case namespace != j.namespace:
			namespace = ""
		}
	}
	return namespace, ids
}

// missing returns the key of a payload that cannot be read here, as a *store.MissingKeyError, or
// nil. One that is damaged is for who reads it.
func missing(data []byte, codec int) error {
	return onlyMissing(store.SealError(data, codec))
}

func onlyMissing(err error) error {
	if lacks, is := errors.AsType[*store.MissingKeyError](err); is {
		return lacks
	}
	return nil
}

// missingIn is missing of all that a run remembers and was sent.
func missingIn(j *store.Journal) error {
	for i := range j.Entries {
		if err := missing(j.Entries[i].Data, j.Entries[i].Codec); err != nil {
			return err
		}
	}
	for i := range j.Messages {
		if err := missing(j.Messages[i].Data, j.Messages[i].Codec); err != nil {
			return err
		}
	}
	return nil
}

// lacksKey returns the outcome of a job whose args, or whose checkpoint, cannot be read here.
func (n *node) lacksKey(c *store.Claimed) (*store.Outcome, bool) {
	err := missing(c.Job.Args, c.Job.Codec)
	if err == nil && c.Checkpoint != nil {
		err = onlyMissing(store.SealErrorJSON(c.Checkpoint.Value))
	}
	if err == nil {
		return nil, false
	}
	return n.holdFor(c, err), true
}

// lacking notes that a run cannot read what it remembers, and ends it. It returns the error.
func (r *Run) lacking(err error) error {
	if err == nil {
		return nil
	}
	r.mu.Lock()
	first := r.lacks == nil
	if first {
		r.lacks = err
	}
	r.mu.Unlock()
	if first {
		r.replay.Cancel(usercode.ErrShutdown)
	}
	return err
}

// holdIfLacking holds the job of a run that could not read what it remembers, whatever its handler
// has made of that: it replays where the key is. A cancel that ends the job stays one.
func (r *Run) holdIfLacking(o *store.Outcome) {
	r.mu.Lock()
	err := r.lacks
	r.mu.Unlock()
	if err != nil && o.State != store.Cancelled {
		outcome.Replace(o, r.node.holdFor(&r.claimed, err))
	}
}

// holdFor is the outcome of a job that is held for a key.
func (n *node) holdFor(c *store.Claimed, err error) *store.Outcome {
	n.sayLacking(&c.Job, err)
	// How often it was claimed without an attempt that counted: the more often, the longer.
	before := max(int(c.Lease.Number)-c.Job.Attempt, 0)
	return &store.Outcome{
		State: store.Waiting, Reason: store.ReasonCodecKey, Error: err.Error(),
		Wait: &store.Wait{Until: n.store.Now().Add(lackingBackoff.Delay(min(before, 30) + 1))},
	}
}

// sayLacking logs that a key is missing, for each key once a minute.
func (n *node) sayLacking(job *store.Job, err error) {
	if n.engine.lacking.IsNew(err.Error()) {
		n.lines.Say(slog.LevelWarn, logs.AboutJob(job), "a job is held: this node lacks the key of its payloads; give it the key, as all nodes",
			slog.String(logs.KeyError, err.Error()))
	}
}

// sayCodecFails logs why payloads could not be decoded though no key is missing, each error once a
// minute: the jobs are held as if one were.
func (e *Engine) sayCodecFails(err error) {
	if e.lacking.IsNew("failed: " + err.Error()) {
		e.lines.Say(slog.LevelError, logs.About{}, "the codec could not decode payloads; jobs that need them are held",
			slog.Any(logs.KeyError, err))
	}
}
