package starts

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
)

// What keeps jobs from running as soon as they are enqueued, and what does not.
var startWaitTests = env.Tests{
	"OneOwner_nothing_starts_on_a_node_that_is_not_alive":               startNodeDead,
	"nothing_starts_while_a_queue_is_paused":                            startPaused,
	"Order_nothing_starts_before_a_job_that_waits_in_its_lane":          startBehind,
	"Order_nothing_starts_before_what_its_own_batch_makes_available":    startBehindBatch,
	"jobs_start_whatever_waits_in_other_lanes":                          startBesideLanes,
	"jobs_start_beside_jobs_of_their_lane_that_do_not_wait_for_a_claim": startBesideOthers,
	"jobs_that_may_not_start_do_not_keep_others_from_it":                startMixed,
	"NoLoss_jobs_of_a_lane_that_start_and_that_do_not_in_one_batch":     startMixedLane,
	"NoLoss_a_job_that_is_known_is_not_started_again":                   startKnown,
	"NoLoss_jobs_that_are_known_among_many_that_start":                  startKnownAmong,
	"NoLoss_a_job_that_is_twice_in_a_batch_runs_once":                   startTwin,
	"a_batch_that_starts_nothing_is_like_any_other":                     startNothing,
	"what_a_run_enqueues_with_its_journal_is_not_started":               startAppended,
}

// claimQueue claims all that there is in a queue.
func claimQueue(e *env.Env, node int64, name string) []store.Claimed {
	e.Helper()
	params := e.Demand(node, 1000)
	params.Queues = []store.QueueDemand{{Name: name, Limit: 1000}}
	return e.ClaimWith(params)
}

func startNodeDead(e *env.Env) {
	left, dead, alive := e.Join(), e.Join(), e.Join()
	e.Leave(left)
	e.Clock.Advance(time.Minute)
	e.Beat(alive)
	e.Rescue()
	var ids []store.ID
	for _, node := range []int64{left, dead, alive + 1000} {
		batch := e.Starting(node, e.Job(), e.Job())
		batch.Start.Claimed = []store.Claimed{{Job: batch.Enqueues[0].Job}} // what was there before is no answer
		e.WantWaiting(batch)
		ids = append(ids, env.IDsOf(batch.Enqueues)...)
	}
	e.WantIDs("claimed", env.ClaimedIDs(e.Claim(alive, 10)), ids...)
}

// startPaused: one paused queue keeps all jobs of the batch from starting.
func startPaused(e *env.Env) {
	node := e.Join()
	e.Add(env.Queue("a"))
	e.Claim(node, 1)
	e.Pause("a", true)
	e.Pause("new", true)
	for _, name := range []string{"a", "new"} {
		batch := e.Starting(node, e.Job(env.Queue("open")), e.Job(env.Queue(name)), e.Job(env.Queue("open")))
		e.WantWaiting(batch)
		e.WantIDs("claimed", env.ClaimedIDs(e.Claim(node, 10)), batch.Enqueues[0].Job.ID, batch.Enqueues[2].Job.ID)
		e.Pause(name, false)
		e.WantIDs("claimed", env.ClaimedIDs(e.Claim(node, 10)), batch.Enqueues[1].Job.ID)
		e.StartNow(node, e.Job(env.Queue(name)))
	}
}

// startBehind: it does not matter how the job came to wait.
func startBehind(e *env.Env) {
	node := e.Join()
	for name, wait := range waysToWait(e, node) {
		id := wait(env.Queue(name))
		other := e.Job(env.Queue(name), env.Kind("push")) // in a lane where nothing is waiting
		batch := e.Starting(node, other, e.Job(env.Queue(name)), e.Job(env.Queue(name)))
		e.Apply(batch)
		if len(batch.Start.Claimed) != 0 {
			e.Fatalf("a job that is %s waits, and %v started", name, env.ClaimedIDs(batch.Start.Claimed))
		}
		e.WantWaiting(e.Starting(node, e.Job(env.Queue(name))))
		claimed := env.ClaimedIDs(claimQueue(e, node, name))
		if len(claimed) != 5 || claimed[0] != id && claimed[1] != id {
			e.Fatalf("claimed %v, want %v before those of its lane: %v", claimed, id, env.IDsOf(batch.Enqueues))
		}
		claimed = slices.DeleteFunc(claimed, func(c store.ID) bool { return c == id })
		e.WantIDs("claimed after the one that was "+name, claimed[:3], env.IDsOf(batch.Enqueues)...)
		e.StartNow(node, e.Job(env.Queue(name)))
	}
}

