package storetest

import (
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
)

var childrenTests = []test{
	{"AtomicTransitions_every_way_to_finish_answers_the_parent", childAnswers},
	{"a_child_that_does_not_answer_says_nothing", childSilent},
	{"NoLoss_an_answer_wakes_a_parent_that_waits_for_it", childWakes},
	{"NoLoss_an_answer_before_the_park_is_seen_by_it", childBeforePark},
	{"a_parent_that_counts_is_woken_by_the_last_answer", childCount},
	{"a_parent_may_be_woken_by_failures_alone", childFailures},
	{"a_parent_that_has_completed_gets_no_answer", childParentCompleted},
	{"a_parent_that_failed_gets_the_answer_and_no_wake_up", childParentFailed},
	{"a_repeated_outcome_answers_once", childRepeated},
	{"a_child_that_finishes_again_answers_again", childAgain},
	{"children_are_listed_by_their_parent", childListed},
}

// answers are the messages of children that a job has, which must be numbered without gaps among the others.
func (e *env) answers(id store.ID) []store.Message {
	e.Helper()
	var answers []store.Message
	for i, m := range e.messages(id) {
		if m.Seq != int64(i+1) {
			e.Fatalf("message %d has the number %d", i+1, m.Seq)
		}
		if m.Kind == store.MessageChild {
			answers = append(answers, m)
		}
	}
	return answers
}

