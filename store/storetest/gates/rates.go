package gates

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/crowd"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var rateTests = env.Tests{
	"LimitsHold_of_each_key_as_many_start_as_its_rate_lets":      rateEach,
	"LimitsHold_a_capacity_and_a_rate_both_bind":                 rateCapacity,
	"LimitsHold_another_rate_goes_on_from_what_was_taken":        rateChanged,
	"LimitsHold_a_rate_of_zero_stops_the_jobs":                   rateStopped,
	"LimitsHold_a_claim_that_is_rolled_back_takes_nothing":       rateRolledBack,
	"LimitsHold_a_claim_that_is_repeated_takes_no_other_permits": rateRepeated,
	"LimitsHold_a_rate_that_is_made_binds_those_that_wait":       rateMade,
	"NoLoss_a_rate_that_is_deleted_lets_all_go":                  rateDeleted,
	"NoLoss_a_clock_that_is_set_stops_no_key_for_long":           rateClock,
	"NoLoss_one_that_no_node_takes_keeps_no_other_from_starting": rateUntaken,
	"Order_is_kept_within_a_key":                                 rateOrder,
	"claims_and_promotions_say_when_the_next_may_start":          rateTold,
	"what_waits_is_put_back_as_it_may_start":                     rateBack,
	"any_burst_holds":                                            rateBurst,
	"it_is_no_rate_of_all_jobs_together":                         rateTogether,
	"a_parked_job_that_wakes_takes_another_permit":               rateParked,
	"NoLoss_what_waits_is_there_for_all_that_is_done_to_jobs":    ratePlaces,
}

// period is the time between two jobs of a key in most tests.
const period = 10 * time.Second

// rated is a limit of one job of each key every ten seconds, and so many at once.
func rated(burst int, change ...func(*store.Limit)) store.Limit {
	return env.Limit(tenant, 0, append([]func(*store.Limit){func(l *store.Limit) {
		l.PerKey, l.Uncapped, l.Rate = true, true, &store.Rate{Count: 6, Per: time.Minute, Burst: burst}
	}}, change...)...)
}

func every(d time.Duration) func(*store.Limit) {
	return func(l *store.Limit) { l.Rate = &store.Rate{Count: 1, Per: d, Burst: l.Rate.Burst} }
}

func atMost(capacity int) func(*store.Limit) {
	return func(l *store.Limit) { l.Capacity, l.Uncapped = capacity, false }
}

// wantStart checks when the next job of a key may start, from now on; 0: at once.
func wantStart(e *env.Env, key string, want time.Duration) {
	e.Helper()
	next, err := e.Store.NextOf(e.Ctx, env.Namespace, tenant, key)
	e.NoError("NextOf", err)
	got := time.Duration(0)
	if !next.IsZero() {
		got = next.Sub(e.Clock.Now())
	}
	e.Equal("the next of "+key, got, want)
}

func rateEach(e *env.Env) {
	e.SaveLimit(rated(2))
	node := e.Join()
	acme, other, free := env.IDsOf(e.Many(6, by("acme"))), env.IDsOf(e.Many(1, by("other"))), env.IDsOf(e.Many(1))
	wantStart(e, "acme", 0)
	runs := e.Claim(node, 100)
	e.WantIDs("claimed", env.ClaimedIDs(runs), acme[0], acme[1], other[0], free[0])
	wantStart(e, "acme", period)
	wantStart(e, "other", 0)
	e.EndAll(runs, store.Completed) // frees nothing
	e.WantNothing(node)
	e.Clock.Advance(period - time.Microsecond)
	e.WantNothing(node)
	e.Clock.Advance(time.Microsecond)
	e.End(e.ClaimOne(node, acme[2]), store.Completed)
	e.WantNothing(node)
	e.Clock.Advance(period)
	e.WantIDs("on another node", env.ClaimedIDs(e.Claim(e.Join(), 100)), acme[3])
	e.WantNothing(node)
	e.Clock.Advance(time.Hour)
	e.WantIDs("after a long time", env.ClaimedIDs(e.Claim(e.Join(), 100)), acme[4], acme[5])
	e.Many(1, by("acme"))
	e.WantNothing(node)
}

