package storetest

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

var versionTests = []test{
	{"a_bound_job_is_claimed_by_nodes_of_its_version_only", versionClaim},
	{"a_run_binds_its_job_however_it_goes_on", versionBinds},
	{"a_job_that_finishes_is_not_bound", versionFinished},
	{"a_bound_job_stays_bound", versionStays},
	{"a_job_may_be_enqueued_bound", versionEnqueued},
	{"Order_versions_of_a_kind_share_one_order", versionOrder},
	{"a_bound_job_is_listed_under_its_kind", versionListed},
}

func bind(version string) func(*store.Outcome) {
	return func(o *store.Outcome) { o.Version = version }
}

// claimKinds claims with a list of kinds.
func (e *env) claimKinds(node int64, kinds ...string) []store.Claimed {
	e.Helper()
	e.promote()
	params := e.demand(node, 100)
	params.Kinds = kinds
	return e.claimWith(params)
}

func versionClaim(e *env) {
	node := e.join()
	run := e.claimOne(node, e.add())
	e.end(run, store.Available, bind("v1"))
	free := e.add()
	for _, kinds := range [][]string{{"send@v2"}, {"send@v"}, {"send@"}, {"v1"}, {"push@v1"}, {"send@v11"}} {
		if claimed := e.claimKinds(node, kinds...); len(claimed) != 0 {
			e.Fatalf("%v claimed %v", kinds, claimedIDs(claimed))
		}
	}
	claimed := e.claimKinds(node, "send@v1")
	e.wantIDs("claimed by the version", claimedIDs(claimed), run.Job.ID)
	if got := claimed[0].Job; got.Kind != "send" || got.Version != "v1" {
		e.Fatalf("the bound job: kind %q, version %q", got.Kind, got.Version)
	}
	e.end(claimed[0], store.Available)
	e.wantIDs("claimed without a version", claimedIDs(e.claimKinds(node, "send")), free)
	e.wantIDs("claimed with both", claimedIDs(e.claimKinds(node, "send", "send@v1")), run.Job.ID)
}

func versionBinds(e *env) {
	node := e.join()
	for _, state := range []store.State{store.Retryable, store.Scheduled, store.Available, store.Waiting} {
		for _, key := range []string{"", "k"} {
			run := e.claimOne(node, e.add(ordered(key)))
			e.write(&run, step(1))
			e.end(run, state, bind("v1"), func(o *store.Outcome) {
				if state == store.Waiting {
					o.Wait = &store.Wait{Until: e.clock.Now().Add(time.Minute)}
				}
			})
			if record := e.get(run.Job.ID); record.Kind != "send" || record.Version != "v1" || record.Queue != "mail" || record.Priority != 2 {
				e.Fatalf("%v: %+v", state, record.Job)
			}
			e.later(node, time.Minute)
			if claimed := e.claimKinds(node, "send"); len(claimed) != 0 {
				e.Fatalf("%v: claimed %v", state, claimedIDs(claimed))
			}
			claimed := e.claimKinds(node, "send@v1")
			e.wantIDs("claimed", claimedIDs(claimed), run.Job.ID)
			// It may move on to another version.
			e.end(claimed[0], store.Available, bind("v2"))
			if claimed := e.claimKinds(node, "send", "send@v1"); len(claimed) != 0 {
				e.Fatalf("%v: claimed %v", state, claimedIDs(claimed))
			}
			claimed = e.claimKinds(node, "send@v2")
			e.wantIDs("claimed", claimedIDs(claimed), run.Job.ID)
			e.end(claimed[0], store.Completed)
		}
	}
	// And when it begins anew.
	run := e.durable(1)
	e.end(run, store.Available, anew("x"), bind("v3"))
	e.wantIDs("claimed", claimedIDs(e.claimKinds(node, "send@v3", "send")), run.Job.ID)
}

func versionFinished(e *env) {
	node := e.join()
	for _, state := range []store.State{store.Completed, store.Failed, store.Cancelled} {
		run := e.claimOne(node, e.add())
		e.end(run, state, bind("v1"))
		if got := e.get(run.Job.ID).Version; got != "" {
			e.Fatalf("%v: version %q", state, got)
		}
	}
}

