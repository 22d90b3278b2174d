package gates

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// How many jobs of keys wait.
var waitsTests = env.Tests{
	"of_each_key_of_a_queue_those_that_wait":  waitsCounted,
	"wherever_they_wait":                      waitsWherever,
	"no_more_are_counted_than_was_asked_for":  waitsBounded,
	"more_than_are_looked_at_as_a_whole":      waitsMany,
	"what_nobody_has_is_none_and_errors_tell": waitsOdd,
}

// wantWaiting checks how many jobs of keys of the limit tenant wait in the queue mail, in both ways
// of counting.
func wantWaiting(e *env.Env, what string, want map[string]int) {
	e.Helper()
	params := store.WaitingOfKeysParams{Namespace: env.Namespace, Queue: "mail", Most: 100}
	var counts []int
	for key, n := range want {
		params.Keys, counts = append(params.Keys, store.KeyOfLimit{Limit: tenant, Key: key}), append(counts, n)
	}
	for _, params.Few = range []int{0, -1} {
		got, err := e.Store.WaitingOfKeys(e.Ctx, params)
		e.NoError("WaitingOfKeys", err)
		e.Equal(what, got, counts)
	}
}

func waitsCounted(e *env.Env) {
	node := e.Join()
	run := e.ClaimOne(node, e.Add(by("acme"), env.Priority(1)))
	e.Add(by("acme"))
	e.Add(by("acme"), env.Kind("push"), env.Priority(3))
	e.Add(by("acme"), env.Queue("other"))
	e.Add(env.LimitKey("region", "acme"))
	e.Add(by("bee"))
	e.Add()
	e.InOtherSpace().Add(by("acme"))
	wantWaiting(e, "one runs", map[string]int{"acme": 2, "bee": 1, "none": 0})
	e.End(run, store.Retryable, func(o *store.Outcome) { o.RunAt = e.Clock.Now().Add(time.Hour) })
	wantWaiting(e, "it is to be retried", map[string]int{"acme": 3, "bee": 1})
	got, err := e.Store.WaitingOfKeys(e.Ctx, store.WaitingOfKeysParams{
		Namespace: env.Namespace, Queue: "mail", Most: 9, Keys: []store.KeyOfLimit{{Limit: "region", Key: "acme"}, {Limit: tenant, Key: "acme"}},
	})
	e.NoError("WaitingOfKeys", err)
	e.Equal("of two limits", got, []int{1, 3})
}

// waitsWherever: a job counts in each place in which it waits, and in no other one.
func waitsWherever(e *env.Env) {
	node, run, id := waiting(e) // at its gate
	wantWaiting(e, "at its gate", map[string]int{"acme": 1})
	later := e.Add(by("acme"), env.Delay(time.Hour))
	first := e.Add(env.Ordered("doc"), env.Priority(1))
	e.ClaimOne(node, first)
	e.Add(by("acme"), env.Ordered("doc"))
	e.Add(env.Ordered("doc"))
	wantWaiting(e, "scheduled, and in line", map[string]int{"acme": 3})
	e.Cancel(later)
	wantWaiting(e, "cancelled", map[string]int{"acme": 2})
	e.Retry(later)
	wantWaiting(e, "retried", map[string]int{"acme": 3})
	e.PauseJob(later, store.Waiting)
	wantWaiting(e, "paused", map[string]int{"acme": 2})
	e.End(run, store.Completed)
	e.ClaimOne(node, id)
	wantWaiting(e, "it runs", map[string]int{"acme": 1})
}

func waitsBounded(e *env.Env) {
	for range 5 {
		e.Add(by("acme"))
	}
	for _, most := range []int{1, 4, 5, 6} {
		for _, few := range []int{0, 4, 5, -1} {
			got, err := e.Store.WaitingOfKeys(e.Ctx, store.WaitingOfKeysParams{
				Namespace: env.Namespace, Queue: "mail", Most: most, Few: few, Keys: []store.KeyOfLimit{{Limit: tenant, Key: "acme"}},
			})
			e.NoError("WaitingOfKeys", err)
			e.Equal("waiting", got, []int{min(most, 5)})
		}
	}
}

func waitsMany(e *env.Env) {
	for range store.CountBound / 1000 {
		e.Many(1000, by("large"))
	}
	wantWaiting(e, "as many as are looked at", map[string]int{"large": 100, "small": 0})
	e.Add(by("small"))
	e.Add(by("small"), env.Delay(time.Hour))
	wantWaiting(e, "more", map[string]int{"large": 100, "small": 2})
}

func waitsOdd(e *env.Env) {
	e.Add(by("acme"))
	params := store.WaitingOfKeysParams{Namespace: env.Namespace, Queue: "mail", Most: 9}
	got, err := e.Store.WaitingOfKeys(e.Ctx, params)
	e.NoError("WaitingOfKeys", err)
	e.Equal("of no keys", len(got), 0)
	params.Keys = []store.KeyOfLimit{{Limit: tenant, Key: "a\x00"}, {Limit: "\xff", Key: "acme"}, {Limit: tenant, Key: "acme"}, {}}
	for _, params.Few = range []int{0, -1} {
		got, err = e.Store.WaitingOfKeys(e.Ctx, params)
		e.NoError("WaitingOfKeys", err)
		e.Equal("of keys that no job can have", got, []int{0, 0, 1, 0})
	}
	for what, change := range map[string]func(*store.WaitingOfKeysParams){
		"no namespace": func(p *store.WaitingOfKeysParams) { p.Namespace = "" },
		"no queue":     func(p *store.WaitingOfKeysParams) { p.Queue = "" },
		"none":         func(p *store.WaitingOfKeysParams) { p.Most = 0 },
		"too many":     func(p *store.WaitingOfKeysParams) { p.Few = store.CountBound + 1 },
	} {
		bad := params
		change(&bad)
		_, err := e.Store.WaitingOfKeys(e.Ctx, bad)
		e.WantErr(what, err, store.ErrInvalid)
	}
}