func rateCapacity(e *env.Env) {
	e.SaveLimit(rated(3, atMost(2)))
	node := e.Join()
	ids := env.IDsOf(e.Many(8, by("acme")))
	runs := e.Claim(node, 100)
	e.WantIDs("claimed", env.ClaimedIDs(runs), ids[0], ids[1])
	e.End(runs[0], store.Completed) // a slot is free, and a permit is left
	runs = append(runs, e.ClaimOne(node, ids[2]))
	e.WantNothing(node)
	e.End(runs[1], store.Completed) // a slot is free
	e.WantNothing(node)
	e.Clock.Advance(period) // and now a permit
	runs = append(runs, e.ClaimOne(node, ids[3]))
	e.Clock.Advance(time.Hour) // there are permits, and no slot is free
	e.Beat(node)
	e.WantNothing(node)
	wantRunning(e, "acme", ids[2], ids[3])
	e.End(runs[2], store.Completed)
	e.End(runs[3], store.Completed)
	runs = e.Claim(node, 100)
	e.WantIDs("claimed", env.ClaimedIDs(runs), ids[4], ids[5])
	e.EndAll(runs, store.Completed)
	e.ClaimOne(node, ids[6])
	e.WantNothing(node)
}

// rateChanged: permits that were taken stay taken, so many periods of the new rate.
func rateChanged(e *env.Env) {
	l := e.SaveLimit(rated(2))
	node := e.Join()
	ids := env.IDsOf(e.Many(9, by("acme")))
	e.Claim(node, 100)
	l = e.ChangeLimit(rated(2, every(time.Minute)), l.Version) // slower
	wantStart(e, "acme", time.Minute)
	e.Clock.Advance(time.Minute - time.Second)
	e.WantNothing(node)
	e.Clock.Advance(time.Second)
	e.ClaimOne(node, ids[2])
	e.WantNothing(node)
	l = e.ChangeLimit(rated(2, every(time.Second)), l.Version) // faster
	e.Clock.Advance(time.Second)
	e.ClaimOne(node, ids[3])
	e.WantNothing(node)
	l = e.ChangeLimit(rated(4, every(time.Second)), l.Version) // two more at once
	e.WantIDs("claimed", env.ClaimedIDs(e.Claim(node, 100)), ids[4], ids[5])
	e.WantNothing(node)
	e.ChangeLimit(limit(7), l.Version) // no rate
	e.WantIDs("claimed", env.ClaimedIDs(e.Claim(node, 100)), ids[6])
}

func rateStopped(e *env.Env) {
	l := e.SaveLimit(rated(2))
	node := e.Join()
	ids := env.IDsOf(e.Many(5, by("acme")))
	e.Claim(node, 1)
	l = e.ChangeLimit(rated(2, func(l *store.Limit) { l.Rate.Count = 0 }), l.Version)
	e.Many(1, by("other"))
	for range 3 {
		e.WantNothing(node)
		e.Clock.Advance(time.Hour)
		e.Beat(node)
	}
	wantStart(e, "acme", 0)
	e.ChangeLimit(rated(2), l.Version)
	e.Equal("those that go on", len(e.Claim(node, 100)), 3)
	e.Clock.Advance(period)
	e.ClaimOne(node, ids[3])
}

// rateRolledBack: a claim by a number that was used takes nothing, neither jobs nor permits.
func rateRolledBack(e *env.Env) {
	e.SaveLimit(rated(3))
	node := e.Join()
	plain := e.Add()
	params := e.Demand(node, 100)
	e.WantIDs("claimed", env.ClaimedIDs(e.ClaimWith(params)), plain)
	ids := env.IDsOf(e.Many(5, by("acme")))
	for range 4 {
		claimed, err := e.Store.Claim(e.Ctx, params)
		if err == nil && len(claimed) > 0 && claimed[0].Job.ID != plain {
			e.Fatalf("by a number that was used %v were claimed, %v", env.ClaimedIDs(claimed), err)
		}
	}
	wantStart(e, "acme", 0)
	e.WantIDs("claimed", env.ClaimedIDs(e.Claim(node, 100)), ids[:3]...)
	e.WantNothing(node)
}

func rateRepeated(e *env.Env) {
	e.SaveLimit(rated(3))
	node := e.Join()
	ids := env.IDsOf(e.Many(5, by("acme")))
	params := e.Demand(node, 2)
	first := e.ClaimWith(params)
	params.Repeat = true
	for range 3 {
		e.Equal("the same again", env.LeasesOf(e.ClaimWith(params)), env.LeasesOf(first))
	}
	e.ClaimOne(node, ids[2])
	e.WantNothing(node)
}