// childAnswers: the words of a rescue, and of the end of a parent, are the store's own.
func childAnswers(e *env) {
	result := []byte("\x00\xff any bytes")
	node := e.join()
	parent := e.claimOne(node, e.add())
	running := func(change ...func(*store.Enqueue)) store.Claimed {
		e.Helper()
		id := e.bear(&parent, 1, change...)[0]
		other := e.join()
		run := e.claimOne(other, id)
		return run
	}
	asked := func(durable bool) store.Claimed {
		e.Helper()
		run := running()
		if durable {
			e.write(&run, step(1))
		}
		e.cancel(run.Job.ID)
		return run
	}
	withDeadline := func(q *store.Enqueue) { q.Job.Options.Deadline = e.clock.Now().Add(time.Minute) }
	cancelled := store.Message{State: store.Cancelled, Reason: store.ReasonCancelled, Error: "not needed"}
	terminated := store.Message{State: store.Cancelled, Reason: store.ReasonTerminated, Error: "enough"}
	for _, c := range []struct {
		what string
		end  func() store.ID
		want store.Message
	}{
		{"completed", func() store.ID {
			run := running(func(q *store.Enqueue) { q.Job.Codec = 4 })
			e.end(run, store.Completed, func(o *store.Outcome) { o.Result = result })
			return run.Job.ID
		}, store.Message{State: store.Completed, Data: result, Codec: 4}},
		{"completed without a result", func() store.ID {
			run := running()
			e.end(run, store.Completed, func(o *store.Outcome) { o.Result = nil })
			return run.Job.ID
		}, store.Message{State: store.Completed}},
		{"failed", func() store.ID {
			run := running()
			e.end(run, store.Failed)
			return run.Job.ID
		}, store.Message{State: store.Failed, Reason: store.ReasonTerminal, Error: "it is broken"}},
		{"cancelled by its handler", func() store.ID {
			run := running()
			e.end(run, store.Cancelled)
			return run.Job.ID
		}, store.Message{State: store.Cancelled, Reason: store.ReasonCancelled, Error: "the handler gave up"}},
		{"cancelled before it ran", func() store.ID {
			id := e.bear(&parent, 1)[0]
			e.cancel(id)
			return id
		}, cancelled},
		{"cancelled before its time", func() store.ID {
			id := e.bear(&parent, 1, delay(time.Hour))[0]
			e.cancel(id)
			return id
		}, cancelled},
		{"cancelled while it ran", func() store.ID {
			run := asked(false)
			e.end(run, store.Retryable)
			return run.Job.ID
		}, cancelled},
		{"cancelled when its node left", func() store.ID {
			run := asked(false)
			e.leave(run.Lease.Node)
			e.sweep()
			return run.Job.ID
		}, cancelled},
		{"cancelled when its node died", func() store.ID {
			run := asked(false)
			e.clock.Advance(deadAfter / 2)
			e.beat(node)
			e.clock.Advance(deadAfter/2 + time.Second)
			e.rescue()
			return run.Job.ID
		}, cancelled},
		{"cancelled in order", func() store.ID {
			run := asked(true)
			e.end(run, store.Cancelled, func(o *store.Outcome) { o.Error = "in order" })
			return run.Job.ID
		}, store.Message{State: store.Cancelled, Reason: store.ReasonCancelled, Error: "in order"}},
		{"over its deadline", func() store.ID {
			run := running(withDeadline)
			e.end(run, store.Retryable, func(o *store.Outcome) { o.Delay = time.Hour })
			return run.Job.ID
		}, store.Message{State: store.Failed, Reason: store.ReasonDeadline, Error: "it broke"}},
		{"terminated while it ran", func() store.ID {
			run := running()
			e.terminate(run.Job.ID)
			return run.Job.ID
		}, terminated},
		{"terminated before it ran", func() store.ID {
			id := e.bear(&parent, 1)[0]
			e.terminate(id)
			return id
		}, terminated},
		{"terminated while it waited", func() store.ID {
			run := running()
			e.write(&run, step(1))
			e.park(run, forSignals())
			e.terminate(run.Job.ID)
			return run.Job.ID
		}, terminated},
		{"a crash loop", func() store.ID {
			run := running(attempts(1))
			e.clock.Advance(deadAfter / 2)
			e.beat(node)
			e.clock.Advance(deadAfter/2 + time.Second)
			e.rescue()
			return run.Job.ID
		}, store.Message{State: store.Failed, Reason: store.ReasonCrashLoop, Error: "?"}},
		{"over its deadline when its node died", func() store.ID {
			run := running(func(q *store.Enqueue) { q.Job.Options.Deadline = e.clock.Now().Add(time.Second) })
			e.clock.Advance(deadAfter / 2)
			e.beat(node)
			e.clock.Advance(deadAfter/2 + time.Second)
			e.rescue()
			return run.Job.ID
		}, store.Message{State: store.Failed, Reason: store.ReasonDeadline, Error: "?"}},
		{"closed by its parent's end", func() store.ID {
			middle := running()
			id := e.bear(&middle, 1)[0]
			// The answer of the child of a parent that failed is kept by that parent.
			e.end(middle, store.Failed, withChildren)
			e.wantSameIDs("closed", e.closeChildren(10), id)
			if got := e.answers(middle.Job.ID); len(got) != 1 || got[0].From != id || got[0].Reason != store.ReasonCancelled {
				e.Fatalf("answers to the parent that failed: %+v", got)
			}
			return middle.Job.ID
		}, store.Message{State: store.Failed, Reason: store.ReasonTerminal, Error: "it is broken"}},
	} {
		before := len(e.answers(parent.Job.ID))
		id := c.end()
		after := e.answers(parent.Job.ID)
		if len(after) != before+1 {
			e.Fatalf("%s: %d answers came, want one: %+v", c.what, len(after)-before, after[before:])
		}
		got := after[before]
		record := e.get(id)
		if !record.State.Finished() || record.State != got.State || record.Reason != got.Reason {
			e.Fatalf("%s: the answer is %+v, and the child %+v", c.what, got, record)
		}
		if c.want.Error == "?" {
			c.want.Error = record.Error
		}
		c.want.Seq, c.want.Kind, c.want.From, c.want.At = got.Seq, store.MessageChild, id, e.clock.Now()
		e.equal(c.what, got, c.want)
	}
	// What does not finish a child says nothing.
	before := len(e.answers(parent.Job.ID))
	for _, state := range []store.State{store.Retryable, store.Scheduled, store.Available, store.Waiting} {
		run := running()
		e.end(run, state)
		e.pauseJob(run.Job.ID, store.Waiting)
		if n := len(e.answers(parent.Job.ID)); n != before {
			e.Fatalf("a child that is %v answered", state)
		}
	}
}