// change changes what is enqueued.
type change = func(*store.Enqueue)

// waysToWait are the ways in which a job may have come to wait for its claim.
func waysToWait(e *env.Env, node int64) map[string]func(in change) store.ID {
	late := func() {
		e.Clock.Advance(time.Minute)
		e.Beat(node)
	}
	return map[string]func(in change) store.ID{
		"enqueued": func(in change) store.ID { return e.Add(in) },
		"enqueued for the past": func(in change) store.ID {
			return e.Add(in, env.RunAt(e.Clock.Now().Add(-time.Hour)))
		},
		"released": func(in change) store.ID {
			run := e.Started(in)
			e.End(run, store.Available)
			return run.Job.ID
		},
		"given back": func(in change) store.ID {
			run := e.Started(in)
			e.Leave(run.Lease.Node)
			return run.Job.ID
		},
		"promoted": func(in change) store.ID {
			id := e.Add(in, env.Delay(time.Minute))
			late()
			e.Promote()
			return id
		},
		"promoted after a failure": func(in change) store.ID {
			run := e.Started(in)
			e.End(run, store.Retryable)
			late()
			e.Promote()
			return run.Job.ID
		},
		"retried": func(in change) store.ID {
			run := e.Started(in)
			e.End(run, store.Failed)
			e.Retry(run.Job.ID)
			return run.Job.ID
		},
		"resumed": func(in change) store.ID {
			id := e.Add(in)
			e.TryPause(id)
			e.GoOn(id)
			return id
		},
		"woken": func(in change) store.ID {
			run := e.Parked(env.ForSignals(), in)
			e.Send(run.Job.ID, env.Signal("s"))
			return run.Job.ID
		},
		"the next of its ordering key": func(in change) store.ID {
			run := e.Started(in, env.Ordered("o"))
			id := e.Add(in, env.Ordered("o"))
			e.End(run, store.Completed)
			e.Promote()
			return id
		},
		"with a unique key": func(in change) store.ID { return e.Add(in, env.Unique(e.IDs.Next().String())) },
	}
}

// startBehindBatch: a store applies the rest of a batch before it looks whether the enqueues may
// start.
func startBehindBatch(e *env.Env) {
	node := e.Join()
	waiting := e.Parked(env.ForSignals(), env.Queue("woken"))
	parent := e.Durable(1, env.Queue("parent"))
	var runs []store.Claimed
	for _, name := range []string{"released", "completed", "failed", "snoozed"} {
		runs = append(runs, e.StartNow(node, e.Job(env.Queue(name)))[0])
	}
	release, wake := e.Starting(node, e.Job(env.Queue("released"))), e.Starting(node, e.Job(env.Queue("woken")))
	release.Outcomes = []*store.Outcome{env.Outcome(runs[0], store.Available)}
	wake.Sends = []*store.Send{{Job: waiting.Job.ID, Message: env.Signal("s")}}
	born := e.Starting(node, e.Job(env.Queue("born")))
	child := e.Child(parent.Job.ID, env.Queue("born"))
	born.Appends = []*store.Append{{
		Lease: parent.Lease, Entries: []store.Entry{env.Entry(2, store.EntryChild, "send")}, Enqueues: []*store.Enqueue{child},
	}}
	for name, c := range map[string]struct {
		batch  *store.Batch
		before store.ID
	}{
		"released": {release, runs[0].Job.ID},
		"woken":    {wake, waiting.Job.ID},
		"born":     {born, child.Job.ID},
	} {
		e.WantWaiting(c.batch)
		// Two jobs that are due at the same time come in the order of their ids.
		e.WantSameIDs("claimed from "+name, env.ClaimedIDs(claimQueue(e, node, name)), c.before, c.batch.Enqueues[0].Job.ID)
	}
	if release.Outcomes[0].Err != nil || wake.Sends[0].Err != nil || born.Appends[0].Err != nil || child.Err != nil {
		e.Fatalf("errors: %v, %v, %v, %v", release.Outcomes[0].Err, wake.Sends[0].Err, born.Appends[0].Err, child.Err)
	}
	// A run that ends, and whose job is not available again, makes room.
	for i, state := range []store.State{store.Completed, store.Failed, store.Scheduled} {
		batch := e.Starting(node, e.Job(env.Queue(runs[i+1].Job.Queue)))
		batch.Outcomes = []*store.Outcome{env.Outcome(runs[i+1], state)}
		batch.Checkpoints = []*store.CheckpointWrite{{Lease: runs[i+1].Lease, Checkpoint: store.Checkpoint{Percent: 1}}}
		e.StartAll(batch)
		if batch.Outcomes[0].Err != nil || batch.Outcomes[0].Final != state || batch.Checkpoints[0].Err != nil {
			e.Fatalf("outcome: %v, %v; checkpoint: %v", batch.Outcomes[0].Final, batch.Outcomes[0].Err, batch.Checkpoints[0].Err)
		}
	}
}

