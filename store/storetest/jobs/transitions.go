package jobs

import (
	"errors"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var transitionTests = env.Tests{
	"AtomicTransitions_every_edge_of_the_table_can_be_walked": walkTransitions,
	"outcomes_lead_only_along_the_table":                      outcomesFollowTable,
}

// walkTransitions walks each edge of store.Transitions, and checks that it counts an attempt if the
// table says so, and that the feed tells of it. A new edge fails the test until it can be walked
// here.
func walkTransitions(e *env.Env) {
	e.Tell(true)
	w := &walker{Env: e, node: e.Join()}
	walks := env.Merged(w.outcomes(), w.enqueues(), w.verbs(), w.waits(), w.dependencies())
	walked := 0
	for _, t := range store.Transitions {
		walked++
		if t.From == 0 {
			change := map[store.State]func(*store.Enqueue){
				store.Scheduled: env.Delay(time.Hour), store.Available: env.Delay(0), store.Waiting: env.After(e.Add(env.Delay(100 * time.Hour))),
			}
			q := e.Enqueue(e.Job(change[t.To]))[0]
			if q.Result.State != t.To {
				e.Fatalf("an enqueue led to %v, want %v", q.Result.State, t.To)
			}
			w.wantTold(t, q.Job.ID)
			e.Cancel(q.Job.ID)
			continue
		}
		walk := walks[edge{t.From, t.To, t.When}]
		if walk == nil {
			e.Fatalf("nothing walks %v -> %v, %q", t.From, t.To, t.When)
		}
		w.walk(t, walk)
	}
	if walked != len(walks)+3 {
		e.Fatalf("walked %d edges, know %d", walked, len(walks)+3)
	}
}

// edge is a row of store.Transitions.
type edge struct {
	from, to store.State
	when     string
}

// walk makes a job in the state before, and returns what moves it.
type walk func() (store.ID, func())

// walker walks edges with the runs of a node.
type walker struct {
	*env.Env
	node int64
	at   store.FeedPosition // up to which the feed was read
}

// told is what the feed has told since it was read last.
func (w *walker) told() (changes []store.Change) {
	w.Helper()
	changes, w.at = w.Changes(w.at)
	return changes
}

// wantTold checks that the feed has told of an edge, unless that leads back to where it begins.
func (w *walker) wantTold(t store.Transition, id store.ID) {
	w.Helper()
	states := env.StatesOf(w.told(), id)
	if len(states) == 0 && t.From != t.To || len(states) > 0 && states[len(states)-1] != t.To {
		w.Fatalf("%v -> %v, %q: the feed tells of %v", t.From, t.To, t.When, states)
	}
}

// walk walks an edge.
func (w *walker) walk(t store.Transition, walk walk) {
	w.Helper()
	id, move := walk()
	before := w.Get(id)
	if before.State != t.From {
		w.Fatalf("%v -> %v: the job is %v", t.From, t.To, before.State)
	}
	w.told()
	move()
	after := w.Get(id)
	w.wantTold(t, id)
	if after.State != t.To {
		w.Fatalf("%v -> %v, %q: the job is %v", t.From, t.To, t.When, after.State)
	}
	// A running job's attempt includes the one under way, which stays if it counts.
	if want := before.Attempt - 1; t.From == store.Running && !t.Counted && after.Attempt != want {
		w.Fatalf("%v -> %v: attempt %d, want %d", t.From, t.To, after.Attempt, want)
	}
	if t.From == store.Running && t.Counted && after.Attempt != before.Attempt {
		w.Fatalf("%v -> %v: attempt %d, want %d", t.From, t.To, after.Attempt, before.Attempt)
	}
	if !after.State.Finished() {
		w.Terminate(id)
		w.Leave(w.node)
		w.Sweep()
		w.node = w.Join()
	}
}

// ended is a job one of whose runs ended so.
func (w *walker) ended(state store.State) func() store.ID {
	return func() store.ID {
		run := w.ClaimOne(w.node, w.Add())
		w.End(run, state)
		return run.Job.ID
	}
}

// delayed is a job that is to wait.
func (w *walker) delayed() store.ID { return w.Add(env.Delay(time.Hour)) }

// due is a job that may run.
func (w *walker) due() store.ID { return w.Add() }

// parked is a job that waits for a signal.
func (w *walker) parked() store.ID { return w.Parked(env.ForSignals()).Job.ID }

// moved is the walk of a job to which something is done.
func moved(begin func() store.ID, move func(store.ID)) walk {
	return func() (store.ID, func()) {
		id := begin()
		return id, func() { move(id) }
	}
}

// outcomes are the walks of runs.
func (w *walker) outcomes() map[edge]walk {
	ends := func(state store.State) walk {
		return func() (store.ID, func()) {
			run := w.ClaimOne(w.node, w.Add())
			if state == store.Waiting {
				w.Write(&run, env.Step(1))
			}
			return run.Job.ID, func() { w.End(run, state) }
		}
	}
	return map[edge]walk{
		{store.Running, store.Completed, "the handler returned a result"}:                              ends(store.Completed),
		{store.Running, store.Retryable, "the handler failed or its node died, and attempts are left"}: ends(store.Retryable),
		{store.Running, store.Scheduled, "the handler snoozed, or asked its queue to rest"}:            ends(store.Scheduled),
		{store.Running, store.Available, "its node stopped and gave it back"}:                          ends(store.Available),
		{store.Running, store.Failed, "a terminal error, or no attempts left"}:                         ends(store.Failed),
		{store.Running, store.Cancelled, "a person, a parent or the handler asked"}:                    ends(store.Cancelled),
		{store.Running, store.Waiting, "the handler parked, or a person paused the job"}:               ends(store.Waiting),
	}
}

// enqueues are the walks of jobs that come to their turn, or are replaced.
func (w *walker) enqueues() map[edge]walk {
	later := func(store.ID) {
		w.Clock.Advance(time.Hour)
		w.Beat(w.node)
		w.Promote()
	}
	replaced := func(before, after time.Duration) walk {
		return func() (store.ID, func()) {
			key := w.IDs.Next().String()
			id := w.Add(env.Unique(key), env.Delay(before))
			return id, func() { w.Try(env.Unique(key), env.OnConflict(store.Replace), env.Delay(after)) }
		}
	}
	const again = "replaced by a later enqueue with its unique key, or changed by a person"
	return map[edge]walk{
		{store.Scheduled, store.Available, "its run time came"}:       moved(w.delayed, later),
		{store.Retryable, store.Available, "its backoff is over"}:     moved(w.ended(store.Retryable), later),
		{store.Available, store.Running, "claimed: lease number + 1"}: moved(w.due, func(id store.ID) { w.ClaimOne(w.node, id) }),
		{store.Available, store.Scheduled, again}:                     replaced(0, time.Hour),
		{store.Scheduled, store.Scheduled, again}:                     replaced(time.Hour, time.Minute),
		{store.Available, store.Available, again}:                     replaced(0, 0),
	}
}

// verbs are the walks of jobs to which people do something.
func (w *walker) verbs() map[edge]walk {
	const asked, again, paused = "a person or a parent asked", "a person's retry or resume, which is recorded", "a person paused it"
	cancel := func(id store.ID) { w.Cancel(id) }
	pause := func(id store.ID) { w.PauseJob(id, store.Waiting) }
	return map[edge]walk{
		{store.Scheduled, store.Cancelled, asked}: moved(w.delayed, cancel),
		{store.Available, store.Cancelled, asked}: moved(w.due, cancel),
		{store.Retryable, store.Cancelled, asked}: moved(w.ended(store.Retryable), cancel),
		{store.Failed, store.Available, again}:    moved(w.ended(store.Failed), w.Retry),
		{store.Cancelled, store.Available, again}: moved(w.ended(store.Cancelled), w.Retry),
		{store.Scheduled, store.Waiting, paused}:  moved(w.delayed, pause),
		{store.Available, store.Waiting, paused}:  moved(w.due, pause),
		{store.Retryable, store.Waiting, paused}:  moved(w.ended(store.Retryable), pause),
		{store.Retryable, store.Retryable, "changed by a person"}: moved(w.ended(store.Retryable), func(id store.ID) {
			w.Edit(id, store.Edit{RunAt: new(w.Clock.Now().Add(time.Hour))}, store.Retryable)
		}),
	}
}

// waits are the walks of jobs that wait.
func (w *walker) waits() map[edge]walk {
	resumed := func(begin func() store.ID) walk {
		return func() (store.ID, func()) {
			id := begin()
			state := w.Get(id).State
			w.PauseJob(id, store.Waiting)
			return id, func() { w.Resume(env.Resumption(id), state) }
		}
	}
	signal := func(id store.ID) { w.Send(id, env.Signal("s")) }
	handedOver := func() store.ID { return w.HandedOver().Job.ID }
	finished := func(end func(store.ID) store.End) func(store.ID) { return func(id store.ID) { w.Finish(end(id)) } }
	end := func(id store.ID) { w.Terminate(id) }
	const due, early, backoff = "its timer is due, what it waited for arrived, or a person resumed it",
		"a person resumed it before its run time", "a person resumed it before its backoff was over"
	return map[edge]walk{
		{store.Waiting, store.Available, due}:                          moved(w.parked, signal),
		{store.Waiting, store.Scheduled, early}:                        resumed(w.delayed),
		{store.Waiting, store.Retryable, backoff}:                      resumed(w.ended(store.Retryable)),
		{store.Waiting, store.Cancelled, "a person or a parent asked"}: moved(w.parked, end),

		{store.Waiting, store.Completed, "handed over by its handler, and completed from outside"}: moved(handedOver, finished(env.CompletedBy)),
		{store.Waiting, store.Failed, "handed over by its handler, and failed from outside"}:       moved(handedOver, finished(env.FailedBy)),
	}
}

// dependencies are the walks of jobs that come after others.
func (w *walker) dependencies() map[edge]walk {
	var first store.ID // for which they wait
	other := func() store.ID {
		first = w.delayed()
		return first
	}
	after := func(change ...func(*store.Enqueue)) func() store.ID {
		return func() store.ID { return w.Add(append(change, env.After(other()))...) }
	}
	done := func(store.ID) {
		w.Retry(first)
		w.End(w.ClaimOne(w.node, first), store.Completed)
		w.CloseChildren(10)
	}
	lost := func(store.ID) {
		w.Cancel(first)
		w.CloseChildren(10)
	}
	wait := func(id store.ID) { w.Depend(id, store.RunIfFailed, store.Waiting, other()) }
	const made = "it was made to wait for other jobs"
	return map[edge]walk{
		{store.Waiting, store.Available, "the jobs that it came after have finished"}:                  moved(after(), done),
		{store.Waiting, store.Scheduled, "those that it came after have finished before its run time"}: moved(after(env.Delay(time.Hour)), done),
		{store.Waiting, store.Cancelled, "a job that it came after did not complete"}:                  moved(after(), lost),
		{store.Scheduled, store.Waiting, made}:                                                         moved(w.delayed, wait),
		{store.Available, store.Waiting, made}:                                                         moved(w.due, wait),
	}
}

// outcomesFollowTable: a store refuses an outcome that the table does not know, and nothing else of
// its batch. The job stays as it is.
func outcomesFollowTable(e *env.Env) {
	for state := range store.State(12) {
		run, beside := e.Durable(1), e.Job(env.Queue("beside"))
		o := env.Outcome(run, state)
		e.Apply(&store.Batch{Outcomes: []*store.Outcome{o}, Enqueues: []*store.Enqueue{beside}})
		e.NoError("the enqueue beside it", beside.Err)
		e.Cancel(beside.Job.ID)
		got := e.Get(run.Job.ID).State
		if store.Allowed(store.Running, state) {
			if o.Err != nil || got != state {
				e.Fatalf("running -> %v: %v, and the job is %v", state, o.Err, got)
			}
		} else if !errors.Is(o.Err, store.ErrInvalid) || got != store.Running {
			e.Fatalf("running -> %v: %v, and the job is %v", state, o.Err, got)
		}
		e.Leave(run.Lease.Node)
		if !got.Finished() {
			e.Terminate(run.Job.ID)
		}
	}
}
