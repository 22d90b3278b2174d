package machine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// anyOutcome draws an outcome of a run, or one that was sent before, as a caller repeats it.
func (m *machine) anyOutcome(t *rapid.T, before []*run) (*run, store.Outcome, bool) {
	if len(m.outcomes) > 0 && chance(t, "repeat", 15) {
		s := one(t, "sent", m.outcomes)
		// Only what was accepted, or was refused because the run was taken away, is repeated by a
		// caller: the answer to a second outcome of a run was an error, not silence.
		if !s.run.ended || m.accepted(s) {
			s.outcome.Repeat = true
			return s.run, s.outcome, true
		}
	}
	r := m.anyRun(t)
	if r == nil || (m.mode.lossy && (r.ended || slices.Contains(before, r))) {
		// A second outcome of a run, repeated since its answer was lost, would be taken for the
		// first.
		return nil, store.Outcome{}, false
	}
	state := pick(t, "state", store.Completed, store.Completed, store.Completed, store.Retryable, store.Retryable,
		store.Scheduled, store.Available, store.Failed, store.Cancelled, store.Running)
	o := *env.Outcome(r.store, state)
	if o.Error != "" {
		o.Error += fmt.Sprint(" ", len(m.outcomes)) // to tell the last one from those before
	}
	if state == store.Available && chance(t, "never began", 40) {
		o.KeepsPlace, o.StartedAt = true, time.Time{}
	}
	if state == store.Failed {
		o.Fingerprint = pick(t, "fingerprint", int64(-5), 7, 0)
	}
	if state == store.Retryable || state == store.Scheduled {
		o.Delay = pick(t, "delay", time.Second, 20*time.Second, time.Hour)
		if chance(t, "at a time", 30) {
			o.RunAt = m.clock.Now().Add(pick(t, "in", time.Second, 2*time.Minute))
		}
		// Of a run that is over it is not promised which error comes first.
		if isLive := r.job.live && r.store.Lease.Number == r.job.lease && !slices.Contains(before, r); isLive && chance(t, "never", 2) {
			o.RunAt = env.BeyondTime
		}
	}
	return r, o, true
}

// makeKnowing lets a run that is to be cancelled know of it, or not.
func (m *machine) makeKnowing(t *rapid.T, r *run, o *store.Outcome) {
	if o.Repeat {
		return
	}
	if record, err := m.model.Get(m.ctx, "", r.store.Job.ID); err == nil && record.CancelRequested {
		o.CancelSeen = chance(t, "cancel seen", 50)
	}
}

// accepted tells whether this very outcome is the one that ended its run.
func (m *machine) accepted(s sent) bool {
	first := slices.IndexFunc(m.outcomes, func(other sent) bool { return other.run == s.run })
	if first < 0 {
		return false
	}
	o := m.outcomes[first].outcome
	return o.State == s.outcome.State && (o.Continue == nil) == (s.outcome.Continue == nil)
}

// makeDurable lets an outcome say what the run knows of its job, and ends some runs in the ways of
// those that remember.
func (m *machine) makeDurable(t *rapid.T, r *run, o *store.Outcome, batch *store.Batch, appended bool) {
	if o.Repeat {
		return
	}
	id := r.store.Job.ID
	_, last, messages := m.lengths(id)
	o.Durable = last > 0 || appended
	o.HasChildren = r.job.parent || slices.ContainsFunc(batch.Appends, func(a *store.Append) bool {
		return a.Lease.Job == id && len(a.Enqueues) > 0
	})
	if chance(t, "bind", 15) {
		o.Version = pick(t, "version", "v1", "v2")
	}
	if !o.Durable {
		return
	}
	switch {
	case o.State != store.Running && chance(t, "park", 40):
		*o = *env.Outcome(r.store, store.Waiting, func(parked *store.Outcome) {
			parked.Durable, parked.HasChildren, parked.Version = true, o.HasChildren, o.Version
			parked.Wait = m.anyWait(t, id, messages)
			parked.Reason, parked.Error = pick(t, "reason", store.ReasonNondeterminism, store.ReasonTerminal), "it is another one"
		})
	case o.State == store.Available && chance(t, "continue", 60):
		// What was lost on the way would meet another journal when it is repeated.
		if !m.mode.lossy || len(batch.Sends) == 0 && !appended {
			o.Continue = &store.Continue{Args: []byte(pick(t, "args", "1", "2", "3")), Data: []byte(`{}`)}
			o.KeepsPlace, o.StartedAt = false, r.store.ClaimedAt
		}
	}
}

