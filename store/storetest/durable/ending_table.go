package durable

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// says is one way in which a run ends.
type says struct {
	what    string
	state   store.State
	plain   bool // also of jobs that do not remember
	due     time.Duration
	reason  store.Reason
	wait    *store.Wait
	anew    *store.Continue
	stuck   bool // it cannot go on without a person, whatever was asked
	isTimed bool // a deadline is a matter of when it is due
	unbegun bool // it keeps its run time
}

func allSays(now time.Time) []says {
	signals := store.MessagesOf(store.MessageSignal)
	return []says{
		{what: "completed", state: store.Completed, plain: true},
		{what: "failed", state: store.Failed, plain: true, reason: store.ReasonTimeout},
		{what: "cancelled", state: store.Cancelled, plain: true, reason: store.ReasonCancelled},
		{what: "retryable", state: store.Retryable, plain: true, due: time.Minute, reason: store.ReasonError, isTimed: true},
		{what: "scheduled", state: store.Scheduled, plain: true, due: time.Minute, reason: store.ReasonSnoozed, isTimed: true},
		{what: "available", state: store.Available, plain: true, reason: store.ReasonReleased},
		{what: "available, never begun", state: store.Available, plain: true, reason: store.ReasonReleased, unbegun: true},
		{what: "begun anew", state: store.Available, anew: &store.Continue{Args: []byte("x"), Data: []byte("{}")}},
		{what: "parked", state: store.Waiting, wait: &store.Wait{Kinds: signals}},
		{what: "parked until", state: store.Waiting, due: time.Minute, wait: &store.Wait{Kinds: signals, Until: now.Add(time.Minute)}},
		{what: "parked by a contradiction", state: store.Waiting, reason: store.ReasonNondeterminism, wait: &store.Wait{Kinds: signals}},
		{what: "held", state: store.Waiting, reason: store.ReasonTerminal, wait: &store.Wait{Held: true}},
		{what: "held by a contradiction", state: store.Waiting, reason: store.ReasonNondeterminism, wait: &store.Wait{Held: true}, stuck: true},
	}
}

// circumstances are those in which a run ends.
type circumstances struct {
	says
	durable, closing, cancelled, seen, paused bool
	left                                      bool          // the run said nothing: its node left
	deadline                                  time.Duration // from now; 0: none

	job   store.ID
	place time.Time // its run time if it is available
}

func (c *circumstances) String() string {
	return fmt.Sprintf("%s (durable %v, closing %v, cancelled %v, seen %v, paused %v, deadline in %v)",
		c.what, c.durable, c.closing, c.cancelled, c.seen, c.paused, c.deadline)
}

// isPossible reports whether such a run can be: not one that has seen a request which was not made,
// nor a job that is closing and has no journal. How a job parks that remembers nothing is not
// promised.
func (c *circumstances) isPossible() bool {
	return (c.durable || c.plain && !c.closing) && (c.cancelled || !c.seen)
}

func allCircumstances(now time.Time) []*circumstances {
	var all []*circumstances
	for _, s := range allSays(now) {
		for _, deadline := range []time.Duration{0, 30 * time.Second, time.Minute, time.Hour} {
			for bits := range 1 << 5 {
				c := &circumstances{
					says: s, durable: bits&1 != 0, closing: bits&2 != 0, cancelled: bits&4 != 0, seen: bits&8 != 0, paused: bits&16 != 0,
					deadline: deadline,
				}
				if c.isPossible() {
					all = append(all, c)
				}
			}
		}
	}
	return all
}

// end is where a job goes.
type end struct {
	State  store.State
	Reason store.Reason  // of a finished job, and of one that is held
	Due    time.Duration // from now, of a job that time wakes
	Held   bool
}

// isCounted reports whether the run counts as an attempt. What it did counts as its outcome says,
// wherever the job goes, unless the job is finished.
func (c *circumstances) isCounted() bool {
	return c.want().State.Finished() || c.state == store.Retryable
}

// attempt is what is recorded of the run: nothing of one that completed its job, waits or
// continues as new.
func (c *circumstances) attempt(run store.Claimed, o *store.Outcome, now time.Time) []store.Attempt {
	want := c.want()
	if want.State == store.Completed || !want.State.Finished() && (c.wait != nil || c.anew != nil) {
		return nil
	}
	attempt := env.AttemptOf(run, o, now)
	if want.State.Finished() {
		attempt.Reason, attempt.Error = want.Reason, c.words()
	}
	return []store.Attempt{attempt}
}

