package keys

import (
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var retentionTests = env.Tests{
	"a_key_goes_with_its_job":                                        retentionGoes,
	"NoLoss_a_key_that_is_kept_for_ever_outlives_its_job":            retentionForEver,
	"a_key_that_is_kept_for_a_time_is_free_then_though_its_job_went": retentionForTime,
	"a_job_that_goes_leaves_the_key_to_the_one_that_took_it":         retentionTaken,
	"keys_of_jobs_that_stay_stay":                                    retentionSurvivors,
}

func retentionGoes(e *env.Env) {
	node := e.Join()
	var gone []store.ID
	for i, state := range []store.State{store.Completed, store.Failed, store.Cancelled} {
		id := e.TakeKey(state.String(), env.KeepKey(time.Duration(i)*time.Hour))
		e.End(e.ClaimOne(node, id), state)
		gone = append(gone, id)
	}
	never := e.TakeKey("never ran")
	e.Cancel(never)
	e.Retire(node)
	for _, id := range append(gone, never) {
		e.WantGone(id)
	}
	for _, key := range []string{"completed", "failed", "cancelled", "never ran"} {
		e.WantNoKey(key)
		e.TakeKey(key)
	}
}

func retentionForEver(e *env.Env) {
	node := e.Join()
	holders := map[string]store.ID{}
	for i, state := range []store.State{store.Completed, store.Failed, store.Cancelled, store.Completed} {
		key := fmt.Sprint(state, i)
		holders[key] = e.TakeKey(key, env.KeepKey(store.KeepForever))
		e.End(e.ClaimOne(node, holders[key]), state)
	}
	for range 3 {
		e.Retire(node)
		for key, id := range holders {
			e.WantGone(id)
			e.WantKey(key, id)
		}
	}
}

func retentionForTime(e *env.Env) {
	const keep = 40 * 24 * time.Hour
	node := e.Join()
	id := e.TakeKey("k", env.KeepKey(keep))
	e.Clock.Advance(3 * time.Hour)
	e.End(e.ClaimOne(node, id), store.Completed)
	free := e.Clock.Now().Add(keep)
	e.Retire(node)
	e.WantGone(id)
	e.WantKey("k", id)
	e.Clock.Advance(free.Sub(e.Clock.Now()) - time.Microsecond)
	e.Beat(node)
	e.Retain(env.Briefly)
	e.WantKey("k", id)
	e.Clock.Advance(time.Microsecond)
	e.WantNoKey("k")
	next := e.TakeKey("k", env.KeepKey(keep))
	e.End(e.ClaimOne(e.Join(), next), store.Completed)
	e.Retire()
	e.Clock.Advance(keep)
	e.Retain(env.Briefly)
	e.WantNoKey("k")
}

func retentionTaken(e *env.Env) {
	node := e.Join()
	first := e.TakeKey("k")
	e.End(e.ClaimOne(node, first), store.Completed)
	e.Clock.Advance(time.Hour)
	second := e.TakeKey("k")
	run := e.ClaimOne(node, second)
	e.Retire(node)
	e.WantGone(first)
	e.WantKey("k", second)
	e.End(run, store.Completed)
	e.Retire(node)
	e.WantNoKey("k")
}

// retentionSurvivors: jobs of one day, of which some stay, for one reason or another.
func retentionSurvivors(e *env.Env) {
	node := e.Join()
	for i := range 10 {
		id := e.TakeKey(fmt.Sprint("gone ", i), env.KeepKey([]time.Duration{0, store.KeepForever}[i%2]))
		e.End(e.ClaimOne(node, id), store.Completed)
	}
	failed := e.TakeKey("failed", env.KeepKey(store.KeepForever))
	e.End(e.ClaimOne(node, failed), store.Failed)
	waits := e.TakeKey("waits", env.Delay(1000*time.Hour), env.KeepKey(time.Hour))
	runs := e.TakeKey("runs")
	run := e.ClaimOne(node, runs)
	params := store.Retention{Completed: time.Hour, Cancelled: time.Hour, Limit: 3}
	e.Clock.Advance(time.Hour + env.Slack)
	e.Beat(node)
	for range 3 {
		e.Retain(params)
		for i := range 10 {
			key := fmt.Sprint("gone ", i)
			if i%2 == 0 {
				e.WantNoKey(key)
			} else {
				e.WantKey(key, e.Find(key))
			}
		}
		for key, id := range map[string]store.ID{"failed": failed, "waits": waits, "runs": runs} {
			e.WantKey(key, id)
		}
	}
	e.End(run, store.Completed)
	e.TakeKey("runs")
	e.Retry(failed)
	e.WantKey("failed", failed)
}
