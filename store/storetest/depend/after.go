package depend

import (
	"errors"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// Jobs that are enqueued after others.
var afterTests = env.Tests{
	"what_waits_is_not_replaced_even_in_its_batch":           afterReplaced,
	"Order_a_job_waits_until_all_have_finished":              afterAll,
	"a_job_is_due_at_its_time_when_they_have":                afterScheduled,
	"what_has_finished_is_not_waited_for":                    afterFinished,
	"what_cannot_be_waited_for_is_refused_and_leaves_none":   afterRefused,
	"a_batch_may_have_both":                                  afterBatch,
	"an_enqueue_that_is_repeated_changes_nothing":            afterRepeated,
	"an_enqueue_that_finds_a_holder_of_its_key_adds_nothing": afterKeyed,
	"UniqueIsUnique_a_job_that_waits_holds_its_key":          afterUnique,
	"a_job_that_starts_with_its_enqueue_has_successors":      afterStarted,
	"a_chain_of_jobs_is_done_in_order":                       afterChain,
	"what_was_not_written_waits_for_nothing":                 afterNothing,
	"Retained_a_predecessor_is_removed_however_it_went_on":   afterGone,
}

func afterAll(e *env.Env) {
	node := e.Join()
	a, b := e.Add(), e.Add(env.Delay(time.Hour))
	q := e.Job(env.After(a, b, a))
	e.Enqueue(q)
	e.Equal("result", q.Result, store.EnqueueResult{ID: q.Job.ID, State: store.Waiting, RunAt: e.Clock.Now()})
	r := e.WantAwaits(q.Job.ID, a, b)
	e.Equal("predecessors", r.Predecessors, []store.Predecessor{
		{Dependency: store.Dependency{On: a}, State: store.Available}, {Dependency: store.Dependency{On: b}, State: store.Scheduled},
	})
	e.Equal("since", r.Wait.Since, e.Clock.Now())

	run := e.ClaimOne(node, a)
	e.WantNothing(node)
	e.WantIDs("ended", e.CloseChildren(10))
	if got := e.Get(q.Job.ID).Predecessors[0].State; got != store.Running {
		e.Fatalf("the first predecessor is said to be %v", got)
	}
	e.End(run, store.Completed)
	e.CloseChildren(10)
	e.WantAwaits(q.Job.ID, b)

	e.Clock.Advance(time.Hour)
	e.Promote()
	run = e.ClaimOne(node, b)
	e.End(run, store.Completed)
	closed := e.CloseOnce(10)
	e.WantState(q.Job.ID, store.Available)
	if !env.IsReady(closed.Wakes, env.Namespace, "mail") {
		e.Fatalf("nobody is told of the job: %+v", closed)
	}
	if got := e.Get(q.Job.ID); !got.RunAt.Equal(e.Clock.Now()) || got.Predecessors != nil || got.Wait != nil {
		e.Fatalf("the job that waits no more: %+v", got)
	}
	e.End(e.ClaimOne(node, q.Job.ID), store.Completed)
}

func afterScheduled(e *env.Env) {
	node := e.Join()
	first := e.ClaimOne(node, e.Add())
	soon, late := e.Add(env.After(first.Job.ID), env.Delay(time.Second)), e.Add(env.After(first.Job.ID), env.Delay(time.Hour))
	e.Clock.Advance(time.Minute)
	e.Promote()
	e.WantAwaits(soon, first.Job.ID)
	e.End(first, store.Completed)
	e.CloseChildren(10)
	e.WantState(soon, store.Available)
	e.WantState(late, store.Scheduled)
	e.ClaimOne(node, soon)
	e.Clock.Advance(time.Hour)
	e.Promote()
	e.ClaimOne(node, late)
}

func afterFinished(e *env.Env) {
	node := e.Join()
	ended := func(state store.State) store.ID {
		run := e.ClaimOne(node, e.Add(env.Queue("first")))
		e.End(run, state)
		return run.Job.ID
	}
	done, failed, cancelled := ended(store.Completed), ended(store.Failed), ended(store.Cancelled)
	e.WantState(e.Add(env.After(done)), store.Available)
	e.WantState(e.Add(env.After(done), env.Delay(time.Hour)), store.Scheduled)
	e.WantState(e.Add(env.AfterOr(store.RunIfFailed, failed, cancelled, done)), store.Available)

	held := e.Add(env.AfterOr(store.HoldIfFailed, failed, done))
	e.WantAwaits(held, failed)
	lost := e.Add(env.After(cancelled), env.Queue("lost"))
	e.WantAwaits(lost, cancelled)
	e.WantSameIDs("cancelled", e.CloseChildren(10), lost)
	r := e.Get(lost)
	words := store.CancelIfFailed.UnmetWords(cancelled, store.Cancelled)
	if r.State != store.Cancelled || r.Reason != store.ReasonCancelled || r.Error != words {
		e.Fatalf("the job whose predecessor was cancelled: %+v", r)
	}
	e.WantAwaits(held, failed)
}

func afterRefused(e *env.Env) {
	a, id := e.Add(), e.IDs.Next()
	missing, alien := e.IDs.Next(), e.InOtherSpace().Add()
	var many []store.ID
	for range store.MaxDependencies + 1 {
		many = append(many, e.IDs.Next())
	}
	for what, c := range map[string]struct {
		change func(*store.Enqueue)
		class  error
		want   store.DependencyError
	}{
		"a missing one":          {env.After(a, missing), store.ErrNotFound, store.DependencyError{On: missing, Fault: store.MissingPredecessor}},
		"of another namespace":   {env.After(alien), store.ErrNotFound, store.DependencyError{On: alien, Fault: store.MissingPredecessor}},
		"itself":                 {env.After(a, id), store.ErrInvalid, store.DependencyError{On: id, Fault: store.CyclicDependency}},
		"more than are possible": {env.After(many...), store.ErrInvalid, store.DependencyError{Fault: store.TooManyDependencies}},
	} {
		c.want.Job = id
		e.WantDependency(what, e.Try(env.ID(id), env.Unique("k"), c.change).Err, c.class, c.want)
		e.WantUnknown(id)
	}
	e.WantErr("no job", e.Try(env.After(store.ID{})).Err, store.ErrInvalid)
	e.WantErr("a policy that there is not", e.Try(env.AfterOr(store.OnlyIfCancelled+1, a)).Err, store.ErrInvalid)
	e.WantFree("k")

	e.End(e.ClaimOne(e.Join(), a), store.Completed)
	parent := e.Durable(1)
	child := e.Child(parent.Job.ID, env.After(a))
	refused := &store.Append{Lease: parent.Lease, Entries: env.Steps(2, 2), Enqueues: []*store.Enqueue{child}}
	e.WantErr("a child", e.TryAppend(refused), store.ErrInvalid)
	e.WantUnknown(child.Job.ID)
}

func afterBatch(e *env.Env) {
	a := e.Job()
	b, c := e.Job(env.After(a.Job.ID)), e.Job(env.Unique("c"))
	lost, early := e.Job(env.After(e.IDs.Next())), e.Job()
	d := e.Job(env.After(a.Job.ID, b.Job.ID, c.Job.ID), env.Unique("d"))
	early.After = env.Dependencies(store.RunIfFailed, a.Job.ID, d.Job.ID)
	after := e.Job(env.After(lost.Job.ID))
	e.Apply(&store.Batch{Enqueues: []*store.Enqueue{a, b, c, lost, early, after, d}})
	for i, q := range []*store.Enqueue{a, b, c, d} {
		e.NoError("enqueue", q.Err)
		if want := []store.State{store.Available, store.Waiting, store.Available, store.Waiting}[i]; q.Result.State != want {
			e.Fatalf("job %d is %v", i, q.Result.State)
		}
	}
	e.WantErr("one after a missing one", lost.Err, store.ErrNotFound)
	e.WantErr("one after one that was refused", after.Err, store.ErrNotFound)
	e.WantDependency("one after a later one", early.Err, store.ErrNotFound,
		store.DependencyError{Job: early.Job.ID, On: d.Job.ID, Fault: store.MissingPredecessor})
	for _, q := range []*store.Enqueue{lost, early, after} {
		e.WantUnknown(q.Job.ID)
	}
	e.WantAwaits(d.Job.ID, a.Job.ID, b.Job.ID, c.Job.ID)
	node := e.Join()
	for _, run := range e.Claim(node, 10) {
		if run.Job.ID == a.Job.ID && !run.HasSuccessors {
			e.Fatal("the run does not know that others come after its job")
		}
		e.End(run, store.Completed)
	}
	e.CloseChildren(10)
	e.End(e.ClaimOne(node, b.Job.ID), store.Completed)
	e.CloseChildren(10)
	e.ClaimOne(node, d.Job.ID)
}

func afterRepeated(e *env.Env) {
	node := e.Join()
	a, b := e.Add(), e.Add()
	q := e.Job(env.After(a))
	e.Enqueue(q)
	again := *q
	again.After, again.Result, again.KnownID = env.Dependencies(store.RunIfFailed, b), store.EnqueueResult{}, true
	e.Enqueue(&again)
	if !again.Result.Existing {
		e.Fatalf("repeated: %+v", again.Result)
	}
	missing := again
	missing.After = env.Dependencies(store.RunIfFailed, e.IDs.Next())
	e.Enqueue(&missing)
	e.WantAwaits(q.Job.ID, a)
	for _, run := range e.Claim(node, 10) {
		e.End(run, store.Completed)
	}
	e.CloseChildren(10)
	e.End(e.ClaimOne(node, q.Job.ID), store.Completed)
	e.Enqueue(&again)
	e.WantState(q.Job.ID, store.Completed)
}

func afterKeyed(e *env.Env) {
	a := e.Add()
	holder, named := e.Add(env.Unique("k")), e.Add(env.Key("n"))
	for _, how := range []store.OnConflict{store.ReturnExisting, store.Replace} {
		q := e.Try(env.Unique("k"), env.OnConflict(how), env.After(a))
		if q.Err != nil || q.Result.ID != holder {
			e.Fatalf("enqueue with a key that is taken: %+v, %v", q.Result, q.Err)
		}
	}
	if q := e.Try(env.Key("n"), env.After(a)); q.Err != nil || q.Result.ID != named {
		e.Fatalf("enqueue with a business key that is taken: %+v, %v", q.Result, q.Err)
	}
	e.WantState(holder, store.Available)
	e.WantState(named, store.Available)
}

func afterUnique(e *env.Env) {
	node := e.Join()
	run := e.ClaimOne(node, e.Add())
	waits := e.Add(env.Unique("k", store.Scheduled, store.Available), env.After(run.Job.ID))
	e.WantTaken("k", waits)
	if q := e.Try(env.Unique("k"), env.OnConflict(store.Replace), env.Args(`2`)); q.Result.Replaced || q.Result.ID != waits {
		e.Fatalf("a job that waits is replaced: %+v", q.Result)
	}
	e.End(run, store.Completed)
	e.CloseChildren(10)
	e.WantTaken("k", waits)
	e.ClaimOne(node, waits)
	e.WantFree("k")
}

func afterStarted(e *env.Env) {
	node := e.Join()
	a := e.Job()
	b := e.Job(env.After(a.Job.ID))
	a.Start, b.Start = true, true
	batch := e.Starting(node, a, b)
	e.Apply(batch)
	if b.Err != nil || b.Result.State != store.Waiting {
		e.Fatalf("the second job: %+v, %v", b.Result, b.Err)
	}
	runs := batch.Start.Claimed
	if len(runs) == 0 { // which a store may decide
		runs = e.Claim(node, 10)
	}
	e.WantIDs("started", env.ClaimedIDs(runs), a.Job.ID)
	e.End(runs[0], store.Completed)
	e.CloseChildren(10)
	e.ClaimOne(node, b.Job.ID)
}

func afterChain(e *env.Env) {
	node := e.Join()
	var chain []*store.Enqueue
	for i := range 20 {
		q := e.Job(env.Ordered("x"))
		if i > 0 {
			q.After = env.Dependencies(store.CancelIfFailed, chain[i-1].Job.ID)
		}
		chain = append(chain, q)
	}
	e.Enqueue(chain...)
	for _, q := range chain {
		e.Promote()
		run := e.ClaimOne(node, q.Job.ID)
		e.WantNothing(node)
		e.End(run, store.Completed)
		e.CloseChildren(10)
	}
}

func afterNothing(e *env.Env) {
	node := e.Join()
	a := e.Add()
	b := e.Job(env.After(a))
	b.Required = true
	lost := e.Job(env.After(e.IDs.Next()))
	lost.Required = true
	if err := e.Store.Apply(e.Ctx, &store.Batch{Enqueues: []*store.Enqueue{b, lost}}); !errors.Is(err, store.ErrRefused) {
		e.Fatalf("a batch one of which is refused: %v", err)
	}
	e.WantUnknown(b.Job.ID)
	e.Enqueue(b)
	e.WantAwaits(b.Job.ID, a)
	e.End(e.ClaimOne(node, a), store.Completed)
	e.CloseChildren(10)
	e.WantState(b.Job.ID, store.Available)
}

// afterReplaced: what waits for others is not replaced, whether it waits already or from this batch
// on; what need not wait is.
func afterReplaced(e *env.Env) {
	open, done := e.Add(), e.Add()
	e.Terminate(done)
	replaces := func(key string, at ...func(*store.Enqueue)) *store.Enqueue {
		return e.Job(append(at, env.Unique(key), env.OnConflict(store.Replace), env.Delay(time.Hour))...)
	}
	for key, want := range map[string]bool{"waits": false, "goes": true} {
		on := open
		if want {
			on = done
		}
		first := e.Job(env.Unique(key), env.AfterOr(store.RunIfFailed, on))
		second := replaces(key)
		e.Enqueue(first, second)
		if second.Err != nil || second.Result.ID != first.Job.ID || second.Result.Replaced != want {
			e.Fatalf("%s: %+v, %v", key, second.Result, second.Err)
		}
		third := replaces(key)
		if e.Enqueue(third); third.Err != nil || third.Result.ID != first.Job.ID || third.Result.Replaced != want {
			e.Fatalf("%s: %+v, %v", key, third.Result, third.Err)
		}
	}
}

// afterGone: whatever became of a job that waited for others, these are not kept for it.
func afterGone(e *env.Env) {
	first := func() store.Claimed { return e.ClaimOne(e.Join(), e.Add(env.Queue("first"), env.Priority(1))) }
	for what, c := range map[string]struct {
		do     func(id store.ID)   // to the job that waits
		also   store.State         // of another one that it comes after; 0: there is none
		policy store.FailurePolicy // about that one
	}{
		"it was cancelled":                        {do: func(id store.ID) { e.Cancel(id) }},
		"it was terminated":                       {do: func(id store.ID) { e.Terminate(id) }},
		"it was let go on":                        {do: func(id store.ID) { e.Resume(env.Resumption(id), store.Available) }},
		"another one completed that was to fail":  {also: store.Completed, policy: store.OnlyIfFailed},
		"another one failed that was to complete": {also: store.Failed, policy: store.CancelIfFailed},
		"another one failed, and it is held":      {also: store.Failed, policy: store.HoldIfFailed},
		"another one failed, and that is fine":    {also: store.Failed, policy: store.RunIfFailed},
	} {
		on, after := first(), env.Dependencies(store.RunIfFailed)
		after = append(after, store.Dependency{On: on.Job.ID, IfFailed: store.RunIfFailed})
		if c.also != 0 {
			other := first()
			e.End(other, c.also)
			after = append(after, store.Dependency{On: other.Job.ID, IfFailed: c.policy})
		}
		id := e.Add(func(q *store.Enqueue) { q.After = after })
		e.CloseChildren(10)
		if c.do != nil {
			c.do(id)
		}
		e.End(on, store.Failed)
		e.CloseChildren(10)
		e.Clock.Advance(time.Hour)
		e.Retain(store.Retention{Failed: time.Second, Limit: 100})
		if _, err := e.Store.Get(e.Ctx, "", on.Job.ID); !errors.Is(err, store.ErrNotFound) {
			e.Errorf("%s: the job that it waited for is kept: %v", what, err)
		}
		for _, run := range e.Claim(e.Join(), 100) {
			e.End(run, store.Completed)
		}
	}
}