func startBesideLanes(e *env.Env) {
	node := e.Join()
	in := env.In
	e.Enqueue(e.Job(env.Kind("push")), e.Job(env.Priority(1)), e.Job(env.Priority(3)), e.Job(env.Queue("other")), e.Job(in("other")),
		e.Job(env.Version("v1")))
	err := e.Store.Pause(e.Ctx, store.PauseParams{Namespace: "other", Queue: "mail", Paused: true, Actor: "ada"})
	e.NoError("Pause", err)
	e.Pause("idle", true)
	e.StartNow(node, e.Job(), e.Job())
	// One batch may have jobs of several namespaces.
	e.StartNow(node, e.Job(), e.Job(in("third")))
	e.WantState(e.StartNow(node, e.Job())[0].Job.ID, store.Running)
	if claimed := e.Claim(node, 100); len(claimed) != 4 {
		e.Fatalf("claimed %v", env.ClaimedIDs(claimed))
	}
}

func startBesideOthers(e *env.Env) {
	node := e.Join()
	running, later := e.Started(), e.Add(env.Delay(time.Hour))
	failed, parked, held := e.Started(env.Attempts(9)), e.Parked(&store.Wait{Until: e.Clock.Now().Add(time.Hour)}), e.Held()
	e.End(failed, store.Retryable, func(o *store.Outcome) { o.Delay = time.Hour })
	ended, stopped := e.Started(), e.Add()
	e.TryPause(stopped)
	e.End(ended, store.Completed)
	turn := e.Started(env.Ordered("o"))
	blocked := e.Add(env.Ordered("o"))
	e.Promote()
	e.StartNow(node, e.Job(), e.Job())
	for id, want := range map[store.ID]store.State{
		running.Job.ID: store.Running, later: store.Scheduled, failed.Job.ID: store.Retryable, parked.Job.ID: store.Waiting,
		held.Job.ID: store.Waiting, stopped: store.Waiting, ended.Job.ID: store.Completed, turn.Job.ID: store.Running, blocked: store.Available,
	} {
		e.WantState(id, want)
	}
}

// startMixed: a batch treats the jobs that may not start like any others.
func startMixed(e *env.Env) {
	node := e.Join()
	holder := e.Add(env.Unique("taken"), env.Queue("held"))
	now := e.Clock.Now()
	other := env.Kind("bill")
	batch := e.Starting(node,
		e.Job(),
		e.Job(env.Delay(time.Minute)),
		e.Job(env.RunAt(now.Add(time.Microsecond))),
		e.Job(other, env.Ordered("o")),
		e.Job(env.RunAt(now.Add(-time.Hour))),
		e.Job(other, env.Unique("k")),
		e.Job(other, env.Unique("taken"), env.OnConflict(store.Reject)),
		e.Job(env.Version("v1")),
		e.Job(env.Priority(5)),
		e.Job(env.Kind("a\x00b")),
		e.Job(other),
		e.Job(env.RunAt(now), env.Delay(time.Hour)),
	)
	q := batch.Enqueues
	q[10].Start = false
	e.Apply(batch)
	runs := batch.Start.Claimed
	e.WantIDs("started", env.ClaimedIDs(runs), q[0].Job.ID, q[4].Job.ID, q[11].Job.ID)
	e.Equal("a repeated claim", e.RepeatedClaim(batch), runs)
	for i, want := range []store.State{
		store.Running, store.Scheduled, store.Scheduled, store.Available, store.Running, store.Available, 0, store.Available, 0, 0,
		store.Available, store.Running,
	} {
		if q[i].Result.State != want || (q[i].Err == nil) != (want != 0) {
			e.Fatalf("enqueue %d: %+v, %v, want %v", i, q[i].Result, q[i].Err, want)
		}
		if want != 0 {
			e.WantState(q[i].Job.ID, want)
		}
	}
	e.WantErr("a taken key", q[6].Err, store.ErrConflict)
	e.WantErr("a priority that is none", q[8].Err, store.ErrInvalid)
	e.WantErr("a kind that is no text", q[9].Err, store.ErrInvalid)
	e.WantSameIDs("claimed", env.ClaimedIDs(e.Claim(node, 10)), holder, q[3].Job.ID, q[5].Job.ID, q[10].Job.ID)
	e.WantIDs("claimed by version", env.ClaimedIDs(e.ClaimKinds(node, "send@v1")), q[7].Job.ID)
	e.Clock.Advance(time.Minute)
	e.Beat(node)
	e.WantSameIDs("claimed later", env.ClaimedIDs(e.Claim(node, 10)), q[1].Job.ID, q[2].Job.ID)
	for _, run := range runs {
		e.End(run, store.Completed)
	}
}