func childSilent(e *env) {
	parent := e.started()
	ids := e.bear(&parent, 2, func(q *store.Enqueue) { q.Job.Answers = false })
	e.park(parent, forSignals(store.MessageChild))
	node := e.join()
	e.end(e.claimOne(node, ids[0]), store.Completed)
	e.cancel(ids[1])
	if answers := e.answers(parent.Job.ID); len(answers) != 0 {
		e.Fatalf("answers: %+v", answers)
	}
	e.wantState(parent.Job.ID, store.Waiting)
}

func childWakes(e *env) {
	node := e.join()
	for what, end := range map[string]func(store.ID){
		"an outcome": func(id store.ID) {
			run := e.claimOne(node, id)
			batch := &store.Batch{Outcomes: []*store.Outcome{outcome(run, store.Completed)}}
			e.apply(batch)
			e.wantWoken(batch, "parents")
		},
		"a cancel":      func(id store.ID) { e.cancel(id) },
		"a termination": func(id store.ID) { e.terminate(id) },
		"a rescue": func(id store.ID) {
			e.claimOne(e.join(), id)
			e.clock.Advance(deadAfter / 2)
			e.beat(node)
			e.clock.Advance(deadAfter/2 + time.Second)
			e.rescue()
		},
	} {
		parent := e.claimOne(node, e.add(queue("parents")))
		id := e.bear(&parent, 1, attempts(1))[0]
		e.park(parent, forSignals(store.MessageChild))
		end(id)
		record := e.get(parent.Job.ID)
		if record.State != store.Available || !record.RunAt.Equal(e.clock.Now()) {
			e.Fatalf("the parent of a child that %s ended: %+v", what, record)
		}
		next := e.claimOne(node, parent.Job.ID)
		if answers := e.answers(parent.Job.ID); len(answers) != 1 || answers[0].From != id || !next.Durable {
			e.Fatalf("%s: answers %+v", what, answers)
		}
		e.end(next, store.Completed)
	}
}

// childBeforePark: in an earlier batch, and in the very batch of the park, in either order of the outcomes.
func childBeforePark(e *env) {
	node := e.join()
	family := func() (parent, child store.Claimed) {
		e.Helper()
		parent = e.claimOne(node, e.add())
		id := e.bear(&parent, 1)[0]
		return parent, e.claimOne(node, id)
	}
	park := func(parent store.Claimed) *store.Outcome {
		return outcome(parent, store.Waiting, func(o *store.Outcome) { o.Wait, o.Durable = forSignals(store.MessageChild), true })
	}
	parent, child := family()
	e.end(child, store.Completed)
	if o := e.park(parent, forSignals(store.MessageChild)); o.Final != store.Available {
		e.Fatalf("park after the answer: %v", o.Final)
	}
	e.end(e.claimOne(node, parent.Job.ID), store.Completed)
	for _, parentFirst := range []bool{true, false} {
		parent, child = family()
		outcomes := []*store.Outcome{park(parent), outcome(child, store.Completed)}
		if !parentFirst {
			outcomes[0], outcomes[1] = outcomes[1], outcomes[0]
		}
		e.apply(&store.Batch{Outcomes: outcomes})
		for _, o := range outcomes {
			if o.Err != nil {
				e.Fatalf("outcome %v: %v", o.State, o.Err)
			}
		}
		if n := len(e.answers(parent.Job.ID)); n != 1 {
			e.Fatalf("%d answers", n)
		}
		// Whoever was first: the parent is awake.
		e.end(e.claimOne(node, parent.Job.ID), store.Completed)
	}
}

