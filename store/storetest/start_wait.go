package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
)

// What keeps jobs from running as soon as they are enqueued, and what does not.
var startWaitTests = []test{
	{"OneOwner_nothing_starts_on_a_node_that_is_not_alive", startNodeDead},
	{"nothing_starts_while_a_queue_is_paused", startPaused},
	{"Order_nothing_starts_before_a_job_that_waits_in_its_lane", startBehind},
	{"Order_nothing_starts_before_what_its_own_batch_makes_available", startBehindBatch},
	{"jobs_start_whatever_waits_in_other_lanes", startBesideLanes},
	{"jobs_start_beside_jobs_of_their_lane_that_do_not_wait_for_a_claim", startBesideOthers},
	{"jobs_that_may_not_start_do_not_keep_others_from_it", startMixed},
	{"NoLoss_jobs_of_a_lane_that_start_and_that_do_not_in_one_batch", startMixedLane},
	{"NoLoss_a_job_that_is_known_is_not_started_again", startKnown},
	{"NoLoss_jobs_that_are_known_among_many_that_start", startKnownAmong},
	{"NoLoss_a_job_that_is_twice_in_a_batch_runs_once", startTwin},
	{"a_batch_that_starts_nothing_is_like_any_other", startNothing},
	{"what_a_run_enqueues_with_its_journal_is_not_started", startAppended},
}

// wantWaiting applies a batch all of whose jobs must be available, and none started.
func (e *env) wantWaiting(batch *store.Batch) {
	e.Helper()
	e.apply(batch)
	if len(batch.Start.Claimed) != 0 {
		e.Fatalf("started %+v", batch.Start.Claimed)
	}
	for i, q := range batch.Enqueues {
		if q.Err != nil || q.Result.ID != q.Job.ID || q.Result.State != store.Available || q.Result.Existing {
			e.Fatalf("enqueue %d: %+v, %v", i, q.Result, q.Err)
		}
		e.wantState(q.Job.ID, store.Available)
	}
}

// claimQueue claims all that there is in a queue.
func (e *env) claimQueue(node int64, name string) []store.Claimed {
	e.Helper()
	params := e.demand(node, 1000)
	params.Queues = []store.QueueDemand{{Name: name, Limit: 1000}}
	return e.claimWith(params)
}

func startNodeDead(e *env) {
	left, dead, alive := e.join(), e.join(), e.join()
	e.leave(left)
	e.clock.Advance(time.Minute)
	e.beat(alive)
	e.rescue()
	var ids []store.ID
	for _, node := range []int64{left, dead, alive + 1000} {
		batch := e.starting(node, e.job(), e.job())
		batch.Start.Claimed = []store.Claimed{{Job: batch.Enqueues[0].Job}} // what was there before is no answer
		e.wantWaiting(batch)
		ids = append(ids, idsOf(batch.Enqueues)...)
	}
	e.wantIDs("claimed", claimedIDs(e.claim(alive, 10)), ids...)
}

// startPaused: one queue of several is enough.
func startPaused(e *env) {
	node := e.join()
	e.add(queue("a"))
	e.claim(node, 1)
	e.pause("a", true)
	e.pause("new", true)
	for _, name := range []string{"a", "new"} {
		batch := e.starting(node, e.job(queue("open")), e.job(queue(name)), e.job(queue("open")))
		e.wantWaiting(batch)
		e.wantIDs("claimed", claimedIDs(e.claim(node, 10)), batch.Enqueues[0].Job.ID, batch.Enqueues[2].Job.ID)
		e.pause(name, false)
		e.wantIDs("claimed", claimedIDs(e.claim(node, 10)), batch.Enqueues[1].Job.ID)
		e.startNow(node, e.job(queue(name)))
	}
}