func (m *machine) anyWait(t *rapid.T, id store.ID, messages int64) *store.Wait {
	wait := &store.Wait{
		Seen:     max(0, messages-pick(t, "unseen", int64(0), 0, 0, 1)),
		Failures: chance(t, "failures", 30),
		For:      []byte(`{"signal":"s"}`),
	}
	for kind := store.MessageSignal; kind <= store.MessageChild; kind++ {
		if chance(t, fmt.Sprint("kind ", kind), 35) {
			wait.Kinds |= store.MessagesOf(kind)
		}
	}
	if chance(t, "requests", 35) {
		wait.Kinds |= store.MessagesOf(store.MessageUpdate)
		wait.SeenUpdate = m.seenUpdate(t, id)
	}
	if chance(t, "count", 30) {
		wait.Count = rapid.Int64Range(1, 4).Draw(t, "of")
	}
	if chance(t, "until", 40) {
		wait.Until = m.clock.Now().Add(pick(t, "within", time.Second, 20*time.Second, time.Hour))
	}
	if chance(t, "hand over", 25) {
		wait.Kinds, wait.Count, wait.Failures = 0, 0, false
		wait.HandedOver, wait.Compensates = true, chance(t, "compensates", 40)
		return wait
	}
	// Reading: whose words are kept of a job that is to be paused, and parks itself held, is not
	// promised.
	if record, err := m.model.Get(m.ctx, "", id); err == nil && !record.PauseRequested {
		wait.Held = chance(t, "held", 10)
	}
	return wait
}

// drawOutcomes draws how runs end, and returns these.
func (m *machine) drawOutcomes(t *rapid.T, start bool, appended []*run, batch, model *store.Batch) (runs []*run) {
	for range rapid.IntRange(0, 3).Draw(t, "outcomes") {
		r, o, ok := m.anyOutcome(t, runs)
		if ok && slices.ContainsFunc(runs, r.related) {
			break // Reading: which of a parent and its child ends first in a batch is not promised
		}
		if ok && start && !m.mode.durable && !o.Repeat && chance(t, "release", 50) {
			o = *env.Outcome(r.store, store.Available) // which is in the way of what starts
		}
		if ok && m.mode.durable {
			m.makeDurable(t, r, &o, batch, slices.Contains(appended, r))
		}
		if !ok {
			break
		}
		m.makeKnowing(t, r, &o)
		if !o.Repeat {
			o.Meta = m.anyMeta(t)
		}
		a, b := o, m.forModel(o, r.store.Job.ID)
		a.Lease, b.Lease = r.store.Lease, r.model.Lease
		batch.Outcomes, model.Outcomes = append(batch.Outcomes, &a), append(model.Outcomes, &b)
		runs = append(runs, r)
	}
	return runs
}

// checkOutcomes compares what became of the runs, and remembers it.
func (m *machine) checkOutcomes(runs []*run, plain, batch, model *store.Batch) {
	for i, o := range batch.Outcomes {
		m.sameErr("outcome "+o.State.String(), o.Err, model.Outcomes[i].Err)
		if !m.mode.lossy && !o.Repeat || o.State != store.Waiting && o.Continue == nil { // see Outcome.Final
			m.same("final state", o.Final, model.Outcomes[i].Final)
		}
		if !m.mode.lossy && !o.Repeat {
			m.same("due", o.Due, model.Outcomes[i].Due)
		}
		r := runs[i]
		if !errors.Is(o.Err, store.ErrInvalid) { // which is not sent again
			m.outcomes = append(m.outcomes, sent{r, *plain.Outcomes[i]})
		}
		if o.Err == nil && !r.ended {
			r.ended = true
			r.job.wait = o.Wait
			r.job.pass(model.Outcomes[i].Final) // it may be due again before anybody looks
			if r.job.lease == r.store.Lease.Number {
				r.job.live = false
			}
		}
	}
}