func childCount(e *env) {
	const n = 7
	parent := e.started()
	ids := e.bear(&parent, n)
	e.park(parent, &store.Wait{Count: n})
	node := e.join()
	runs := e.claimRuns(node)
	// One alone, some in a batch, one by a person; the last batch has more than the last one needs.
	e.end(runs[ids[0]], store.Completed)
	batch := &store.Batch{}
	for _, id := range ids[1:4] {
		batch.Outcomes = append(batch.Outcomes, outcome(runs[id], store.Completed))
	}
	e.apply(batch)
	e.wantWoken(batch)
	e.terminate(ids[4])
	e.wantState(parent.Job.ID, store.Waiting)
	batch = &store.Batch{Outcomes: []*store.Outcome{outcome(runs[ids[5]], store.Failed), outcome(runs[ids[6]], store.Completed)}}
	e.apply(batch)
	e.wantWoken(batch, "mail")
	e.wantState(parent.Job.ID, store.Available)
	var from []store.ID
	for _, m := range e.answers(parent.Job.ID) {
		from = append(from, m.From)
	}
	e.wantSameIDs("answers", from, ids...)
	e.claimOne(node, parent.Job.ID)
}

func childFailures(e *env) {
	node := e.join()
	for _, state := range []store.State{store.Failed, store.Cancelled} {
		parent := e.claimOne(node, e.add())
		ids := e.bear(&parent, 4)
		e.park(parent, &store.Wait{Count: 4, Failures: true})
		runs := e.claimRuns(node)
		e.end(runs[ids[0]], store.Completed)
		e.wantState(parent.Job.ID, store.Waiting)
		e.end(runs[ids[1]], state)
		e.wantState(parent.Job.ID, store.Available)
		parent = e.claimOne(node, parent.Job.ID)
		// It knows of that one now, and goes on waiting for the others.
		e.park(parent, &store.Wait{Seen: 2, Count: 2, Failures: true})
		e.end(runs[ids[2]], store.Completed)
		e.wantState(parent.Job.ID, store.Waiting)
		e.end(runs[ids[3]], store.Completed)
		e.end(e.claimOne(node, parent.Job.ID), store.Completed)
	}
	// One among others that answer in the same moment wakes as well, whichever of them came last.
	for failed := range 3 {
		parent := e.claimOne(node, e.add())
		ids := e.bear(&parent, 4)
		e.park(parent, &store.Wait{Count: 4, Failures: true})
		runs := e.claimRuns(node)
		batch := &store.Batch{}
		for i, id := range ids[:3] {
			state := store.Completed
			if i == failed {
				state = store.Failed
			}
			batch.Outcomes = append(batch.Outcomes, outcome(runs[id], state))
		}
		e.apply(batch)
		e.end(e.claimOne(node, parent.Job.ID), store.Completed)
		e.end(runs[ids[3]], store.Completed)
	}
	// A failure that came before the park is seen by it; one that is known is not.
	parent := e.claimOne(node, e.add())
	ids := e.bear(&parent, 2)
	runs := e.claimRuns(node)
	e.end(runs[ids[0]], store.Failed)
	if o := e.park(parent, &store.Wait{Count: 2, Failures: true}); o.Final != store.Available {
		e.Fatalf("park after a failure: %v", o.Final)
	}
	parent = e.claimOne(node, parent.Job.ID)
	if o := e.park(parent, &store.Wait{Seen: 1, Count: 1, Failures: true}); o.Final != store.Waiting {
		e.Fatalf("park after a failure that is known: %v", o.Final)
	}
	// A signal is no failure.
	if result := e.send(parent.Job.ID, signal("s")); !result.Woken {
		e.Fatalf("the count is over: %+v", result)
	}
}

func childParentCompleted(e *env) {
	parent := e.started()
	ids := e.bear(&parent, 3, onParentClose(store.AbandonChild))
	node := e.join()
	runs := e.claimRuns(node)
	e.end(runs[ids[0]], store.Completed)
	e.end(parent, store.Completed, withChildren)
	e.end(runs[ids[1]], store.Completed)
	if n := len(e.answers(parent.Job.ID)); n != 1 {
		e.Fatalf("a completed parent has %d answers, want the one from before", n)
	}
	// One that is gone is told nothing either.
	e.clock.Advance(time.Hour + slack)
	e.beat(node)
	if n := e.retain(store.RetainParams{Completed: time.Hour, Limit: 100}); n == 0 {
		e.Fatal("nothing was removed")
	}
	e.wantGone(parent.Job.ID)
	e.end(runs[ids[2]], store.Completed)
	e.wantState(ids[2], store.Completed)
	e.equal("journal of the parent", e.journal(parent.Job.ID), store.Journal{Job: parent.Job.ID})
}

