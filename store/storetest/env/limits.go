package env

import (
	"github.com/holdfastdev/holdfast/store"
)

// Limit is a limit of all jobs with so many slots.
func Limit(name string, capacity int, change ...func(*store.Limit)) store.Limit {
	l := store.Limit{Namespace: Namespace, Name: name, LimitSettings: store.LimitSettings{Capacity: capacity}}
	for _, c := range change {
		c(&l)
	}
	return l
}

// SaveLimit makes a limit.
func (e *Env) SaveLimit(l store.Limit) store.Limit {
	e.Helper()
	return e.ChangeLimit(l, 0)
}

// ChangeLimit replaces a limit of a version.
func (e *Env) ChangeLimit(l store.Limit, version int64) store.Limit {
	e.Helper()
	saved, err := e.Store.SaveLimit(e.Ctx, l, version, "")
	e.NoError("SaveLimit", err)
	return saved
}

// LimitOf returns the limit with a name, or fails.
func (e *Env) LimitOf(name string) store.Limit {
	e.Helper()
	found, err := e.Store.Limits(e.Ctx, Namespace, name)
	e.NoError("Limits", err)
	if len(found) != 1 {
		e.Fatalf("there are %d limits %q", len(found), name)
	}
	return found[0]
}

// Ask is what a node asks of a limit as it knows it.
func Ask(l store.Limit, keep, want int) store.LimitAsk {
	return store.LimitAsk{Limit: l.ID, Version: l.Version, Keep: keep, Want: want}
}

// Grants lets a node ask, in a call with a number of its own, which is higher than those before.
func (e *Env) Grants(node int64, asks ...store.LimitAsk) []store.Grant {
	e.Helper()
	granted, err := e.Store.Grant(e.Ctx, store.GrantParams{Node: node, Call: e.seqs.Add(1), Asks: asks})
	e.NoError("Grant", err)
	return granted
}

// Slots lets a node ask for slots of one limit, and returns how many it holds then.
func (e *Env) Slots(node int64, l store.Limit, keep, want int) int {
	e.Helper()
	granted := e.Grants(node, Ask(l, keep, want))
	if len(granted) != 1 || granted[0].Limit != l.ID {
		e.Fatalf("node %d is answered %+v about limit %d", node, granted, l.ID)
	}
	return granted[0].Slots
}

// WantHolders checks who holds slots of a limit.
func (e *Env) WantHolders(name string, want ...store.Holder) {
	e.Helper()
	e.Equal("holders of "+name, e.LimitOf(name).Holders, want)
}

// LimitKey lets the job count under a key of a limit per key.
func LimitKey(limit, key string) func(*store.Enqueue) {
	return func(q *store.Enqueue) { q.Job.Options.Limit, q.Job.Options.LimitKey = limit, key }
}

// FairKey says for whom the job is.
func FairKey(key string) func(*store.Enqueue) {
	return func(q *store.Enqueue) { q.Job.Options.FairKey = key }
}