// versionStays: through everything that puts a job back without a run that says otherwise.
func versionStays(e *env) {
	node := e.join()
	run := e.claimOne(node, e.add(attempts(100)))
	e.write(&run, step(1))
	e.end(run, store.Available, bind("v1"))
	claim := func(what string) {
		e.Helper()
		if claimed := e.claimKinds(node, "send"); len(claimed) != 0 {
			e.Fatalf("%s: claimed %v", what, claimedIDs(claimed))
		}
		claimed := e.claimKinds(node, "send@v1")
		e.wantIDs(what, claimedIDs(claimed), run.Job.ID)
		run = claimed[0]
	}
	claim("bound")
	e.end(run, store.Retryable)
	e.retry(run.Job.ID)
	claim("retried")
	e.end(run, store.Retryable)
	e.later(node, time.Minute)
	claim("promoted")
	e.park(run, forSignals())
	e.send(run.Job.ID, signal("s"))
	claim("woken")
	e.park(run, &store.Wait{Held: true})
	e.resume(resumption(run.Job.ID), store.Available)
	claim("resumed")
	e.end(run, store.Available)
	e.pauseJob(run.Job.ID, store.Waiting)
	e.resume(resumption(run.Job.ID), store.Available)
	claim("resumed after a pause")
	e.end(run, store.Failed)
	e.resume(resumption(run.Job.ID), store.Available)
	claim("resumed after it failed")
	e.leave(node)
	node = e.join()
	claim("given back")
	e.clock.Advance(deadAfter + time.Second)
	e.rescue()
	node = e.join()
	e.later(node, rescueBackoff)
	claim("rescued")
	e.cancel(run.Job.ID)
	e.end(run, store.Retryable)
	claim("cancelled in order")
}

func versionEnqueued(e *env) {
	node := e.join()
	v1 := func(q *store.Enqueue) { q.Job.Version = "v1" }
	now, later, keyed := e.add(v1), e.add(v1, delay(time.Minute)), e.add(v1, ordered("k"))
	free := e.add()
	if record := e.get(now); record.Kind != "send" || record.Version != "v1" {
		e.Fatalf("record: %+v", record.Job)
	}
	e.wantIDs("claimed without a version", claimedIDs(e.claimKinds(node, "send")), free)
	e.later(node, time.Minute)
	e.wantIDs("claimed", claimedIDs(e.claimKinds(node, "send@v1")), now, keyed, later)
}

// versionOrder: priority, then run time, then id, over all versions that a node claims; and one at a time within a key.
func versionOrder(e *env) {
	node := e.join()
	version := func(v string) func(*store.Enqueue) { return func(q *store.Enqueue) { q.Job.Version = v } }
	third := e.add()
	first := e.add(version("v1"), priority(1))
	fourth := e.add(version("v2"))
	fifth := e.add()
	sixth := e.add(version("v1"))
	second := e.add(version("v1"), runAt(e.clock.Now().Add(-time.Second)))
	e.wantIDs("claimed", claimedIDs(e.claimKinds(node, "send", "send@v1", "send@v2")), first, second, third, fourth, fifth, sixth)

	one := e.add(ordered("k"))
	two := e.add(ordered("k"), version("v1"))
	claimed := e.claimKinds(node, "send", "send@v1")
	e.wantIDs("claimed", claimedIDs(claimed), one)
	e.end(claimed[0], store.Available, bind("v1"))
	claimed = e.claimKinds(node, "send", "send@v1")
	e.wantIDs("claimed", claimedIDs(claimed), one)
	e.end(claimed[0], store.Completed)
	e.wantIDs("claimed", claimedIDs(e.claimKinds(node, "send", "send@v1")), two)
}

func versionListed(e *env) {
	bound := e.add(func(q *store.Enqueue) { q.Job.Version = "v1" })
	free := e.add()
	e.add(kind("push"))
	listed := e.list(store.Filter{Kinds: []string{"send"}}, 10)
	if len(listed) != 2 || listed[0].ID != free || listed[1].ID != bound {
		e.Fatalf("listed under its kind: %+v", listed)
	}
	if listed[1].Kind != "send" || listed[1].Version != "v1" || listed[0].Version != "" {
		e.Fatalf("listed: %+v", listed)
	}
	if q := e.queue("mail"); q.Counts[store.Available].N != 3 {
		e.Fatalf("the queue counts %v", q.Counts)
	}
}