func childParentFailed(e *env) {
	node := e.join()
	for _, state := range []store.State{store.Failed, store.Cancelled} {
		parent := e.claimOne(node, e.add())
		ids := e.bear(&parent, 2, onParentClose(store.AbandonChild))
		runs := e.claimRuns(node)
		e.end(parent, state, withChildren)
		before := e.get(parent.Job.ID)
		batch := &store.Batch{Outcomes: []*store.Outcome{outcome(runs[ids[0]], store.Completed)}}
		e.apply(batch)
		e.wantWoken(batch)
		e.terminate(ids[1])
		e.equal("record of the parent", e.get(parent.Job.ID), before, cmpopts.IgnoreFields(store.Record{}, "Messages"))
		if n := len(e.answers(parent.Job.ID)); n != 2 {
			e.Fatalf("a parent that is %v has %d answers", state, n)
		}
		// Once a person lets it go on, it finds them.
		e.resume(resumption(parent.Job.ID), store.Available)
		parent = e.claimOne(node, parent.Job.ID)
		if o := e.park(parent, &store.Wait{Count: 2}); o.Final != store.Available {
			e.Fatalf("park with all answers: %v", o.Final)
		}
		e.end(e.claimOne(node, parent.Job.ID), store.Completed)
	}
}

func childRepeated(e *env) {
	parent := e.started()
	id := e.bear(&parent, 1)[0]
	run := e.claimOne(e.join(), id)
	o := e.end(run, store.Completed)
	e.park(parent, &store.Wait{Seen: 1, Kinds: store.MessagesOf(store.MessageChild)})
	for range 2 {
		again := repeated(o)
		e.apply(&store.Batch{Outcomes: []*store.Outcome{again}})
		if again.Err != nil || again.Final != store.Completed {
			e.Fatalf("repeated outcome: %v, %v", again.Final, again.Err)
		}
	}
	e.cancel(id)
	e.terminate(id)
	if n := len(e.answers(parent.Job.ID)); n != 1 {
		e.Fatalf("%d answers", n)
	}
	e.wantState(parent.Job.ID, store.Waiting)
}

func childAgain(e *env) {
	parent := e.started()
	id := e.bear(&parent, 1)[0]
	e.park(parent, &store.Wait{Count: 2})
	node := e.join()
	e.end(e.claimOne(node, id), store.Failed)
	e.wantState(parent.Job.ID, store.Waiting)
	e.retry(id)
	run := e.claimOne(node, id)
	if run.Job.Parent != parent.Job.ID || !run.Job.Answers {
		e.Fatalf("the retried child: %+v", run.Job)
	}
	e.end(run, store.Completed)
	answers := e.answers(parent.Job.ID)
	if len(answers) != 2 || answers[0].State != store.Failed || answers[1].State != store.Completed {
		e.Fatalf("answers: %+v", answers)
	}
	e.wantState(parent.Job.ID, store.Available)
}

func childListed(e *env) {
	parent, other := e.started(), e.started()
	ids := e.bear(&parent, 3)
	e.bear(&other, 2)
	e.cancel(ids[0])
	e.wantSameIDs("children", e.listIDs(store.Filter{Parent: parent.Job.ID}), ids...)
	e.wantSameIDs("cancelled children",
		e.listIDs(store.Filter{Parent: parent.Job.ID, States: []store.State{store.Cancelled}}), ids[0])
	e.wantSameIDs("children of nobody", e.listIDs(store.Filter{Parent: e.ids.next()}))
	for _, record := range e.list(store.Filter{Parent: parent.Job.ID}, 2) {
		if record.Parent != parent.Job.ID || !record.Answers {
			e.Fatalf("record: %+v", record)
		}
	}
	listed := e.list(store.Filter{States: []store.State{store.Running}}, 10)
	for _, record := range listed {
		if record.Parent != (store.ID{}) || record.Answers {
			e.Fatalf("record of a parent: %+v", record)
		}
	}
}