// startBehind: however the job came to wait.
func startBehind(e *env) {
	node := e.join()
	late := func() {
		e.clock.Advance(time.Minute)
		e.beat(node)
	}
	for name, wait := range map[string]func(in func(*store.Enqueue)) store.ID{
		"enqueued": func(in func(*store.Enqueue)) store.ID { return e.add(in) },
		"enqueued for the past": func(in func(*store.Enqueue)) store.ID {
			return e.add(in, runAt(e.clock.Now().Add(-time.Hour)))
		},
		"released": func(in func(*store.Enqueue)) store.ID {
			run := e.started(in)
			e.end(run, store.Available)
			return run.Job.ID
		},
		"given back": func(in func(*store.Enqueue)) store.ID {
			run := e.started(in)
			e.leave(run.Lease.Node)
			return run.Job.ID
		},
		"promoted": func(in func(*store.Enqueue)) store.ID {
			id := e.add(in, delay(time.Minute))
			late()
			e.promote()
			return id
		},
		"promoted after a failure": func(in func(*store.Enqueue)) store.ID {
			run := e.started(in)
			e.end(run, store.Retryable)
			late()
			e.promote()
			return run.Job.ID
		},
		"retried": func(in func(*store.Enqueue)) store.ID {
			run := e.started(in)
			e.end(run, store.Failed)
			e.retry(run.Job.ID)
			return run.Job.ID
		},
		"resumed": func(in func(*store.Enqueue)) store.ID {
			id := e.add(in)
			e.tryPause(id)
			e.goOn(id)
			return id
		},
		"woken": func(in func(*store.Enqueue)) store.ID {
			run := e.parked(forSignals(), in)
			e.send(run.Job.ID, signal("s"))
			return run.Job.ID
		},
		"the next of its ordering key": func(in func(*store.Enqueue)) store.ID {
			run := e.started(in, ordered("o"))
			id := e.add(in, ordered("o"))
			e.end(run, store.Completed)
			e.promote()
			return id
		},
		"with a unique key": func(in func(*store.Enqueue)) store.ID { return e.add(in, unique(e.ids.next().String())) },
	} {
		id := wait(queue(name))
		other := e.job(queue(name), kind("push")) // in a lane where nothing is waiting
		batch := e.starting(node, other, e.job(queue(name)), e.job(queue(name)))
		e.apply(batch)
		if len(batch.Start.Claimed) != 0 {
			e.Fatalf("a job that is %s waits, and %v started", name, claimedIDs(batch.Start.Claimed))
		}
		e.wantWaiting(e.starting(node, e.job(queue(name))))
		claimed := claimedIDs(e.claimQueue(node, name))
		if len(claimed) != 5 || claimed[0] != id && claimed[1] != id {
			e.Fatalf("claimed %v, want %v before those of its lane: %v", claimed, id, idsOf(batch.Enqueues))
		}
		claimed = slices.DeleteFunc(claimed, func(c store.ID) bool { return c == id })
		e.wantIDs("claimed after the one that was "+name, claimed[:3], idsOf(batch.Enqueues)...)
		e.startNow(node, e.job(queue(name)))
	}
}

// startBehindBatch: what comes before the enqueues of a batch is done when they are looked at.
func startBehindBatch(e *env) {
	node := e.join()
	waiting := e.parked(forSignals(), queue("woken"))
	parent := e.durable(1, queue("parent"))
	var runs []store.Claimed
	for _, name := range []string{"released", "completed", "failed", "snoozed"} {
		runs = append(runs, e.startNow(node, e.job(queue(name)))[0])
	}
	release, wake := e.starting(node, e.job(queue("released"))), e.starting(node, e.job(queue("woken")))
	release.Outcomes = []*store.Outcome{outcome(runs[0], store.Available)}
	wake.Sends = []*store.Send{{Job: waiting.Job.ID, Message: signal("s")}}
	born := e.starting(node, e.job(queue("born")))
	child := e.child(parent.Job.ID, queue("born"))
	born.Appends = []*store.Append{{
		Lease: parent.Lease, Entries: []store.Entry{entry(2, store.EntryChild, "send")}, Enqueues: []*store.Enqueue{child},
	}}
	for name, c := range map[string]struct {
		batch  *store.Batch
		before store.ID
	}{
		"released": {release, runs[0].Job.ID},
		"woken":    {wake, waiting.Job.ID},
		"born":     {born, child.Job.ID},
	} {
		e.wantWaiting(c.batch)
		// Which of two jobs that are due in the same moment comes first is told by their ids.
		e.wantSameIDs("claimed from "+name, claimedIDs(e.claimQueue(node, name)), c.before, c.batch.Enqueues[0].Job.ID)
	}
	if release.Outcomes[0].Err != nil || wake.Sends[0].Err != nil || born.Appends[0].Err != nil || child.Err != nil {
		e.Fatalf("errors: %v, %v, %v, %v", release.Outcomes[0].Err, wake.Sends[0].Err, born.Appends[0].Err, child.Err)
	}
	// What ends without being available again makes room.
	for i, state := range []store.State{store.Completed, store.Failed, store.Scheduled} {
		batch := e.starting(node, e.job(queue(runs[i+1].Job.Queue)))
		batch.Outcomes = []*store.Outcome{outcome(runs[i+1], state)}
		batch.Checkpoints = []*store.CheckpointWrite{{Lease: runs[i+1].Lease, Checkpoint: store.Checkpoint{Percent: 1}}}
		e.startAll(batch)
		if batch.Outcomes[0].Err != nil || batch.Outcomes[0].Final != state || batch.Checkpoints[0].Err != nil {
			e.Fatalf("outcome: %v, %v; checkpoint: %v", batch.Outcomes[0].Final, batch.Outcomes[0].Err, batch.Checkpoints[0].Err)
		}
	}
}

