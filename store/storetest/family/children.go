package family

import (
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var childrenTests = env.Tests{
	"AtomicTransitions_every_way_to_finish_answers_the_parent": childAnswers,
	"a_child_that_does_not_answer_says_nothing":                childSilent,
	"NoLoss_an_answer_before_the_park_is_seen_by_it":           childBeforePark,
	"a_parent_that_counts_is_woken_by_the_last_answer":         childCount,
	"a_parent_may_be_woken_by_failures_alone":                  childFailures,
	"a_parent_that_has_completed_gets_no_answer":               childParentCompleted,
	"a_parent_that_failed_gets_the_answer_and_no_wake_up":      childParentFailed,
	"children_are_listed_by_their_parent":                      childListed,
	"a_queue_whose_first_job_is_a_child_is_listed":             childOfItsOwnQueue,
}

// childOfItsOwnQueue: whichever way the store writes the append.
func childOfItsOwnQueue(e *env.Env) {
	run := e.Started()
	e.Bear(&run, 1, env.Queue("young"))
	again := &store.Append{
		Lease: run.Lease, Repeat: true, Entries: []store.Entry{env.Entry(2, store.EntryChild, "send")},
		Enqueues: []*store.Enqueue{e.Child(run.Job.ID, env.Queue("younger"))},
	}
	e.NoError("an append whose answer was lost before it arrived", e.TryAppend(again))
	for _, name := range []string{"young", "younger"} {
		if n := e.Queue(name).Counts[store.Available]; n.N != 1 {
			e.Errorf("queue %s has %+v", name, n)
		}
	}
}

// childAnswers: the words of a rescue, and of the end of a parent, are the store's own.
func childAnswers(e *env.Env) {
	p := &parent{Env: e, node: e.Join()}
	p.run = e.ClaimOne(p.node, e.Add())
	for _, ends := range [][]ending{p.outcomes(), p.requests(), p.losses()} {
		for _, c := range ends {
			p.wantAnswer(c)
		}
	}
	// A child that goes on does not answer.
	before := len(e.Answers(p.run.Job.ID))
	for _, state := range []store.State{store.Retryable, store.Scheduled, store.Available, store.Waiting} {
		run := p.running()
		e.End(run, state)
		e.PauseJob(run.Job.ID, store.Waiting)
		if n := len(e.Answers(p.run.Job.ID)); n != before {
			e.Fatalf("a child that is %v answered", state)
		}
	}
}

// parent is a run whose children end in all ways.
type parent struct {
	*env.Env
	node int64 // which lives
	run  store.Claimed
}

// ending is a way in which a child ends, and what it answers. The words "?" are the store's.
type ending struct {
	what string
	end  func() store.ID
	want store.Message
}

// wantAnswer ends a child, and checks what it answers.
func (p *parent) wantAnswer(c ending) {
	p.Helper()
	before := len(p.Answers(p.run.Job.ID))
	id := c.end()
	after := p.Answers(p.run.Job.ID)
	if len(after) != before+1 {
		p.Fatalf("%s: %d answers came, want one: %+v", c.what, len(after)-before, after[before:])
	}
	got := after[before]
	record := p.Get(id)
	if !record.State.Finished() || record.State != got.State || record.Reason != got.Reason {
		p.Fatalf("%s: the answer is %+v, and the child %+v", c.what, got, record)
	}
	if c.want.Error == "?" {
		c.want.Error = record.Error
	}
	c.want.Seq, c.want.Kind, c.want.From, c.want.At = got.Seq, store.MessageChild, id, p.Clock.Now()
	p.Equal(c.what, got, c.want)
}

// running is a child that runs, on a node of its own.
func (p *parent) running(change ...func(*store.Enqueue)) store.Claimed {
	p.Helper()
	id := p.Bear(&p.run, 1, change...)[0]
	return p.ClaimOne(p.Join(), id)
}

// asked is such a child that was asked to stop.
func (p *parent) asked() store.Claimed {
	p.Helper()
	run := p.running()
	p.Cancel(run.Job.ID)
	return run
}

// ends is the end of a run by an outcome.
func (p *parent) ends(begin func() store.Claimed, state store.State, change ...func(*store.Outcome)) func() store.ID {
	return func() store.ID {
		run := begin()
		p.End(run, state, change...)
		return run.Job.ID
	}
}

// lost is the end of a run by the death of its node.
func (p *parent) lost(begin func() store.Claimed) func() store.ID {
	return func() store.ID {
		run := begin()
		p.Clock.Advance(env.DeadAfter / 2)
		p.Beat(p.node)
		p.Clock.Advance(env.DeadAfter/2 + time.Second)
		p.Rescue()
		return run.Job.ID
	}
}

// until is a child that has a deadline.
func (p *parent) until(d time.Duration) func() store.Claimed {
	return func() store.Claimed {
		return p.running(env.Deadline(p.Clock.Now().Add(d)))
	}
}

// outcomes are the ends by what runs say.
func (p *parent) outcomes() []ending {
	result := []byte("\x00\xff any bytes")
	plain := func() store.Claimed { return p.running() }
	coded := func() store.Claimed { return p.running(func(q *store.Enqueue) { q.Job.Codec = 4 }) }
	durable := func() store.Claimed {
		run := p.running()
		p.Write(&run, env.Step(1))
		p.Cancel(run.Job.ID)
		return run
	}
	with := func(result []byte) func(*store.Outcome) { return func(o *store.Outcome) { o.Result = result } }
	return []ending{
		{"completed", p.ends(coded, store.Completed, with(result)), store.Message{State: store.Completed, Data: result, Codec: 4}},
		{"completed without a result", p.ends(plain, store.Completed, with(nil)), store.Message{State: store.Completed}},
		{
			"failed", p.ends(plain, store.Failed),
			store.Message{State: store.Failed, Reason: store.ReasonTerminal, Error: "it is broken"},
		},
		{
			"cancelled by its handler", p.ends(plain, store.Cancelled),
			store.Message{State: store.Cancelled, Reason: store.ReasonCancelled, Error: "the handler gave up"},
		},
		{
			"cancelled in order", p.ends(durable, store.Cancelled, func(o *store.Outcome) { o.Error = "in order" }),
			store.Message{State: store.Cancelled, Reason: store.ReasonCancelled, Error: "in order"},
		},
		{
			"over its deadline", p.ends(p.until(time.Minute), store.Retryable, func(o *store.Outcome) { o.Delay = time.Hour }),
			store.Message{State: store.Failed, Reason: store.ReasonDeadline, Error: "it broke"},
		},
	}
}

// requests are the ends by what people ask.
func (p *parent) requests() []ending {
	cancelled := store.Message{State: store.Cancelled, Reason: store.ReasonCancelled, Error: "not needed"}
	terminated := store.Message{State: store.Cancelled, Reason: store.ReasonTerminated, Error: "enough"}
	cancel := func(change ...func(*store.Enqueue)) func() store.ID {
		return func() store.ID {
			id := p.Bear(&p.run, 1, change...)[0]
			p.Cancel(id)
			return id
		}
	}
	return []ending{
		{"cancelled before it ran", cancel(), cancelled},
		{"cancelled before its time", cancel(env.Delay(time.Hour)), cancelled},
		{"cancelled while it ran", p.ends(p.asked, store.Retryable), cancelled},
		{"cancelled when its node left", func() store.ID {
			run := p.asked()
			p.Leave(run.Lease.Node)
			p.Sweep()
			return run.Job.ID
		}, cancelled},
		{"terminated while it ran", func() store.ID {
			run := p.running()
			p.Terminate(run.Job.ID)
			return run.Job.ID
		}, terminated},
		{"terminated before it ran", func() store.ID {
			id := p.Bear(&p.run, 1)[0]
			p.Terminate(id)
			return id
		}, terminated},
		{"terminated while it waited", func() store.ID {
			run := p.running()
			p.Write(&run, env.Step(1))
			p.Park(run, env.ForSignals())
			p.Terminate(run.Job.ID)
			return run.Job.ID
		}, terminated},
	}
}

// losses are the ends by the death of a node, and of a parent.
func (p *parent) losses() []ending {
	last := func() store.Claimed { return p.running(env.Attempts(1)) }
	return []ending{
		{
			"cancelled when its node died", p.lost(p.asked),
			store.Message{State: store.Cancelled, Reason: store.ReasonCancelled, Error: "not needed"},
		},
		{"a crash loop", p.lost(last), store.Message{State: store.Failed, Reason: store.ReasonCrashLoop, Error: "?"}},
		{
			"over its deadline when its node died", p.lost(p.until(time.Second)),
			store.Message{State: store.Failed, Reason: store.ReasonDeadline, Error: "?"},
		},
		{"closed by its parent's end", func() store.ID {
			middle := p.running()
			id := p.Bear(&middle, 1)[0]
			// The answer of the child of a parent that failed is kept by that parent.
			p.End(middle, store.Failed, env.WithChildren)
			p.WantSameIDs("closed", p.CloseChildren(10), id)
			if got := p.Answers(middle.Job.ID); len(got) != 1 || got[0].From != id || got[0].Reason != store.ReasonCancelled {
				p.Fatalf("answers to the parent that failed: %+v", got)
			}
			return middle.Job.ID
		}, store.Message{State: store.Failed, Reason: store.ReasonTerminal, Error: "it is broken"}},
	}
}

func childSilent(e *env.Env) {
	parent := e.Started()
	ids := e.Bear(&parent, 2, func(q *store.Enqueue) { q.Job.Answers = false })
	e.Park(parent, env.ForSignals(store.MessageChild))
	node := e.Join()
	e.End(e.ClaimOne(node, ids[0]), store.Completed)
	e.Cancel(ids[1])
	if answers := e.Answers(parent.Job.ID); len(answers) != 0 {
		e.Fatalf("answers: %+v", answers)
	}
	e.WantState(parent.Job.ID, store.Waiting)
}

// childBeforePark: the child ends in an earlier batch, or in the batch of the park, before or after
// it.
func childBeforePark(e *env.Env) {
	node := e.Join()
	family := func() (parent, child store.Claimed) {
		e.Helper()
		parent = e.ClaimOne(node, e.Add())
		id := e.Bear(&parent, 1)[0]
		return parent, e.ClaimOne(node, id)
	}
	park := func(parent store.Claimed) *store.Outcome {
		return env.Outcome(parent, store.Waiting, func(o *store.Outcome) { o.Wait, o.Durable = env.ForSignals(store.MessageChild), true })
	}
	parent, child := family()
	e.End(child, store.Completed)
	e.ParkAs(store.Available, parent, env.ForSignals(store.MessageChild))
	e.End(e.ClaimOne(node, parent.Job.ID), store.Completed)
	for _, parentFirst := range []bool{true, false} {
		parent, child = family()
		outcomes := []*store.Outcome{park(parent), env.Outcome(child, store.Completed)}
		if !parentFirst {
			outcomes[0], outcomes[1] = outcomes[1], outcomes[0]
		}
		e.Apply(&store.Batch{Outcomes: outcomes})
		for _, o := range outcomes {
			if o.Err != nil {
				e.Fatalf("outcome %v: %v", o.State, o.Err)
			}
		}
		if n := len(e.Answers(parent.Job.ID)); n != 1 {
			e.Fatalf("%d answers", n)
		}
		// The parent is awake, whichever outcome came first.
		e.End(e.ClaimOne(node, parent.Job.ID), store.Completed)
	}
}

func childCount(e *env.Env) {
	const n = 7
	parent := e.Started()
	ids := e.Bear(&parent, n)
	e.Park(parent, &store.Wait{Count: n})
	node := e.Join()
	runs := e.ClaimRuns(node)
	// One child ends alone, some end in a batch, and a person ends one. The last batch has one
	// answer more than the count needs.
	e.End(runs[ids[0]], store.Completed)
	batch := &store.Batch{}
	for _, id := range ids[1:4] {
		batch.Outcomes = append(batch.Outcomes, env.Outcome(runs[id], store.Completed))
	}
	e.Apply(batch)
	e.WantWoken(batch)
	e.Terminate(ids[4])
	e.WantState(parent.Job.ID, store.Waiting)
	batch = &store.Batch{Outcomes: []*store.Outcome{env.Outcome(runs[ids[5]], store.Failed), env.Outcome(runs[ids[6]], store.Completed)}}
	e.Apply(batch)
	e.WantWoken(batch, "mail")
	e.WantState(parent.Job.ID, store.Available)
	var from []store.ID
	for _, m := range e.Answers(parent.Job.ID) {
		from = append(from, m.From)
	}
	e.WantSameIDs("answers", from, ids...)
	e.ClaimOne(node, parent.Job.ID)
}

func childFailures(e *env.Env) {
	node := e.Join()
	for _, state := range []store.State{store.Failed, store.Cancelled} {
		parent := e.ClaimOne(node, e.Add())
		ids := e.Bear(&parent, 4)
		e.Park(parent, &store.Wait{Count: 4, Failures: true})
		runs := e.ClaimRuns(node)
		e.End(runs[ids[0]], store.Completed)
		e.WantState(parent.Job.ID, store.Waiting)
		e.End(runs[ids[1]], state)
		e.WantState(parent.Job.ID, store.Available)
		parent = e.ClaimOne(node, parent.Job.ID)
		// The parent has seen that failure, and waits for the others.
		e.Park(parent, &store.Wait{Seen: 2, Count: 2, Failures: true})
		e.End(runs[ids[2]], store.Completed)
		e.WantState(parent.Job.ID, store.Waiting)
		e.End(runs[ids[3]], store.Completed)
		e.End(e.ClaimOne(node, parent.Job.ID), store.Completed)
	}
	// A failure among other answers of one batch wakes the parent, wherever it stands.
	for failed := range 3 {
		parent := e.ClaimOne(node, e.Add())
		ids := e.Bear(&parent, 4)
		e.Park(parent, &store.Wait{Count: 4, Failures: true})
		runs := e.ClaimRuns(node)
		batch := &store.Batch{}
		for i, id := range ids[:3] {
			state := store.Completed
			if i == failed {
				state = store.Failed
			}
			batch.Outcomes = append(batch.Outcomes, env.Outcome(runs[id], state))
		}
		e.Apply(batch)
		e.End(e.ClaimOne(node, parent.Job.ID), store.Completed)
		e.End(runs[ids[3]], store.Completed)
	}
	// The park sees a failure that came before it, unless the run says that it has seen it.
	parent := e.ClaimOne(node, e.Add())
	ids := e.Bear(&parent, 2)
	runs := e.ClaimRuns(node)
	e.End(runs[ids[0]], store.Failed)
	e.ParkAs(store.Available, parent, &store.Wait{Count: 2, Failures: true})
	parent = e.ClaimOne(node, parent.Job.ID)
	e.ParkAs(store.Waiting, parent, &store.Wait{Seen: 1, Count: 1, Failures: true})
	// A signal is no failure.
	if result := e.Send(parent.Job.ID, env.Signal("s")); !result.Woken {
		e.Fatalf("the count is over: %+v", result)
	}
}

func childParentCompleted(e *env.Env) {
	parent := e.Started()
	ids := e.Bear(&parent, 3, env.OnParentClose(store.AbandonChild))
	node := e.Join()
	runs := e.ClaimRuns(node)
	e.End(runs[ids[0]], store.Completed)
	e.End(parent, store.Completed, env.WithChildren)
	e.End(runs[ids[1]], store.Completed)
	if n := len(e.Answers(parent.Job.ID)); n != 1 {
		e.Fatalf("a completed parent has %d answers, want the one from before", n)
	}
	// A parent that was removed gets no answer either.
	e.Clock.Advance(time.Hour + env.Slack)
	e.Beat(node)
	if n := e.Retain(store.Retention{Completed: time.Hour, Limit: 100}); n == 0 {
		e.Fatal("nothing was removed")
	}
	e.WantGone(parent.Job.ID)
	e.End(runs[ids[2]], store.Completed)
	e.WantState(ids[2], store.Completed)
	e.Equal("journal of the parent", e.Journal(parent.Job.ID), store.Journal{Job: parent.Job.ID})
}

func childParentFailed(e *env.Env) {
	node := e.Join()
	for _, state := range []store.State{store.Failed, store.Cancelled} {
		parent := e.ClaimOne(node, e.Add())
		ids := e.Bear(&parent, 2, env.OnParentClose(store.AbandonChild))
		runs := e.ClaimRuns(node)
		e.End(parent, state, env.WithChildren)
		before := e.Get(parent.Job.ID)
		batch := &store.Batch{Outcomes: []*store.Outcome{env.Outcome(runs[ids[0]], store.Completed)}}
		e.Apply(batch)
		e.WantWoken(batch)
		e.Terminate(ids[1])
		e.Equal("record of the parent", e.Get(parent.Job.ID), before, cmpopts.IgnoreFields(store.Record{}, "Messages"))
		if n := len(e.Answers(parent.Job.ID)); n != 2 {
			e.Fatalf("a parent that is %v has %d answers", state, n)
		}
		// When a person lets the parent go on, it finds the answers.
		e.Resume(env.Resumption(parent.Job.ID), store.Available)
		parent = e.ClaimOne(node, parent.Job.ID)
		e.ParkAs(store.Available, parent, &store.Wait{Count: 2})
		e.End(e.ClaimOne(node, parent.Job.ID), store.Completed)
	}
}

func childListed(e *env.Env) {
	parent, other := e.Started(), e.Started()
	ids := e.Bear(&parent, 3)
	e.Bear(&other, 2)
	e.Cancel(ids[0])
	e.WantSameIDs("children", e.ListIDs(store.Filter{Parent: parent.Job.ID}), ids...)
	e.WantSameIDs("cancelled children",
		e.ListIDs(store.Filter{Parent: parent.Job.ID, States: []store.State{store.Cancelled}}), ids[0])
	e.WantSameIDs("children of nobody", e.ListIDs(store.Filter{Parent: e.IDs.Next()}))
	for _, record := range e.List(store.Filter{Parent: parent.Job.ID}, 2) {
		if record.Parent != parent.Job.ID || !record.Answers {
			e.Fatalf("record: %+v", record)
		}
	}
	listed := e.List(store.Filter{States: []store.State{store.Running}}, 10)
	for _, record := range listed {
		if record.Parent != (store.ID{}) || record.Answers {
			e.Fatalf("record of a parent: %+v", record)
		}
	}
}
