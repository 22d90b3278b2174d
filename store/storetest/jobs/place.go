package jobs

import (
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var placeTests = env.Tests{
	"Order_a_run_that_never_began_leaves_its_job_its_place":    placeKept,
	"Order_a_place_is_kept_behind_where_claims_have_come_to":   placeBehind,
	"Order_a_place_is_kept_with_a_turn_a_limit_and_a_fair_key": placeWithKeys,
	"a_place_is_kept_only_by_what_never_began":                 placeRefused,
}

// neverBegan says that a run did not begin.
func neverBegan(o *store.Outcome) { o.KeepsPlace, o.StartedAt = true, time.Time{} }

// giveBack ends runs that never began.
func giveBack(e *env.Env, runs ...store.Claimed) {
	e.Helper()
	for _, run := range runs {
		e.EndAs(store.Available, run, store.Available, neverBegan)
	}
}

func placeKept(e *env.Env) {
	node, enqueued := e.Join(), e.Clock.Now()
	first, second := e.Add(), e.Add()
	e.Later(node, time.Minute)
	third := e.Add()
	run := e.Claim(node, 1)[0]
	giveBack(e, run)
	record := e.Get(first)
	if record.State != store.Available || !record.RunAt.Equal(enqueued) || record.Attempt != 0 || len(record.Attempts) != 1 {
		e.Fatalf("it was given back before it began: %+v", record)
	}
	if oldest := e.Queue(run.Job.Queue).OldestDue; !oldest.Equal(enqueued) {
		e.Fatalf("the oldest job is due since %v, want %v", oldest, enqueued)
	}
	runs := e.Claim(node, 2)
	e.WantIDs("claimed after it was given back", env.ClaimedIDs(runs), first, second)
	// A run that began goes behind those that wait: its job had its turn.
	e.Later(node, time.Second)
	e.EndAs(store.Available, runs[0], store.Available)
	e.WantIDs("claimed after a run that began", env.ClaimedIDs(e.Claim(node, 9)), third, first)
}

// placeBehind: claims that remember where they have come to find what is given back behind that.
func placeBehind(e *env.Env) {
	node := e.Join()
	var want []store.ID
	for range 300 {
		want = append(want, e.Add())
		e.Clock.Advance(time.Millisecond)
	}
	e.Later(node, 10*time.Second)
	early := e.Claim(node, 20)
	e.Claim(node, 100)
	slices.Reverse(early)
	giveBack(e, early...)
	e.WantIDs("claimed next", env.ClaimedIDs(e.Claim(node, 30)), append(slices.Clone(want[:20]), want[120:130]...)...)
}

func placeWithKeys(e *env.Env) {
	node := e.Join()
	e.SaveLimit(env.Limit("each", 1, func(l *store.Limit) { l.PerKey = true }))
	for what, change := range map[string]func(*store.Enqueue){
		"an ordering key": env.Ordered("k"), "a limit per key": env.LimitKey("each", "k"), "a fair key": env.FairKey("k"),
	} {
		enqueued := e.Clock.Now()
		first, second := e.Add(change), e.Add(change)
		e.Later(node, time.Second)
		giveBack(e, e.Claim(node, 1)...)
		if record := e.Get(first); !record.RunAt.Equal(enqueued) {
			e.Fatalf("%s: it is due at %v, want %v", what, record.RunAt, enqueued)
		}
		for _, id := range []store.ID{first, second} {
			e.Promote()
			run := e.Claim(node, 1)
			e.WantIDs(what, env.ClaimedIDs(run), id)
			e.End(run[0], store.Completed)
		}
	}
}

func placeRefused(e *env.Env) {
	began := func(o *store.Outcome) { o.KeepsPlace = true }
	for _, o := range []*store.Outcome{
		env.Outcome(e.Started(), store.Available, began),
		env.Outcome(e.Started(), store.Scheduled, neverBegan),
		env.Outcome(e.Started(), store.Completed, neverBegan),
		env.Outcome(e.Started(), store.Available, env.AsNew("1"), neverBegan),
	} {
		e.WantErr("a place that is not kept", e.TryEnd(o), store.ErrInvalid)
	}
}
