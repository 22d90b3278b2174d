package storetest

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

var transitionTests = []test{
	{"AtomicTransitions_every_edge_of_the_table_can_be_walked", walkTransitions},
	{"outcomes_lead_only_along_the_table", outcomesFollowTable},
}

// walkTransitions walks each edge of store.Transitions, and checks that it counts an attempt if the table says so. A new
// edge fails the test until it can be walked here.
func walkTransitions(e *env) {
	node := e.join()
	running := func(change ...func(*store.Enqueue)) store.Claimed {
		e.Helper()
		return e.claimOne(node, e.add(change...))
	}
	ended := func(state store.State) store.ID {
		e.Helper()
		run := running()
		e.end(run, state)
		return run.Job.ID
	}
	replaced := func(before, after time.Duration) func() (store.ID, func()) {
		return func() (store.ID, func()) {
			key := e.ids.next().String()
			id := e.add(unique(key), delay(before))
			return id, func() { e.try(unique(key), onConflict(store.Replace), delay(after)) }
		}
	}
	later := func() { e.clock.Advance(time.Hour); e.beat(node); e.promote() }
	outcomeOf := func(state store.State) func() (store.ID, func()) {
		return func() (store.ID, func()) {
			run := running()
			return run.Job.ID, func() { e.end(run, state) }
		}
	}
	resumed := func(begin func() store.ID) func() (store.ID, func()) {
		return func() (store.ID, func()) {
			id := begin()
			state := e.get(id).State
			e.pauseJob(id, store.Waiting)
			return id, func() { e.resume(resumption(id), state) }
		}
	}
	type edge struct {
		from, to store.State
		when     string
	}
	// Each makes a job in the state before, and returns what moves it.
	walks := map[edge]func() (store.ID, func()){
		{store.Scheduled, store.Available, "its run time came"}: func() (store.ID, func()) {
			return e.add(delay(time.Minute)), later
		},
		{store.Retryable, store.Available, "its backoff is over"}: func() (store.ID, func()) {
			return ended(store.Retryable), later
		},
		{store.Available, store.Running, "claimed: lease number + 1"}: func() (store.ID, func()) {
			id := e.add()
			return id, func() { e.claimOne(node, id) }
		},
		{store.Running, store.Completed, "the handler returned a result"}:                              outcomeOf(store.Completed),
		{store.Running, store.Retryable, "the handler failed or its node died, and attempts are left"}: outcomeOf(store.Retryable),
		{store.Running, store.Scheduled, "the handler snoozed"}:                                        outcomeOf(store.Scheduled),
		{store.Running, store.Available, "its node stopped and gave it back"}:                          outcomeOf(store.Available),
		{store.Running, store.Failed, "a terminal error, or no attempts left"}:                         outcomeOf(store.Failed),
		{store.Running, store.Cancelled, "a person, a parent or the handler asked"}:                    outcomeOf(store.Cancelled),
		{store.Available, store.Scheduled, "replaced by a later enqueue with its unique key"}:          replaced(0, time.Hour),
		{store.Scheduled, store.Scheduled, "replaced by a later enqueue with its unique key"}:          replaced(time.Hour, time.Minute),
		{store.Available, store.Available, "replaced by a later enqueue with its unique key"}:          replaced(0, 0),
		{store.Scheduled, store.Cancelled, "a person or a parent asked"}: func() (store.ID, func()) {
			id := e.add(delay(time.Hour))
			return id, func() { e.cancel(id) }
		},
		{store.Available, store.Cancelled, "a person or a parent asked"}: func() (store.ID, func()) {
			id := e.add()
			return id, func() { e.cancel(id) }
		},
		{store.Retryable, store.Cancelled, "a person or a parent asked"}: func() (store.ID, func()) {
			id := ended(store.Retryable)
			return id, func() { e.cancel(id) }
		},
		{store.Failed, store.Available, "a person's retry or resume, which is recorded"}: func() (store.ID, func()) {
			id := ended(store.Failed)
			return id, func() { e.retry(id) }
		},
		{store.Running, store.Waiting, "the handler parked, or a person paused the job"}: func() (store.ID, func()) {
			run := e.durable(1)
			return run.Job.ID, func() { e.park(run, forSignals()) }
		},
		{store.Scheduled, store.Waiting, "a person paused it"}: func() (store.ID, func()) {
			id := e.add(delay(time.Hour))
			return id, func() { e.pauseJob(id, store.Waiting) }
		},
		{store.Available, store.Waiting, "a person paused it"}: func() (store.ID, func()) {
			id := e.add()
			return id, func() { e.pauseJob(id, store.Waiting) }
		},
		{store.Retryable, store.Waiting, "a person paused it"}: func() (store.ID, func()) {
			id := ended(store.Retryable)
			return id, func() { e.pauseJob(id, store.Waiting) }
		},
		{store.Waiting, store.Available, "its timer is due, what it waited for arrived, or a person resumed it"}: func() (store.ID, func()) {
			id := e.parked(forSignals()).Job.ID
			return id, func() { e.send(id, signal("s")) }
		},
		{store.Waiting, store.Scheduled, "a person resumed it before its run time"}: resumed(func() store.ID {
			return e.add(delay(time.Hour))
		}),
		{store.Waiting, store.Retryable, "a person resumed it before its backoff was over"}: resumed(func() store.ID {
			return ended(store.Retryable)
		}),
		{store.Waiting, store.Cancelled, "a person or a parent asked"}: func() (store.ID, func()) {
			id := e.parked(forSignals()).Job.ID
			return id, func() { e.terminate(id) }
		},
		{store.Cancelled, store.Available, "a person's retry or resume, which is recorded"}: func() (store.ID, func()) {
			id := ended(store.Cancelled)
			return id, func() { e.retry(id) }
		},
	}
	walked := 0
	for _, t := range store.Transitions {
		if t.From == 0 {
			q := e.enqueue(e.job(delay(map[store.State]time.Duration{store.Scheduled: time.Hour}[t.To])))[0]
			if q.Result.State != t.To {
				e.Fatalf("an enqueue led to %v, want %v", q.Result.State, t.To)
			}
			e.cancel(q.Job.ID)
			walked++
			continue
		}
		walk := walks[edge{t.From, t.To, t.When}]
		if walk == nil {
			e.Fatalf("nothing walks %v -> %v, %q", t.From, t.To, t.When)
		}
		id, move := walk()
		before := e.get(id)
		if before.State != t.From {
			e.Fatalf("%v -> %v: the job is %v", t.From, t.To, before.State)
		}
		move()
		after := e.get(id)
		if after.State != t.To {
			e.Fatalf("%v -> %v, %q: the job is %v", t.From, t.To, t.When, after.State)
		}
		// A running job's attempt includes the one under way, which stays if it counts.
		if want := before.Attempt - 1; t.From == store.Running && !t.Counted && after.Attempt != want {
			e.Fatalf("%v -> %v: attempt %d, want %d", t.From, t.To, after.Attempt, want)
		}
		if t.From == store.Running && t.Counted && after.Attempt != before.Attempt {
			e.Fatalf("%v -> %v: attempt %d, want %d", t.From, t.To, after.Attempt, before.Attempt)
		}
		if !after.State.Finished() {
			e.terminate(id)
			e.leave(node)
			e.sweep()
			node = e.join()
		}
		walked++
	}
	if walked != len(walks)+2 {
		e.Fatalf("walked %d edges, know %d", walked, len(walks)+2)
	}
}

// outcomesFollowTable: what an outcome may not lead to is refused, and changes nothing.
func outcomesFollowTable(e *env) {
	for state := range store.State(12) {
		run := e.durable(1)
		o := outcome(run, state)
		e.apply(&store.Batch{Outcomes: []*store.Outcome{o}})
		got := e.get(run.Job.ID).State
		if store.Allowed(store.Running, state) {
			if o.Err != nil || got != state {
				e.Fatalf("running -> %v: %v, and the job is %v", state, o.Err, got)
			}
		} else if o.Err == nil || got != store.Running {
			e.Fatalf("running -> %v was accepted, and the job is %v", state, got)
		}
		e.leave(run.Lease.Node)
		if !got.Finished() {
			e.terminate(run.Job.ID)
		}
	}
}
