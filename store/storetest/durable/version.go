package durable

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var versionTests = env.Tests{
	"a_bound_job_is_claimed_by_nodes_of_its_version_only": versionClaim,
	"a_job_may_be_enqueued_bound":                         versionEnqueued,
	"Order_versions_of_a_kind_share_one_order":            versionOrder,
	"a_bound_job_is_listed_under_its_kind":                versionListed,
}

func bind(version string) func(*store.Outcome) {
	return func(o *store.Outcome) { o.Version = version }
}

func versionClaim(e *env.Env) {
	node := e.Join()
	run := e.ClaimOne(node, e.Add())
	e.End(run, store.Available, bind("v1"))
	free := e.Add()
	for _, kinds := range [][]string{{"send@v2"}, {"send@v"}, {"send@"}, {"v1"}, {"push@v1"}, {"send@v11"}} {
		if claimed := e.ClaimKinds(node, kinds...); len(claimed) != 0 {
			e.Fatalf("%v claimed %v", kinds, env.ClaimedIDs(claimed))
		}
	}
	claimed := e.ClaimKinds(node, "send@v1")
	e.WantIDs("claimed by the version", env.ClaimedIDs(claimed), run.Job.ID)
	if got := claimed[0].Job; got.Kind != "send" || got.Version != "v1" {
		e.Fatalf("the bound job: kind %q, version %q", got.Kind, got.Version)
	}
	e.End(claimed[0], store.Available)
	e.WantIDs("claimed without a version", env.ClaimedIDs(e.ClaimKinds(node, "send")), free)
	e.WantIDs("claimed with both", env.ClaimedIDs(e.ClaimKinds(node, "send", "send@v1")), run.Job.ID)
}

func versionEnqueued(e *env.Env) {
	node := e.Join()
	v1 := env.Version("v1")
	now, later, keyed := e.Add(v1), e.Add(v1, env.Delay(time.Minute)), e.Add(v1, env.Ordered("k"))
	free := e.Add()
	if record := e.Get(now); record.Kind != "send" || record.Version != "v1" {
		e.Fatalf("record: %+v", record.Job)
	}
	e.WantIDs("claimed without a version", env.ClaimedIDs(e.ClaimKinds(node, "send")), free)
	e.Later(node, time.Minute)
	e.WantIDs("claimed", env.ClaimedIDs(e.ClaimKinds(node, "send@v1")), now, keyed, later)
}

// versionOrder: priority, then run time, then id, over all versions that a node claims; and one at
// a time within a key.
func versionOrder(e *env.Env) {
	node := e.Join()
	version := env.Version
	third := e.Add()
	first := e.Add(version("v1"), env.Priority(1))
	fourth := e.Add(version("v2"))
	fifth := e.Add()
	sixth := e.Add(version("v1"))
	second := e.Add(version("v1"), env.RunAt(e.Clock.Now().Add(-time.Second)))
	e.WantIDs("claimed", env.ClaimedIDs(e.ClaimKinds(node, "send", "send@v1", "send@v2")), first, second, third, fourth, fifth, sixth)

	one := e.Add(env.Ordered("k"))
	two := e.Add(env.Ordered("k"), version("v1"))
	claimed := e.ClaimKinds(node, "send", "send@v1")
	e.WantIDs("claimed", env.ClaimedIDs(claimed), one)
	e.End(claimed[0], store.Available, bind("v1"))
	claimed = e.ClaimKinds(node, "send", "send@v1")
	e.WantIDs("claimed", env.ClaimedIDs(claimed), one)
	e.End(claimed[0], store.Completed)
	e.WantIDs("claimed", env.ClaimedIDs(e.ClaimKinds(node, "send", "send@v1")), two)
}

func versionListed(e *env.Env) {
	bound := e.Add(env.Version("v1"))
	free := e.Add()
	e.Add(env.Kind("push"))
	listed := e.List(store.Filter{Kinds: []string{"send"}}, 10)
	if len(listed) != 2 || listed[0].ID != free || listed[1].ID != bound {
		e.Fatalf("listed under its kind: %+v", listed)
	}
	if listed[1].Kind != "send" || listed[1].Version != "v1" || listed[0].Version != "" {
		e.Fatalf("listed: %+v", listed)
	}
	if q := e.Queue("mail"); q.Counts[store.Available].N != 3 {
		e.Fatalf("the queue counts %v", q.Counts)
	}
}