// words are those about the end of the job, or why it is held.
func (c *circumstances) words() string {
	want := c.want()
	switch {
	case want.State == store.Completed, want.State == store.Waiting && !want.Held:
		return ""
	case want.State == store.Cancelled && !c.state.Finished():
		return "not needed"
	case want.Reason == store.ReasonPaused:
		return "look first"
	}
	return "words"
}

// resumed is what a job that a person paused becomes when a person resumes it at once.
func (c *circumstances) resumed() store.State {
	if c.want().Reason == store.ReasonPaused && (c.state == store.Retryable || c.state == store.Scheduled) {
		return c.state
	}
	return store.Available
}

// want says where the job must go.
func (c *circumstances) want() end {
	asItSays := end{State: c.state, Due: c.due, Held: c.wait != nil && c.wait.Held}
	if c.state.Finished() || c.wait != nil {
		asItSays.Reason = c.reason
	}
	binds := c.deadline > 0 && !c.closing
	if binds && c.wait != nil && !asItSays.Held && (c.due == 0 || c.deadline < c.due) {
		asItSays.Due = c.deadline // every wait ends then
	}
	late := c.isTimed && binds && c.deadline <= c.due
	switch {
	case c.state.Finished():
	case c.cancelled && !c.durable:
		return end{State: store.Cancelled, Reason: store.ReasonCancelled}
	case c.cancelled && !c.seen && !c.closing && !c.stuck:
		return end{State: store.Available} // so that the next run ends it in order
	case c.cancelled: // nothing that was asked changes it, nor does the deadline
	case late && !c.durable:
		return end{State: store.Failed, Reason: store.ReasonDeadline}
	case c.paused && !asItSays.Held:
		return end{State: store.Waiting, Reason: store.ReasonPaused, Held: true}
	case late:
		asItSays.Due = c.deadline // so that the run at the deadline ends it in order
	}
	return asItSays
}

// begin makes a job for each of the circumstances, all of which run, and asks what was to be asked.
func begin(e *env.Env, all []*circumstances) map[store.ID]store.Claimed {
	e.Helper()
	var enqueues []*store.Enqueue
	var cancels, pauses []store.ID
	for _, c := range all {
		q := e.Job(env.Attempts(9))
		if c.deadline > 0 {
			q.Job.Options.Deadline = e.Clock.Now().Add(c.deadline)
		}
		q.Job.RunAt = e.Clock.Now().Add(-time.Second)
		c.job, c.place = q.Job.ID, e.Clock.Now()
		if c.unbegun {
			c.place = q.Job.RunAt
		}
		enqueues = append(enqueues, q)
		if c.cancelled {
			cancels = append(cancels, c.job)
		}
		if c.paused {
			pauses = append(pauses, c.job)
		}
	}
	for part := range slices.Chunk(enqueues, 200) {
		e.Enqueue(part...)
	}
	runs := e.ClaimRuns(e.Join())
	batch := &store.Batch{}
	for _, c := range all {
		if c.durable {
			batch.Appends = append(batch.Appends, &store.Append{Lease: runs[c.job].Lease, Entries: env.Steps(1, 1), Closing: c.closing})
		}
	}
	e.Apply(batch)
	for i, a := range batch.Appends {
		if a.Err != nil {
			e.Fatalf("append %d: %v", i, a.Err)
		}
	}
	e.Cancel(cancels...)
	e.TryPause(pauses...)
	return runs
}

func (c *circumstances) outcome(run store.Claimed) *store.Outcome {
	return env.Outcome(run, c.state, func(o *store.Outcome) {
		o.Durable, o.CancelSeen, o.Continue, o.Delay = c.durable, c.seen, c.anew, c.due
		o.Reason, o.Error, o.Version = c.reason, "words", "v1"
		if c.wait != nil {
			o.Wait, o.Delay = c.wait, 0
		}
		if c.unbegun {
			o.KeepsPlace, o.StartedAt = true, time.Time{}
		}
	})
}

