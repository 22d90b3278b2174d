// Package gates tests limits per key: that never more jobs of a key run than its limit lets, that
// none is left waiting, and that those which wait are there for whatever else is done to jobs.
package gates

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// Groups are the tests of this package, by what they are about.
var Groups = env.Groups{
	"Gate":      gateTests,
	"GatePlace": placeTests,
	"RaceGate":  raceTests,
}

// Tenant is the limit of most tests.
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
