package keys

import (
	"errors"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var againTests = env.Tests{
	"UniqueIsUnique_a_finished_job_runs_again_only_if_it_gets_its_key": againTaken,
	"a_finished_job_that_runs_again_has_its_key":                       againHas,
	"UniqueIsUnique_of_two_finished_jobs_the_first_gets_the_key":       againFirst,
	"a_finished_job_takes_the_key_from_one_that_does_not_keep_it":      againTakes,
	"a_job_that_waits_and_is_retried_has_its_key":                      againWaits,
}

// again lets a finished job run again, in both ways.
var again = map[string]func(e *env.Env, id store.ID) error{
	"retry": func(e *env.Env, id store.ID) error { return e.TryRetry(id).Err },
	"resume": func(e *env.Env, id store.ID) error {
		_, _, err := e.Store.Resume(e.Ctx, env.Resumption(id))
		return err
	},
}

func againTaken(e *env.Env) {
	for how, run := range again {
		old := e.TakeKey(how)
		e.Cancel(old)
		holder := e.TakeKey(how, env.KeepKey(time.Hour))
		refuse := func() {
			e.Helper()
			err := run(e, old)
			var taken *store.UniqueError
			if !errors.As(err, &taken) || taken.Holder != holder || taken.Key != how || !errors.Is(err, store.ErrConflict) {
				e.Fatalf("%s of a job whose key another one holds: %v", how, err)
			}
			e.WantState(old, store.Cancelled)
			e.WantKey(how, holder)
		}
		refuse()
		e.Cancel(holder)
		refuse() // it keeps the key
		e.Clock.Advance(time.Hour)
		e.NoError(how, run(e, old))
		e.WantState(old, store.Available)
		e.WantKey(how, old)
	}
}

func againHas(e *env.Env) {
	for how, run := range again {
		id := e.TakeKey(how, env.KeepKey(time.Hour), env.Args("1"))
		e.End(e.ClaimOne(e.Join(), id), store.Failed)
		e.Clock.Advance(2 * time.Hour) // the key is free, and no other job has taken it
		e.NoError(how, run(e, id))
		e.WantKey(how, id)
		if q := e.Try(env.Key(how), env.Args("1")); q.Result.Differs {
			e.Fatalf("the args are others after %s", how)
		}
		e.End(e.ClaimOne(e.Join(), id), store.Completed)
		e.WantKey(how, id)
		e.Clock.Advance(time.Hour)
		e.Cancel(e.TakeKey(how))
	}
}

func againFirst(e *env.Env) {
	var old []store.ID
	for range 3 {
		id := e.TakeKey("k")
		e.Cancel(id)
		old = append(old, id)
	}
	results, _, err := e.Store.Retry(e.Ctx, store.RetryParams{Jobs: old, Actor: "ada"})
	e.NoError("Retry", err)
	for i, r := range results {
		var taken *store.UniqueError
		if i == 0 && (r.Err != nil || r.State != store.Available) || i > 0 && (!errors.As(r.Err, &taken) || taken.Holder != old[0]) {
			e.Fatalf("job %d: %+v", i, r)
		}
	}
	e.WantKey("k", old[0])
}

// againTakes: the key goes back to the first job, and then to the second, whatever its row says.
func againTakes(e *env.Env) {
	first, node := e.TakeKey("k", env.Args("1")), e.Join()
	e.Cancel(first)
	second := e.TakeKey("k", env.Args("2"))
	e.Cancel(second)
	for range 2 {
		for i, id := range []store.ID{first, second} {
			e.Retry(id)
			e.WantKey("k", id)
			for args, differs := range map[string]bool{"1": i == 1, "2": i == 0} {
				if q := e.Try(env.Key("k"), env.Args(args)); q.Result.ID != id || q.Result.Differs != differs {
					e.Fatalf("args %s of job %d: %+v", args, i, q.Result)
				}
			}
			e.End(e.ClaimOne(node, id), store.Failed)
		}
	}
	e.Retire(node)
	e.WantNoKey("k")
}

func againWaits(e *env.Env) {
	id := e.TakeKey("k", env.Delay(time.Hour))
	e.Retry(id)
	e.WantKey("k", id)
	run := e.ClaimOne(e.Join(), id)
	e.End(run, store.Retryable)
	e.Retry(id)
	e.WantKey("k", id)
}