func endingTable(e *env.Env) {
	all := allCircumstances(e.Clock.Now())
	runs := begin(e, all)
	random := rand.New(rand.NewPCG(1, 21))
	random.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
	outcomes := map[store.ID]*store.Outcome{}
	// Some of them end alone, the others in groups.
	for rest := all; len(rest) > 0; {
		n := min(len(rest), []int{1, 2, 40}[random.IntN(3)])
		batch := &store.Batch{}
		for _, c := range rest[:n] {
			outcomes[c.job] = c.outcome(runs[c.job])
			batch.Outcomes = append(batch.Outcomes, outcomes[c.job])
		}
		e.Apply(batch)
		for _, c := range rest[:n] {
			wantEnd(e, c, outcomes[c.job])
		}
		rest = rest[n:]
	}
	wantEnds(e, all)
	wantRecorded(e, all, runs, outcomes)
	wantKnown(e, all, runs, outcomes)
	// Nothing of it changes by itself: only runs of a job that remembers answer what was asked of
	// it.
	if n := e.Sweep(); n != 0 {
		e.Fatalf("the sweep applied %d requests", n)
	}
	wantEnds(e, all)
	wantNextTold(e, all, "send@v1")
}

// endingLeft: a run whose node leaves ends like one that gives its job back.
func endingLeft(e *env.Env) {
	all := slices.DeleteFunc(allCircumstances(e.Clock.Now()), func(c *circumstances) bool { return c.what != "available" || c.seen })
	runs := begin(e, all)
	e.Leave(runs[all[0].job].Lease.Node)
	for _, c := range all {
		c.left = true
	}
	if n := e.Sweep(); n != 0 {
		e.Fatalf("the sweep applied %d requests", n)
	}
	wantEnds(e, all)
	wantNextTold(e, all, "send")
}

// wantEnd checks the answer to an outcome.
func wantEnd(e *env.Env, c *circumstances, o *store.Outcome) {
	e.Helper()
	want, due := c.want(), time.Time{}
	if want.Due > 0 {
		due = e.Clock.Now().Add(want.Due)
	}
	if o.Err != nil || o.Final != want.State || !o.Due.Equal(due) {
		e.Fatalf("%v: %v, due at %v, %v; want %v, due at %v", c, o.Final, o.Due, o.Err, want.State, due)
	}
}

// wantEnds checks where all jobs are.
func wantEnds(e *env.Env, all []*circumstances) {
	e.Helper()
	records := map[store.ID]store.Record{}
	for _, r := range e.List(store.Filter{}, 1000) {
		records[r.ID] = r
	}
	for _, c := range all {
		r, want := records[c.job], c.want()
		got := end{State: r.State, Reason: r.Reason}
		if r.Wait != nil {
			got.Held, got.Reason = r.Wait.Held, r.Wait.Reason
		}
		// Reading: a run may hold itself when it was to be held; whose words are kept then is not
		// promised.
		isVague := c.paused && want.Held
		if isVague {
			got.Reason = want.Reason
		}
		switch {
		case r.State == store.Scheduled, r.State == store.Retryable, r.State == store.Waiting && want.Due > 0:
			got.Due = r.RunAt.Sub(e.Clock.Now())
		case r.State == store.Available && !r.RunAt.Equal(c.place):
			e.Fatalf("%v: it is available, and due at %v", c, r.RunAt)
		}
		e.Equal(c.String(), got, want)
		c.wantRest(e, &r, isVague)
	}
}

// wantRest checks the other fields of a record.
func (c *circumstances) wantRest(e *env.Env, r *store.Record, isVague bool) {
	e.Helper()
	want, attempt, words := c.want(), 0, r.Error
	if c.isCounted() {
		attempt = 1
	}
	if r.Attempt != attempt {
		e.Fatalf("%v: %d attempts, want %d", c, r.Attempt, attempt)
	}
	version := "v1"
	if c.left || want.State.Finished() { // only a run that says so binds its job, and only if that goes on
		version = ""
	}
	if r.Kind != "send" || r.Version != version {
		e.Fatalf("%v: the kind %q, bound to version %q", c, r.Kind, r.Version)
	}
	if r.PauseRequested || r.CancelRequested && want.State.Finished() {
		e.Fatalf("%v: it is still asked to stop: %+v", c, r)
	}
	if r.Wait != nil {
		words = r.Wait.Error
		if !want.Held && !r.Wait.Until.Equal(c.wait.Until) { // which is what it said, not when its deadline wakes it
			e.Fatalf("%v: it waits until %v, want %v", c, r.Wait.Until, c.wait.Until)
		}
	}
	if (want.State.Finished() || want.Held) && !isVague && words != c.words() {
		e.Fatalf("%v: the words are %q, want %q", c, words, c.words())
	}
}