// rateMade: a rate is set of a limit at which jobs wait, and of one that is not there.
func rateMade(e *env.Env) {
	node := e.Join()
	acme := env.IDsOf(e.Many(5, by("acme")))
	l := e.SaveLimit(limit(1))
	run := e.ClaimOne(node, acme[0])
	e.WantNothing(node)
	l = e.ChangeLimit(rated(2, atMost(1)), l.Version)
	e.End(run, store.Completed)
	e.End(e.ClaimOne(node, acme[1]), store.Completed)
	e.End(e.ClaimOne(node, acme[2]), store.Completed)
	e.WantNothing(node)
	e.NoError("DeleteLimit", e.Store.DeleteLimit(e.Ctx, env.Namespace, tenant, false, ""))
	e.SaveLimit(rated(1)) // which goes on from what was taken
	e.WantNothing(node)
	e.Clock.Advance(period)
	e.ClaimOne(node, acme[3])
	e.WantNothing(node)
	e.Equal("the first version of another limit", l.Version > 1, true)
}

func rateDeleted(e *env.Env) {
	e.SaveLimit(rated(1))
	node := e.Join()
	e.Many(30, by("acme"))
	e.Many(30, by("other"))
	e.Equal("claimed", len(e.Claim(node, 100)), 2)
	e.NoError("DeleteLimit", e.Store.DeleteLimit(e.Ctx, env.Namespace, tenant, false, ""))
	e.Equal("claimed without the limit", len(e.Claim(node, 100)), 58)
}

// rateClock: after the clock was set back a key waits for one period, from when that is seen; after
// it was set forward a burst more may start.
func rateClock(e *env.Env) {
	e.SaveLimit(rated(2))
	node := e.Join()
	ids := env.IDsOf(e.Many(9, by("acme")))
	e.Equal("claimed", len(e.Claim(node, 100)), 2)
	e.WantNothing(node)
	e.Clock.Advance(-24 * time.Hour)
	e.WantNothing(node)
	late := e.Add(by("new"))
	fresh := e.Claim(node, 1)
	for range 5 { // it is due before where the node has looked
		if len(fresh) == 0 {
			e.Clock.Advance(100 * time.Millisecond)
			fresh = e.Claim(node, 1)
		}
	}
	e.WantIDs("claimed of a new key", env.ClaimedIDs(fresh), late)
	var claimed []store.ID
	for range 6 {
		e.Clock.Advance(period)
		e.Beat(node)
		claimed = append(claimed, env.ClaimedIDs(e.Claim(node, 100))...)
	}
	if len(claimed) < 4 || len(claimed) > 6 {
		e.Fatalf("in a minute after the clock was set back %d jobs were claimed", len(claimed))
	}
	e.Clock.Advance(48 * time.Hour)
	n := 2 + len(claimed)
	e.WantIDs("after it was set forward", env.ClaimedIDs(e.Claim(node, 100)), ids[n:min(n+2, len(ids))]...)
	e.WantNothing(node)
}

// rateUntaken: the first jobs of the key are in a queue that is paused, and of a kind that no node
// has.
func rateUntaken(e *env.Env) {
	e.SaveLimit(rated(1))
	node := e.Join()
	e.ClaimOne(node, e.Add(by("acme"), env.Priority(1)))
	e.Many(3, by("acme"), env.Queue("paused"), env.Priority(1))
	e.Many(3, by("acme"), env.Kind("push"), env.Priority(1))
	e.WantNothing(node)
	e.Pause("paused", true)
	sent := e.Add(by("acme"))
	var claimed []store.Claimed
	for range 20 {
		e.Clock.Advance(period)
		e.Beat(node)
		if claimed = e.ClaimKinds(node, "send"); len(claimed) > 0 {
			break
		}
	}
	e.WantIDs("claimed", env.ClaimedIDs(claimed), sent)
	e.Pause("paused", false)
	seen := 0
	for range 20 {
		e.Clock.Advance(period)
		e.Beat(node)
		runs := e.Claim(node, 10)
		if len(runs) > 1 {
			e.Fatalf("%d jobs were claimed at once", len(runs))
		}
		seen += len(runs)
	}
	e.Equal("the others", seen, 6)
}

func rateOrder(e *env.Env) {
	e.SaveLimit(rated(3))
	node := e.Join()
	ids := env.IDsOf(e.Many(14, by("acme")))
	var got []store.ID
	for i := range 20 {
		got = append(got, env.ClaimedIDs(e.Claim(node, 1+i%4))...)
		e.Clock.Advance(period * time.Duration(1+i%3))
		e.Beat(node)
	}
	e.WantIDs("claimed", got, ids...)
}