func startBesideLanes(e *env) {
	node := e.join()
	in := func(name string) func(*store.Enqueue) { return func(q *store.Enqueue) { q.Job.Namespace = name } }
	e.enqueue(e.job(kind("push")), e.job(priority(1)), e.job(priority(3)), e.job(queue("other")), e.job(in("other")),
		e.job(func(q *store.Enqueue) { q.Job.Version = "v1" }))
	err := e.store.Pause(e.ctx, store.PauseParams{Namespace: "other", Queue: "mail", Paused: true, Actor: "ada"})
	if err != nil {
		e.Fatalf("Pause: %v", err)
	}
	e.pause("idle", true)
	e.startNow(node, e.job(), e.job())
	// One batch may have jobs of several namespaces.
	e.startNow(node, e.job(), e.job(in("third")))
	e.wantState(e.startNow(node, e.job())[0].Job.ID, store.Running)
	if claimed := e.claim(node, 100); len(claimed) != 4 {
		e.Fatalf("claimed %v", claimedIDs(claimed))
	}
}

func startBesideOthers(e *env) {
	node := e.join()
	running, later := e.started(), e.add(delay(time.Hour))
	failed, parked, held := e.started(attempts(9)), e.parked(&store.Wait{Until: e.clock.Now().Add(time.Hour)}), e.held()
	e.end(failed, store.Retryable, func(o *store.Outcome) { o.Delay = time.Hour })
	ended, stopped := e.started(), e.add()
	e.tryPause(stopped)
	e.end(ended, store.Completed)
	turn := e.started(ordered("o"))
	blocked := e.add(ordered("o"))
	e.promote()
	e.startNow(node, e.job(), e.job())
	for id, want := range map[store.ID]store.State{
		running.Job.ID: store.Running, later: store.Scheduled, failed.Job.ID: store.Retryable, parked.Job.ID: store.Waiting,
		held.Job.ID: store.Waiting, stopped: store.Waiting, ended.Job.ID: store.Completed, turn.Job.ID: store.Running, blocked: store.Available,
	} {
		e.wantState(id, want)
	}
}

// startMixed: those that may not start are treated as in any batch.
func startMixed(e *env) {
	node := e.join()
	holder := e.add(unique("taken"), queue("held"))
	now := e.clock.Now()
	other := kind("bill")
	batch := e.starting(node,
		e.job(),
		e.job(delay(time.Minute)),
		e.job(runAt(now.Add(time.Microsecond))),
		e.job(other, ordered("o")),
		e.job(runAt(now.Add(-time.Hour))),
		e.job(other, unique("k")),
		e.job(other, unique("taken"), onConflict(store.Reject)),
		e.job(func(q *store.Enqueue) { q.Job.Version = "v1" }),
		e.job(priority(5)),
		e.job(kind("a\x00b")),
		e.job(other),
		e.job(runAt(now), delay(time.Hour)),
	)
	q := batch.Enqueues
	q[10].Start = false
	e.apply(batch)
	runs := batch.Start.Claimed
	e.wantIDs("started", claimedIDs(runs), q[0].Job.ID, q[4].Job.ID, q[11].Job.ID)
	e.equal("a repeated claim", e.repeatedClaim(batch), runs)
	for i, want := range []store.State{
		store.Running, store.Scheduled, store.Scheduled, store.Available, store.Running, store.Available, 0, store.Available, 0, 0,
		store.Available, store.Running,
	} {
		if q[i].Result.State != want || (q[i].Err == nil) != (want != 0) {
			e.Fatalf("enqueue %d: %+v, %v, want %v", i, q[i].Result, q[i].Err, want)
		}
		if want != 0 {
			e.wantState(q[i].Job.ID, want)
		}
	}
	e.wantErr("a taken key", q[6].Err, store.ErrConflict)
	e.wantErr("a priority that is none", q[8].Err, store.ErrInvalid)
	e.wantErr("a kind that is no text", q[9].Err, store.ErrInvalid)
	e.wantSameIDs("claimed", claimedIDs(e.claim(node, 10)), holder, q[3].Job.ID, q[5].Job.ID, q[10].Job.ID)
	e.wantIDs("claimed by version", claimedIDs(e.claimKinds(node, "send@v1")), q[7].Job.ID)
	e.clock.Advance(time.Minute)
	e.beat(node)
	e.wantSameIDs("claimed later", claimedIDs(e.claim(node, 10)), q[1].Job.ID, q[2].Job.ID)
	for _, run := range runs {
		e.end(run, store.Completed)
	}
}

