package machine

import (
	"flag"
	"os"
	"sync"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/internal/seed"
	"github.com/holdfastdev/holdfast/store/storetest/env"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
)

var propertyTests = env.Tests{
	"the_store_does_what_the_model_does":                         func(e *env.Env) { property(e, mode{}) },
	"the_store_does_what_the_model_does_with_ordering_keys":      func(e *env.Env) { property(e, mode{keyed: true}) },
	"NoLoss_lost_requests_and_answers_change_nothing":            func(e *env.Env) { property(e, mode{lossy: true}) },
	"the_store_does_what_the_model_does_with_jobs_that_remember": func(e *env.Env) { property(e, mode{durable: true}) },
	"the_store_does_what_the_model_does_with_jobs_that_remember_and_ordering_keys": func(e *env.Env) {
		property(e, mode{durable: true, keyed: true})
	},
	"NoLoss_lost_requests_and_answers_change_nothing_of_what_jobs_remember": func(e *env.Env) {
		property(e, mode{durable: true, lossy: true})
	},
	"OneFire_the_store_does_what_the_model_does_with_schedules": func(e *env.Env) { property(e, mode{scheduled: true}) },
	"OneFire_lost_requests_and_answers_change_nothing_of_schedules": func(e *env.Env) {
		property(e, mode{scheduled: true, lossy: true})
	},
	"LimitsHold_the_store_does_what_the_model_does_with_limits": func(e *env.Env) { property(e, mode{limited: true}) },
	"LimitsHold_lost_requests_and_answers_change_nothing_of_limits": func(e *env.Env) {
		property(e, mode{limited: true, lossy: true})
	},
	"LimitsHold_the_store_does_what_the_model_does_with_limits_per_key": func(e *env.Env) {
		property(e, mode{keyed: true, gated: true})
	},
	"LimitsHold_the_store_does_what_the_model_does_with_limits_per_key_and_jobs_that_remember": func(e *env.Env) {
		property(e, mode{keyed: true, gated: true, durable: true})
	},
	"Order_the_store_does_what_the_model_does_with_fair_keys": func(e *env.Env) { property(e, mode{fair: true}) },
	"Order_the_store_does_what_the_model_does_with_fair_keys_and_jobs_that_remember": func(e *env.Env) {
		property(e, mode{fair: true, durable: true, keyed: true})
	},
	"the_store_does_what_the_model_does_with_batches": func(e *env.Env) { property(e, mode{batched: true}) },
	"the_store_does_what_the_model_does_with_batches_and_jobs_that_remember": func(e *env.Env) {
		property(e, mode{batched: true, durable: true})
	},
	"the_store_does_what_the_model_does_with_search_attributes": func(e *env.Env) { property(e, mode{searched: true}) },
	"the_store_does_what_the_model_does_with_search_attributes_of_jobs_that_remember": func(e *env.Env) {
		property(e, mode{searched: true, durable: true, keyed: true})
	},
	"NoLoss_lost_requests_and_answers_change_nothing_of_search_attributes": func(e *env.Env) {
		property(e, mode{searched: true, lossy: true})
	},
	"the_store_does_what_the_model_does_with_logs":                       func(e *env.Env) { property(e, mode{logged: true}) },
	"NoLoss_lost_requests_and_answers_change_nothing_of_logs":            func(e *env.Env) { property(e, mode{logged: true, lossy: true}) },
	"NoLoss_lost_requests_and_answers_change_nothing_with_batches":       func(e *env.Env) { property(e, mode{batched: true, lossy: true}) },
	"NoLoss_lost_requests_and_answers_change_nothing_with_fair_keys":     func(e *env.Env) { property(e, mode{fair: true, lossy: true}) },
	"NoLoss_lost_requests_and_answers_change_nothing_with_ordering_keys": func(e *env.Env) { property(e, mode{keyed: true, lossy: true}) },
}

// Each property test draws so many sequences: few from a seed that is always the same, or, in a
// soak, more from seeds that are other ones in each round.
const fewChecks, manyChecks = "3", "15"

// Seed sets how many sequences are drawn, and from which seed, if the flags of rapid do not.
var Seed = sync.OnceFunc(func() {
	set := map[string]string{"rapid.checks": fewChecks, "rapid.seed": "1"}
	if given := os.Getenv(seed.Env); given != "" {
		set = map[string]string{"rapid.checks": manyChecks, "rapid.seed": given}
	}
	flag.Visit(func(f *flag.Flag) { delete(set, f.Name) })
	for name, value := range set {
		_ = flag.Set(name, value) // the flags exist, and rapid says what is wrong with a seed
	}
})

// property draws sequences of operations and lets a machine compare the store with the model.
func property(e *env.Env, mode mode) {
	stores := &pool{t: e.T, open: e.Open, clock: e.Clock, ids: e.IDs, store: e.Store}
	rapid.Check(e.T, func(t *rapid.T) { stores.check(t, mode) })
}

func (p *pool) check(t *rapid.T, mode mode) {
	m := newMachine(t, p, mode)
	inner := m.store
	if mode.lossy {
		m.store = env.Persist(faults.Wrap(inner, faults.Seeded(rapid.Uint64().Draw(t, "faults"), 0.3)))
	}
	if rapid.Bool().Draw(t, "follows the feed") {
		m.followFeed()
	}
	if mode.searched {
		m.search()
	}
	if mode.durable {
		m.family(t)
	}
	t.Repeat(m.actions())
	m.finish(p, inner)
}