// wantRecorded checks what is recorded of the runs.
func wantRecorded(e *env.Env, all []*circumstances, runs map[store.ID]store.Claimed, outcomes map[store.ID]*store.Outcome) {
	e.Helper()
	for _, c := range all {
		e.Equal(c.String(), e.Get(c.job).Attempts, c.attempt(runs[c.job], outcomes[c.job], e.Clock.Now()))
	}
}

// wantKnown checks that outcomes are known when they are repeated, and refused when a run sends
// them again as new ones.
func wantKnown(e *env.Env, all []*circumstances, runs map[store.ID]store.Claimed, outcomes map[store.ID]*store.Outcome) {
	e.Helper()
	for part := range slices.Chunk(all, 40) {
		batch := &store.Batch{}
		for _, c := range part {
			batch.Outcomes = append(batch.Outcomes, env.Repeated(outcomes[c.job]), c.outcome(runs[c.job]))
		}
		e.Apply(batch)
		for i, c := range part {
			o, want := batch.Outcomes[2*i], c.want().State
			if c.attempt(runs[c.job], outcomes[c.job], e.Clock.Now()) == nil {
				want = c.state // see Outcome.Final
			}
			if due := outcomes[c.job].Due; o.Err != nil || o.Final != want || !o.Due.IsZero() && !o.Due.Equal(due) {
				e.Fatalf("%v: repeated: %v, due at %v, %v; want %v, due at %v or at no time", c, o.Final, o.Due, o.Err, want, due)
			}
			e.WantErr(c.String()+", for the second time", batch.Outcomes[2*i+1].Err, store.ErrLeaseLost)
		}
	}
}

// wantNextTold lets every unfinished job run on, as the kind to which it is bound. If the job was
// to be cancelled its runs must be told; they are not paused.
func wantNextTold(e *env.Env, all []*circumstances, kind string) {
	e.Helper()
	want := map[store.ID]bool{}
	wake := &store.Batch{}
	for _, c := range all {
		end := c.want()
		if end.State.Finished() {
			continue
		}
		want[c.job] = c.cancelled
		switch {
		case end.Held:
			state, due := c.resumed(), c.due
			if c.deadline > 0 && !c.closing {
				due = min(due, c.deadline)
			}
			e.Resume(env.Resumption(c.job), state)
			if r := e.Get(c.job); state != store.Available && !r.RunAt.Equal(e.Clock.Now().Add(due)) {
				e.Fatalf("%v: after the pause it is due at %v", c, r.RunAt)
			}
		case end.State == store.Waiting && end.Due == 0:
			wake.Sends = append(wake.Sends, &store.Send{Job: c.job, Message: env.Signal("s")})
		}
	}
	e.Apply(wake)
	e.Clock.Advance(2 * time.Hour)
	wantTold(e, want, kind)
}

// wantTold lets jobs run on, as the kind to which they are bound. Those that are to be cancelled
// must be told, and no others. A run that is told gives its job back, since the end may take
// several runs: then the next one must be told too.
func wantTold(e *env.Env, want map[store.ID]bool, kind string) {
	e.Helper()
	node := e.Join()
	for range 2 {
		runs := e.ClaimRuns(node, kind)
		wantToldRuns(e, want, runs, e.Beat(node))
		e.EndAll(slices.Collect(maps.Values(runs)), store.Available)
		if n := e.Sweep(); n != 0 {
			e.Fatalf("the sweep applied %d requests", n)
		}
	}
}

func wantToldRuns(e *env.Env, want map[store.ID]bool, runs map[store.ID]store.Claimed, beat store.Beat) {
	e.Helper()
	asked := map[store.ID]bool{}
	for _, c := range beat.Cancels {
		asked[c.Job] = c.Reason == "not needed" && c.Actor == "ada"
	}
	for id, cancelled := range want {
		run, claimed := runs[id]
		if !claimed || run.CancelRequested != cancelled || cancelled != (run.CancelReason == "not needed") || asked[id] != cancelled {
			e.Fatalf("the next run of %v was claimed: %v; told to stop: %v, with %q, and by the beat: %v; want %v",
				id, claimed, run.CancelRequested, run.CancelReason, asked[id], cancelled)
		}
	}
	if len(beat.Pauses) != 0 || len(runs) != len(want) {
		e.Fatalf("%d runs, want %d; the beat brings the pauses %v", len(runs), len(want), beat.Pauses)
	}
}