// wantStartedOrWaiting checks that each job runs under the lease that the batch tells of, or is available, and nothing else.
func (e *env) wantStartedOrWaiting(batch *store.Batch, jobs ...*store.Enqueue) {
	e.Helper()
	for _, q := range jobs {
		want := store.Available
		at := slices.IndexFunc(batch.Start.Claimed, func(c store.Claimed) bool { return c.Job.ID == q.Job.ID })
		if at >= 0 {
			want = store.Running
		}
		record := e.get(q.Job.ID)
		if q.Err != nil || q.Result.State != want || record.State != want || at >= 0 && record.Lease != batch.Start.Claimed[at].Lease {
			e.Fatalf("enqueue: %+v, %v; record: %+v; started: %+v", q.Result, q.Err, record, batch.Start.Claimed)
		}
	}
}

// startMixedLane: whether a job that only waits keeps those beside it from starting is the store's choice.
func startMixedLane(e *env) {
	node := e.join()
	for i := range 3 {
		in := queue(fmt.Sprint("q", i))
		batch := e.starting(node, e.job(in), e.job(in), e.job(in))
		q := batch.Enqueues
		q[i].Start = false
		e.apply(batch)
		e.wantStartedOrWaiting(batch, q...)
		e.wantState(q[i].Job.ID, store.Available)
		if n := len(batch.Start.Claimed); n != 0 && n != 2 {
			e.Fatalf("%d of 2 jobs started", n)
		}
		ids := append(claimedIDs(batch.Start.Claimed), claimedIDs(e.claimQueue(node, q[0].Job.Queue))...)
		e.wantSameIDs("running", ids, idsOf(q)...)
	}
}

// startKnown: a known id in a batch may keep the others from starting.
func startKnown(e *env) {
	node := e.join()
	for _, state := range append([]store.State{store.Running}, endStates...) {
		name := state.String()
		run := e.started(queue(name), kind("push"))
		if state != store.Running {
			e.end(run, state)
		}
		before := e.get(run.Job.ID)
		known := e.job(queue(name), kind("push"), func(q *store.Enqueue) { q.Job.ID = run.Job.ID })
		batch := e.starting(node, e.job(queue(name)), known, e.job(queue(name)))
		first, last := batch.Enqueues[0], batch.Enqueues[2]
		e.apply(batch)
		if known.Err != nil || known.Result.ID != run.Job.ID || !known.Result.Existing || known.Result.State != 0 {
			e.Fatalf("enqueue of a job that is %v: %+v, %v", state, known.Result, known.Err)
		}
		e.equal("the known job", e.get(run.Job.ID), before)
		e.wantStartedOrWaiting(batch, first, last)
		for range 2 {
			e.equal("started by the repeated batch", e.sendAgain(batch), batch.Start.Claimed)
		}
		e.equal("the known job", e.get(run.Job.ID), before)
		var claimed []store.ID
		for _, id := range append(claimedIDs(batch.Start.Claimed), claimedIDs(e.claimQueue(node, name))...) {
			if id != run.Job.ID {
				claimed = append(claimed, id)
			}
		}
		e.wantIDs("running", claimed, first.Job.ID, last.Job.ID)
	}
}

