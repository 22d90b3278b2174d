package keys

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var changesTests = env.Tests{
	"a_key_goes_with_its_deleted_job_however_long_kept":    changesDeleted,
	"a_deleted_job_leaves_the_key_to_the_one_that_took_it": changesDeletedLater,
	"a_job_that_is_edited_keeps_its_key":                   changesEdited,
	"a_filter_by_key_goes_with_the_other_fields":           changesFilter,
}

// changesDeleted: retention leaves a key that is kept, a person deletes it with its job.
func changesDeleted(e *env.Env) {
	const keep = time.Hour
	node := e.Join()
	done := func(text string, keep time.Duration, state store.State) store.ID {
		id := e.TakeKey(text, env.KeepKey(keep))
		e.End(e.ClaimOne(node, id), state)
		return id
	}
	gone, kept := done("gone", 0, store.Completed), done("kept", keep, store.Failed)
	forEver := done("for ever", store.KeepForever, store.Completed)
	e.Clock.Advance(keep / 2)
	for _, id := range []store.ID{gone, kept, forEver} {
		e.Delete(id)
		e.WantGone(id)
	}
	for _, key := range []string{"gone", "kept", "for ever"} {
		e.WantNoKey(key)
		e.WantKey(key, e.TakeKey(key))
	}
}

func changesDeletedLater(e *env.Env) {
	first := e.TakeKey("k", env.KeepKey(0))
	e.Cancel(first)
	second := e.TakeKey("k", env.Args("2"))
	e.Delete(first)
	e.WantKey("k", second)
	e.Cancel(second)
	e.Delete(second)
	e.WantNoKey("k")
}

// changesEdited: whether an enqueue differs is told by the args of the first one.
func changesEdited(e *env.Env) {
	id := e.TakeKey("k", env.Args("1"), env.KeepKey(time.Hour), env.Delay(time.Hour))
	record := e.Edit(id, store.Edit{Args: []byte("2"), Priority: new(1), Queue: new("elsewhere"), Timeout: new(time.Minute)}, store.Scheduled)
	if o := record.Options; o.Key != "k" || o.KeepKey != time.Hour || string(record.Args) != "2" {
		e.Fatalf("after the edit: %+v, %s", o, record.Args)
	}
	for args, differs := range map[string]bool{"1": false, "2": true} {
		q := e.Try(env.Key("k"), env.Args(args))
		if q.Err != nil || q.Result.ID != id || !q.Result.Existing || q.Result.Differs != differs {
			e.Fatalf("an enqueue with args %s: %+v, %v", args, q.Result, q.Err)
		}
	}
	e.Cancel(id)
	e.WantKey("k", id)
}

func changesFilter(e *env.Env) {
	id, other := e.TakeKey("k", env.Delay(time.Hour)), e.TakeKey("other")
	by := func(change func(*store.Filter)) store.Filter {
		f := store.Filter{Namespace: env.Namespace, Kinds: []string{"send", "send", "none"}, Key: "k"}
		change(&f)
		return f
	}
	for what, c := range map[string]struct {
		filter store.Filter
		found  bool
	}{
		"alone":               {by(func(*store.Filter) {}), true},
		"with its id":         {by(func(f *store.Filter) { f.IDs = []store.ID{other, id} }), true},
		"with another id":     {by(func(f *store.Filter) { f.IDs = []store.ID{other} }), false},
		"with its state":      {by(func(f *store.Filter) { f.States = []store.State{store.Scheduled} }), true},
		"with another state":  {by(func(f *store.Filter) { f.States = []store.State{store.Running} }), false},
		"with a run time":     {by(func(f *store.Filter) { f.RunAfter = e.Clock.Now() }), true},
		"before a run time":   {by(func(f *store.Filter) { f.RunBefore = e.Clock.Now() }), false},
		"with a unique key":   {by(func(f *store.Filter) { f.UniqueKey = []byte("u") }), false},
		"as a child":          {by(func(f *store.Filter) { f.Parent = other }), false},
		"as a descendant":     {by(func(f *store.Filter) { f.Root = other }), false},
		"in another queue":    {by(func(f *store.Filter) { f.Queues = []string{"nowhere"} }), false},
		"of another kind":     {by(func(f *store.Filter) { f.Kinds = []string{"none"} }), false},
		"with another text":   {by(func(f *store.Filter) { f.Key = "K" }), false},
		"with a text as none": {by(func(f *store.Filter) { f.Key = "\x00" }), false},
	} {
		for _, sort := range []store.Sort{store.SortNewest, store.SortOldest, store.SortRunAt} {
			page, err := e.Store.List(e.Ctx, store.ListParams{Filter: c.filter, Sort: sort, Limit: 10})
			if err != nil || page.Next != "" || len(page.Jobs) > 1 || (len(page.Jobs) == 1 && page.Jobs[0].ID == id) != c.found {
				e.Errorf("%s by %s: %+v, %v", what, sort, page, err)
			}
		}
		counted, err := e.Store.Count(e.Ctx, store.CountParams{Filter: c.filter})
		if err != nil || counted.Next != "" || (counted.N == 1) != c.found {
			e.Errorf("%s: %+v are counted, %v", what, counted, err)
		}
	}
	for _, f := range []store.Filter{{Key: "k", Kinds: []string{"send"}}, {Key: "k", Namespace: env.Namespace}} {
		_, err := e.Store.Count(e.Ctx, store.CountParams{Filter: f})
		e.WantErr("Count", err, store.ErrInvalid)
	}
}