func rateTold(e *env.Env) {
	e.SaveLimit(rated(2))
	node := e.Join()
	e.Many(5, by("acme"))
	e.Clock.Advance(3 * time.Second)
	e.Many(1, by("other"))
	var passed store.Passed
	params := e.Demand(node, 100)
	params.Passed = &passed
	began := e.Clock.Now()
	e.Equal("claimed", len(e.ClaimWith(params)), 3)
	if e.Store.Traits().Name == "model" {
		return // it looks at all jobs each time
	}
	e.Equal("when the next may start", passed.Due, began.Add(period))
	promoted, err := e.Store.Promote(e.Ctx, 1000)
	e.NoError("Promote", err)
	if promoted.Jobs != 0 || promoted.NextDue.IsZero() || promoted.NextDue.After(began.Add(period)) {
		e.Fatalf("a promotion while a job waits for its rate: %+v", promoted)
	}
	e.Clock.Advance(period)
	promoted, err = e.Store.Promote(e.Ctx, 1000)
	e.NoError("Promote", err)
	e.Equal("jobs that may start", promoted.Jobs, 1)
	if len(promoted.Wakes) != 1 {
		e.Fatalf("the wakes are %v", promoted.Wakes)
	}
	passed, params = store.Passed{}, e.Demand(node, 100)
	params.Passed = &passed
	e.Equal("claimed", len(e.ClaimWith(params)), 1)
	e.Equal("when the one after it may start", passed.Due, began.Add(2*period))
}

// rateBack: promotions put into ready what the rate lets start, and no more, of thousands.
func rateBack(e *env.Env) {
	if e.Store.Traits().Name == "model" {
		return
	}
	e.SaveLimit(rated(3))
	node := e.Join()
	for i := range 40 {
		e.Many(10, by(strconv.Itoa(i)))
	}
	e.Equal("claimed", len(e.Claim(node, 1000)), 120)
	e.Clock.Advance(period)
	for i, want := range []int{40, 0, 0} {
		moved := 0
		for more := true; more; {
			promoted, err := e.Store.Promote(e.Ctx, 15)
			e.NoError("Promote", err)
			moved, more = moved+promoted.Jobs, promoted.Jobs > 0
		}
		e.Equal(fmt.Sprintf("put back in look %d", i), moved, want)
	}
	e.Equal("claimed", len(e.ClaimWith(e.Demand(node, 1000))), 40)
}

func rateBurst(e *env.Env) {
	e.SaveLimit(env.Limit(tenant, 0, func(l *store.Limit) {
		l.PerKey, l.Uncapped, l.Rate = true, true, &store.Rate{Count: 1000, Per: time.Second, Burst: 1}
	}))
	node := e.Join()
	ids := env.IDsOf(e.Many(4, by("acme")))
	for _, id := range ids {
		e.ClaimOne(node, id)
		e.WantNothing(node)
		e.Clock.Advance(time.Millisecond)
	}
	for name, change := range map[string]func(*store.Limit){
		"a burst that is negative": func(l *store.Limit) { l.Rate.Burst = -1 },
		"a rate that is negative":  func(l *store.Limit) { l.Rate.Count = -1 },
		"neither":                  func(l *store.Limit) { l.Rate = nil },
		"queues":                   func(l *store.Limit) { l.Queues = []string{"mail"} },
	} {
		l := rated(1, change)
		l.Name = "other"
		if _, err := e.Store.SaveLimit(e.Ctx, l, 0, ""); !errors.Is(err, store.ErrInvalid) {
			e.Errorf("a rate of keys with %s: %v", name, err)
		}
	}
}

// rateTogether: no node takes permits of it, and no code.
func rateTogether(e *env.Env) {
	l := e.SaveLimit(rated(2))
	e.Equal("read", e.LimitOf(tenant), l)
	e.Equal("the rate", *l.Rate, store.Rate{Count: 6, Per: time.Minute, Burst: 2})
	taken, err := e.Store.TakePermits(e.Ctx, []store.PermitAsk{{Limit: l.ID, Version: l.Version, Want: 1}})
	if err != nil || len(taken) != 0 {
		e.Fatalf("permits of it are %+v, %v", taken, err)
	}
	if err := e.Store.Drain(e.Ctx, env.Namespace, tenant, e.Clock.Now().Add(time.Hour), ""); !errors.Is(err, store.ErrInvalid) {
		e.Errorf("it was drained: %v", err)
	}
	wantStart(e, "acme", 0)
	next, err := e.Store.NextOf(e.Ctx, env.Namespace, "none", "acme")
	if err != nil || !next.IsZero() {
		e.Errorf("the next of a limit that is not there is %v, %v", next, err)
	}
}