// startKnownAmong: in a batch so large that a store may write it in parts.
func startKnownAmong(e *env) {
	node := e.join()
	for _, places := range [][]int{{0}, {16}, {3, 4, 19, 40}, {49}} {
		var jobs []*store.Enqueue
		for range 50 {
			jobs = append(jobs, e.job())
		}
		fresh := slices.Clone(jobs)
		for _, at := range places {
			id := e.add(queue("known"))
			jobs[at] = e.job(func(q *store.Enqueue) { q.Job.ID = id })
			fresh = slices.DeleteFunc(fresh, func(q *store.Enqueue) bool { return !slices.Contains(jobs, q) })
		}
		batch := e.starting(node, jobs...)
		e.apply(batch)
		e.wantStartedOrWaiting(batch, fresh...)
		if n := len(batch.Start.Claimed); n != 0 && n != len(fresh) {
			e.Fatalf("%d of %d jobs started", n, len(fresh))
		}
		for _, at := range places {
			if q := jobs[at]; q.Err != nil || !q.Result.Existing || q.Result.ID != q.Job.ID {
				e.Fatalf("enqueue %d: %+v, %v", at, q.Result, q.Err)
			}
		}
		e.equal("started by the repeated batch", e.sendAgain(batch), batch.Start.Claimed)
		e.wantIDs("running", append(claimedIDs(batch.Start.Claimed), claimedIDs(e.claimQueue(node, "mail"))...), idsOf(fresh)...)
	}
	if n := len(e.claimQueue(node, "known")); n != 7 {
		e.Fatalf("%d of the 7 known jobs are left", n)
	}
}

func startTwin(e *env) {
	node := e.join()
	twin := e.job()
	again := *twin
	batch := e.starting(node, twin, e.job(), &again)
	e.apply(batch)
	e.wantStartedOrWaiting(batch, batch.Enqueues[:2]...)
	if again.Err != nil || !again.Result.Existing || again.Result.ID != twin.Job.ID {
		e.Fatalf("the second of one id: %+v, %v", again.Result, again.Err)
	}
	if n := len(batch.Start.Claimed); n != 0 && n != 2 {
		e.Fatalf("%d of 2 jobs started", n)
	}
	e.equal("started by the repeated batch", e.sendAgain(batch), batch.Start.Claimed)
	ids := append(claimedIDs(batch.Start.Claimed), claimedIDs(e.claim(node, 10))...)
	e.wantIDs("running", ids, idsOf(batch.Enqueues[:2])...)
}

// startNothing: a Start without jobs, jobs without a Start, and what another batch has left in one.
func startNothing(e *env) {
	node := e.join()
	run := e.startNow(node, e.job(kind("push")))[0]
	nobody := e.mixed(node, e.job(), e.job())
	nobody.Start.Claimed = []store.Claimed{run}
	e.wantWaiting(nobody)
	alone := e.job()
	alone.Start = true
	e.enqueue(alone)
	e.wantState(alone.Job.ID, store.Available)
	ends := e.starting(node)
	ends.Start.Claimed = []store.Claimed{run}
	ends.Outcomes = []*store.Outcome{outcome(run, store.Completed)}
	e.apply(ends)
	if ends.Outcomes[0].Err != nil || len(ends.Start.Claimed) != 0 {
		e.Fatalf("outcome: %v; started %+v", ends.Outcomes[0].Err, ends.Start.Claimed)
	}
	refused := e.starting(node, e.job(priority(9)))
	refused.Start.Claimed = []store.Claimed{run}
	e.apply(refused)
	e.wantErr("a priority that is none", refused.Enqueues[0].Err, store.ErrInvalid)
	if len(refused.Start.Claimed) != 0 {
		e.Fatalf("started %+v", refused.Start.Claimed)
	}
	e.wantIDs("claimed", claimedIDs(e.claim(node, 10)), append(idsOf(nobody.Enqueues), alone.Job.ID)...)
}

// startAppended: only the enqueues of the batch itself start. A child that says so waits as any child does, and if the batch is repeated
// nothing is told of it.
func startAppended(e *env) {
	node := e.join()
	for i, own := range [][]*store.Enqueue{nil, {e.job()}} {
		parent := e.durable(1, queue("parent"))
		child := e.child(parent.Job.ID, queue("child"))
		child.Start = true
		batch := e.starting(node, own...)
		batch.Appends = []*store.Append{{
			Lease: parent.Lease, Entries: []store.Entry{entry(2, store.EntryChild, "send")}, Enqueues: []*store.Enqueue{child},
		}}
		e.apply(batch)
		e.wantIDs("started", claimedIDs(batch.Start.Claimed), idsOf(own)...)
		if batch.Appends[0].Err != nil || child.Err != nil || child.Result.State != store.Available {
			e.Fatalf("append %d: %v; child: %+v, %v", i, batch.Appends[0].Err, child.Result, child.Err)
		}
		again := faults.Copy(batch)
		again.Appends[0].Repeat = true
		e.apply(again)
		e.equal("started by the repeated batch", again.Start.Claimed, batch.Start.Claimed)
		e.wantIDs("claimed", claimedIDs(e.claim(node, 10)), child.Job.ID)
	}
}