// wantStartedOrWaiting checks that each job runs under the lease that the batch tells of, or is
// available, and nothing else.
func wantStartedOrWaiting(e *env.Env, batch *store.Batch, jobs ...*store.Enqueue) {
	e.Helper()
	for _, q := range jobs {
		want := store.Available
		at := slices.IndexFunc(batch.Start.Claimed, func(c store.Claimed) bool { return c.Job.ID == q.Job.ID })
		if at >= 0 {
			want = store.Running
		}
		record := e.Get(q.Job.ID)
		if q.Err != nil || q.Result.State != want || record.State != want || at >= 0 && record.Lease != batch.Start.Claimed[at].Lease {
			e.Fatalf("enqueue: %+v, %v; record: %+v; started: %+v", q.Result, q.Err, record, batch.Start.Claimed)
		}
	}
}

// startMixedLane: whether a job that only waits keeps those beside it from starting is the store's
// choice.
func startMixedLane(e *env.Env) {
	node := e.Join()
	for i := range 3 {
		in := env.Queue(fmt.Sprint("q", i))
		batch := e.Starting(node, e.Job(in), e.Job(in), e.Job(in))
		q := batch.Enqueues
		q[i].Start = false
		e.Apply(batch)
		wantStartedOrWaiting(e, batch, q...)
		e.WantState(q[i].Job.ID, store.Available)
		if n := len(batch.Start.Claimed); n != 0 && n != 2 {
			e.Fatalf("%d of 2 jobs started", n)
		}
		ids := append(env.ClaimedIDs(batch.Start.Claimed), env.ClaimedIDs(claimQueue(e, node, q[0].Job.Queue))...)
		e.WantSameIDs("running", ids, env.IDsOf(q)...)
	}
}

// startKnown: a known id in a batch may keep the others from starting.
func startKnown(e *env.Env) {
	node := e.Join()
	for _, state := range append([]store.State{store.Running}, env.EndStates...) {
		name := state.String()
		run := e.Started(env.Queue(name), env.Kind("push"))
		if state != store.Running {
			e.End(run, state)
		}
		before := e.Get(run.Job.ID)
		known := e.Job(env.Queue(name), env.Kind("push"), env.ID(run.Job.ID))
		batch := e.Starting(node, e.Job(env.Queue(name)), known, e.Job(env.Queue(name)))
		first, last := batch.Enqueues[0], batch.Enqueues[2]
		e.Apply(batch)
		if known.Err != nil || known.Result.ID != run.Job.ID || !known.Result.Existing || known.Result.State != 0 {
			e.Fatalf("enqueue of a job that is %v: %+v, %v", state, known.Result, known.Err)
		}
		e.Equal("the known job", e.Get(run.Job.ID), before)
		wantStartedOrWaiting(e, batch, first, last)
		for range 2 {
			e.Equal("started by the repeated batch", sendAgain(e, batch), batch.Start.Claimed)
		}
		e.Equal("the known job", e.Get(run.Job.ID), before)
		var claimed []store.ID
		for _, id := range append(env.ClaimedIDs(batch.Start.Claimed), env.ClaimedIDs(claimQueue(e, node, name))...) {
			if id != run.Job.ID {
				claimed = append(claimed, id)
			}
		}
		e.WantIDs("running", claimed, first.Job.ID, last.Job.ID)
	}
}

// startKnownAmong: the batch is so large that a store may write it in parts.
func startKnownAmong(e *env.Env) {
	node := e.Join()
	for _, places := range [][]int{{0}, {16}, {3, 4, 19, 40}, {49}} {
		var jobs []*store.Enqueue
		for range 50 {
			jobs = append(jobs, e.Job())
		}
		fresh := slices.Clone(jobs)
		for _, at := range places {
			id := e.Add(env.Queue("known"))
			jobs[at] = e.Job(env.ID(id))
			fresh = slices.DeleteFunc(fresh, func(q *store.Enqueue) bool { return !slices.Contains(jobs, q) })
		}
		batch := e.Starting(node, jobs...)
		e.Apply(batch)
		wantStartedOrWaiting(e, batch, fresh...)
		if n := len(batch.Start.Claimed); n != 0 && n != len(fresh) {
			e.Fatalf("%d of %d jobs started", n, len(fresh))
		}
		for _, at := range places {
			if q := jobs[at]; q.Err != nil || !q.Result.Existing || q.Result.ID != q.Job.ID {
				e.Fatalf("enqueue %d: %+v, %v", at, q.Result, q.Err)
			}
		}
		e.Equal("started by the repeated batch", sendAgain(e, batch), batch.Start.Claimed)
		e.WantIDs("running", append(env.ClaimedIDs(batch.Start.Claimed), env.ClaimedIDs(claimQueue(e, node, "mail"))...), env.IDsOf(fresh)...)
	}
	if n := len(claimQueue(e, node, "known")); n != 7 {
		e.Fatalf("%d of the 7 known jobs are left", n)
	}
}