func rateParked(e *env.Env) {
	e.SaveLimit(rated(1))
	node := e.Join()
	first := e.Add(by("acme"))
	run := e.ClaimOne(node, first)
	e.Write(&run, env.Steps(1, 1)...)
	e.Park(run, &store.Wait{Kinds: store.MessagesOf(store.MessageSignal)})
	e.Send(first, env.Signal("go"))
	e.WantNothing(node)
	e.Clock.Advance(period)
	e.End(e.ClaimOne(node, first), store.Completed)
}

// ratePlaces: jobs that wait for the rate are cancelled, edited, and their queue is deleted.
func ratePlaces(e *env.Env) {
	e.SaveLimit(rated(1))
	node := e.Join()
	ids := env.IDsOf(e.Many(4, by("acme")))
	e.ClaimOne(node, ids[0])
	e.WantNothing(node)
	e.Terminate(ids[1])
	urgent := 1
	_, err := e.TryEdit(env.Edits(ids[3], store.Edit{Priority: &urgent}))
	e.NoError("Edit", err)
	e.WantNothing(node)
	e.Clock.Advance(period)
	e.ClaimOne(node, ids[3])
	e.WantNothing(node)
	e.Terminate(ids[2])
	e.Clock.Advance(period)
	e.WantNothing(node) // none waits any more
	last := e.Add(by("acme"))
	e.ClaimOne(node, last)
}

// starts are the times at which jobs of each key were claimed.
type starts struct {
	mu sync.Mutex
	at map[string][]time.Duration
}

func (s *starts) add(runs []store.Claimed, at time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range runs {
		key := runs[i].Job.Options.LimitKey
		s.at[key] = append(s.at[key], at)
	}
}

// wantRate checks that no time has more than its burst and what comes in it, and that nearly as
// many come as may.
func (s *starts) wantRate(e *env.Env, burst int, until time.Duration) {
	e.Helper()
	for key, at := range s.at {
		for i := range at {
			for j := i; j < len(at); j++ {
				if n, most := j-i+1, burst+int((at[j]-at[i])/period); n > most {
					e.Fatalf("%d jobs of the key %s were claimed in %v, and %d may be", n, key, at[j]-at[i], most)
				}
			}
		}
		if n, most := len(at), burst+int(until/period); n < most-1 {
			e.Fatalf("%d jobs of the key %s were claimed in %v, and %d may be", n, key, until, most)
		}
	}
}

// rateNodes: nodes claim at once, hold what they have claimed, end it, die with it and leave, while
// the clock stands; then it goes on.
func rateNodes(e *env.Env) {
	const claimers, keys, burst, rounds = 4, 5, 3, 60
	e.SaveLimit(rated(burst))
	began, random := e.Clock.Now(), rand.New(rand.NewPCG(5, 5))
	nodes := crowd.Joined(e, claimers)
	for i := range keys {
		e.Many(150, by(strconv.Itoa(i)))
	}
	seen := &starts{at: map[string][]time.Duration{}}
	for round := range rounds {
		held := make([][]store.Claimed, claimers)
		at := e.Clock.Now().Sub(began)
		limits := []int{random.IntN(9), random.IntN(9), 1 + random.IntN(40), 200}
		crowd.Together(e, claimers, func(i int) error {
			for range 2 {
				if _, err := e.Store.Promote(e.Ctx, 1000); err != nil {
					return err
				}
				runs, err := crowd.ClaimNow(e, e.Demand(nodes[i], limits[i]))
				if err != nil {
					return err
				}
				seen.add(runs, at)
				held[i] = append(held[i], runs...)
			}
			return nil
		})
		for i, runs := range held {
			switch {
			case round%7 == i:
				e.Leave(nodes[i])
				nodes[i] = e.Join()
			case round%3 == 1:
				e.GiveUp(runs...)
			default:
				e.EndAll(runs, store.Completed)
			}
		}
		e.Clock.Advance(time.Duration(random.Int64N(int64(period))))
		for _, node := range nodes {
			e.Beat(node)
		}
	}
	seen.wantRate(e, burst, e.Clock.Now().Sub(began)-period)
}
