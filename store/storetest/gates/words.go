package gates

import (
	"bytes"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// tenant is the limit of most tests.
const tenant = "tenant"

// perKey makes a limit per key of so many jobs.
func perKey(e *env.Env, capacity int) store.Limit {
	e.Helper()
	return e.SaveLimit(limit(capacity))
}

func limit(capacity int) store.Limit {
	return env.Limit(tenant, capacity, func(l *store.Limit) { l.PerKey = true })
}

// by lets the job count under a key.
func by(key string) func(*store.Enqueue) { return env.LimitKey(tenant, key) }

// wantRunning checks which jobs run under a key, in any order.
func wantRunning(e *env.Env, key string, want ...store.ID) {
	e.Helper()
	got, err := e.Store.RunningOf(e.Ctx, env.Namespace, tenant, key, 0)
	e.NoError("RunningOf", err)
	e.WantIDs("running of "+key, got, sorted(want)...)
}

func sorted(ids []store.ID) []store.ID {
	ids = slices.Clone(ids)
	slices.SortFunc(ids, func(a, b store.ID) int { return bytes.Compare(a[:], b[:]) })
	return ids
}