func startTwin(e *env.Env) {
	node := e.Join()
	twin := e.Job()
	again := *twin
	batch := e.Starting(node, twin, e.Job(), &again)
	e.Apply(batch)
	wantStartedOrWaiting(e, batch, batch.Enqueues[:2]...)
	if again.Err != nil || !again.Result.Existing || again.Result.ID != twin.Job.ID {
		e.Fatalf("the second of one id: %+v, %v", again.Result, again.Err)
	}
	if n := len(batch.Start.Claimed); n != 0 && n != 2 {
		e.Fatalf("%d of 2 jobs started", n)
	}
	e.Equal("started by the repeated batch", sendAgain(e, batch), batch.Start.Claimed)
	ids := append(env.ClaimedIDs(batch.Start.Claimed), env.ClaimedIDs(e.Claim(node, 10))...)
	e.WantIDs("running", ids, env.IDsOf(batch.Enqueues[:2])...)
}

// startNothing: a Start without jobs, jobs without a Start, and what another batch has left in one.
func startNothing(e *env.Env) {
	node := e.Join()
	run := e.StartNow(node, e.Job(env.Kind("push")))[0]
	nobody := e.Mixed(node, e.Job(), e.Job())
	nobody.Start.Claimed = []store.Claimed{run}
	e.WantWaiting(nobody)
	alone := e.Job()
	alone.Start = true
	e.Enqueue(alone)
	e.WantState(alone.Job.ID, store.Available)
	ends := e.Starting(node)
	ends.Start.Claimed = []store.Claimed{run}
	ends.Outcomes = []*store.Outcome{env.Outcome(run, store.Completed)}
	e.Apply(ends)
	if ends.Outcomes[0].Err != nil || len(ends.Start.Claimed) != 0 {
		e.Fatalf("outcome: %v; started %+v", ends.Outcomes[0].Err, ends.Start.Claimed)
	}
	refused := e.Starting(node, e.Job(env.Priority(9)))
	refused.Start.Claimed = []store.Claimed{run}
	e.Apply(refused)
	e.WantErr("a priority that is none", refused.Enqueues[0].Err, store.ErrInvalid)
	if len(refused.Start.Claimed) != 0 {
		e.Fatalf("started %+v", refused.Start.Claimed)
	}
	e.WantIDs("claimed", env.ClaimedIDs(e.Claim(node, 10)), append(env.IDsOf(nobody.Enqueues), alone.Job.ID)...)
}

// startAppended: only the enqueues of the batch itself start. A child in an append waits, even if
// it says Start, and a repeated batch does not tell of it.
func startAppended(e *env.Env) {
	node := e.Join()
	for i, own := range [][]*store.Enqueue{nil, {e.Job()}} {
		parent := e.Durable(1, env.Queue("parent"))
		child := e.Child(parent.Job.ID, env.Queue("child"))
		child.Start = true
		batch := e.Starting(node, own...)
		batch.Appends = []*store.Append{{
			Lease: parent.Lease, Entries: []store.Entry{env.Entry(2, store.EntryChild, "send")}, Enqueues: []*store.Enqueue{child},
		}}
		e.Apply(batch)
		e.WantIDs("started", env.ClaimedIDs(batch.Start.Claimed), env.IDsOf(own)...)
		if batch.Appends[0].Err != nil || child.Err != nil || child.Result.State != store.Available {
			e.Fatalf("append %d: %v; child: %+v, %v", i, batch.Appends[0].Err, child.Result, child.Err)
		}
		again := faults.Copy(batch)
		again.Appends[0].Repeat = true
		e.Apply(again)
		e.Equal("started by the repeated batch", again.Start.Claimed, batch.Start.Claimed)
		e.WantIDs("claimed", env.ClaimedIDs(e.Claim(node, 10)), child.Job.ID)
	}
}
