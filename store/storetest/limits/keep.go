package limits

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var limitTests = env.Tests{
	"all_of_a_limit_is_kept":                         keepAll,
	"a_change_expects_a_version":                     keepExpects,
	"what_cannot_be_kept_is_refused":                 keepInvalid,
	"limits_come_by_namespace_and_name":              keepOrder,
	"a_name_is_any_text":                             keepTexts,
	"a_limit_of_which_slots_are_held_is_not_deleted": keepHeld,
	"a_queue_that_is_deleted_leaves_limits_alone":    keepQueue,
	"a_limit_that_is_made_again_is_another_one":      keepAgain,
	"slots_that_are_wanted_are_noted":                keepWanted,
}

// keepWanted: who asks for more than there are, or for a limit to be deleted of which slots are
// held, is noted, once in a while.
func keepWanted(e *env.Env) {
	l := e.SaveLimit(env.Limit("partner", 5))
	first, second := e.Join(), e.Join()
	wanted := func(what string, at time.Time) {
		e.Helper()
		e.Equal("wanted after "+what, e.LimitOf("partner").WantedAt, at)
	}
	e.Slots(first, l, 0, 5)
	wanted("a call that got all", time.Time{})
	at := e.Clock.Now()
	e.Slots(second, l, 0, 1)
	wanted("one that got too few", at)
	e.Clock.Advance(store.WantedEvery - time.Microsecond)
	e.Slots(second, l, 0, 1)
	wanted("another one at once", at)
	e.Clock.Advance(time.Microsecond)
	e.Slots(second, l, 0, 0)
	wanted("one that wants none", at)
	e.Slots(second, l, 0, 1)
	wanted("another one later", e.Clock.Now())
	e.Clock.Advance(time.Hour)
	e.WantErr("deleting it", e.Store.DeleteLimit(e.Ctx, env.Namespace, "partner", false, ""), store.ErrConflict)
	wanted("a try to delete it", e.Clock.Now())
	e.Clock.Advance(-30 * time.Minute)
	e.Slots(second, l, 0, 1)
	wanted("the clock was set back", e.Clock.Now())
	if again := e.ChangeLimit(env.Limit("partner", 5), l.Version); !again.WantedAt.Equal(e.Clock.Now()) {
		e.Errorf("after a change it was wanted at %v", again.WantedAt)
	}
}

func keepAll(e *env.Env) {
	at := e.Clock.Now()
	l := env.Limit("partner", 20, func(l *store.Limit) {
		l.Queues, l.Kinds = []string{"mail", "a b"}, map[string]int{"send": 1, "push": 20}
		l.Declared = "what code has said"
	})
	saved := e.SaveLimit(l)
	want := l
	want.ID, want.Version, want.CreatedAt, want.UpdatedAt = saved.ID, store.FirstVersion(at), at, at
	e.Equal("saved", saved, want)
	e.Equal("read", e.LimitOf("partner"), want)
	e.WantHolders("partner")

	e.Clock.Advance(time.Hour)
	node := e.Join()
	e.Slots(node, saved, 0, 7)
	plain := env.Limit("partner", 0)
	want = plain
	want.ID, want.Version, want.CreatedAt, want.UpdatedAt = saved.ID, saved.Version+1, at, e.Clock.Now()
	want.Holders = []store.Holder{{Node: node, Slots: 7}}
	e.Equal("replaced", e.ChangeLimit(plain, saved.Version), want)
	e.Equal("read", e.LimitOf("partner"), want)
}

func keepExpects(e *env.Env) {
	l := env.Limit("partner", 5)
	e.WantErr("a change of one that is not there", env.ErrOf(e.Store.SaveLimit(e.Ctx, l, 1, "")), store.ErrNotFound)
	first := e.SaveLimit(l)
	e.WantErr("another one with its name", env.ErrOf(e.Store.SaveLimit(e.Ctx, l, 0, "")), store.ErrConflict)
	second := e.ChangeLimit(env.Limit("partner", 6), first.Version)
	for _, version := range []int64{first.Version, second.Version + 1} {
		e.WantErr("a change of another version", env.ErrOf(e.Store.SaveLimit(e.Ctx, l, version, "")), store.ErrConflict)
	}
	e.Equal("what is left", e.LimitOf("partner"), second)
	e.WantErr("deleting one that is not there", e.Store.DeleteLimit(e.Ctx, env.Namespace, "other", false, ""), store.ErrNotFound)
	e.WantErr("deleting one of another namespace", e.Store.DeleteLimit(e.Ctx, env.OtherSpace, "partner", true, ""), store.ErrNotFound)
	e.NoError("DeleteLimit", e.Store.DeleteLimit(e.Ctx, env.Namespace, "partner", false, ""))
	e.WantErr("deleting it again", e.Store.DeleteLimit(e.Ctx, env.Namespace, "partner", false, ""), store.ErrNotFound)
	e.WantErr("a change of one that was deleted", env.ErrOf(e.Store.SaveLimit(e.Ctx, l, second.Version, "")), store.ErrNotFound)
}

func keepInvalid(e *env.Env) {
	var many []string
	for range store.MaxLimitNames + 1 {
		many = append(many, "q")
	}
	for what, change := range map[string]func(*store.Limit){
		"no name":                          func(l *store.Limit) { l.Name = "" },
		"no namespace":                     func(l *store.Limit) { l.Namespace = "" },
		"a negative capacity":              func(l *store.Limit) { l.Capacity = -1 },
		"a capacity that is too large":     func(l *store.Limit) { l.Capacity = store.MaxCapacity + 1 },
		"a weight of nothing":              func(l *store.Limit) { l.Kinds = map[string]int{"send": 0} },
		"a weight over the capacity":       func(l *store.Limit) { l.Kinds = map[string]int{"send": 6} },
		"a queue without a name":           func(l *store.Limit) { l.Queues = []string{""} },
		"a kind that is not text":          func(l *store.Limit) { l.Kinds = map[string]int{"\xff": 1} },
		"a name with NUL":                  func(l *store.Limit) { l.Name = "a\x00" },
		"too many queues":                  func(l *store.Limit) { l.Queues = many },
		"a namespace that is not UTF-8":    func(l *store.Limit) { l.Namespace = "\xff" },
		"a kind without a name, and slots": func(l *store.Limit) { l.Kinds = map[string]int{"": 1} },
	} {
		e.WantErr(what, env.ErrOf(e.Store.SaveLimit(e.Ctx, env.Limit("partner", 5, change), 0, "")), store.ErrInvalid)
	}
	l := e.SaveLimit(env.Limit("partner", 5))
	node := e.Join()
	for what, asks := range map[string][]store.LimitAsk{
		"two asks for one limit":  {env.Ask(l, 0, 1), env.Ask(l, 0, 1)},
		"less than nothing":       {env.Ask(l, -1, 1)},
		"more than jobs may have": {env.Ask(l, store.MaxCapacity*1_000_000+1, 1)},
	} {
		e.WantErr(what, env.ErrOf(e.Store.Grant(e.Ctx, store.GrantParams{Node: node, Call: 1, Asks: asks})), store.ErrInvalid)
	}
	e.WantHolders("partner")
	// What runs has the weights that the limit has now, and may have far more than its capacity.
	e.Slots(node, l, 3*store.MaxCapacity, 0)
	e.WantHolders("partner", store.Holder{Node: node, Slots: 3 * store.MaxCapacity})
}

func keepOrder(e *env.Env) {
	e.SaveLimit(env.Limit("z", 1))
	e.SaveLimit(env.Limit("a", 2))
	e.SaveLimit(env.Limit("m", 3, func(l *store.Limit) { l.Namespace = env.OtherSpace }))
	e.SaveLimit(env.Limit("a", 4, func(l *store.Limit) { l.Namespace = env.OtherSpace }))
	spaces := []string{env.Namespace, env.OtherSpace}
	slices.Sort(spaces)
	capacities := map[string][]int{env.Namespace: {2, 1}, env.OtherSpace: {4, 3}}
	for _, c := range []struct {
		namespace, name string
		want            []int
	}{
		{"", "", slices.Concat(capacities[spaces[0]], capacities[spaces[1]])},
		{env.Namespace, "", []int{2, 1}},
		{env.OtherSpace, "m", []int{3}},
		{env.Namespace, "m", nil},
		{"nowhere", "", nil},
	} {
		found, err := e.Store.Limits(e.Ctx, c.namespace, c.name)
		e.NoError("Limits", err)
		var got []int
		for _, l := range found {
			got = append(got, l.Capacity)
		}
		e.Equal("limits of "+c.namespace+", "+c.name, got, c.want)
	}
}

func keepTexts(e *env.Env) {
	for _, name := range []string{"a b", "ünï", `"quoted" 'twice'`, "{}[]\\", strings.Repeat("long", 50)} {
		l := e.SaveLimit(env.Limit(name, 3, func(l *store.Limit) { l.Queues, l.Kinds = []string{name}, map[string]int{name: 2} }))
		e.Equal("read", e.LimitOf(name), l)
	}
}

// keepHeld: the error tells who holds slots. With force they count for nothing any more.
func keepHeld(e *env.Env) {
	l := e.SaveLimit(env.Limit("partner", 5))
	first, second, third := e.Join(), e.Join(), e.Join()
	e.Slots(second, l, 0, 3)
	e.Slots(first, l, 0, 1)
	e.Slots(third, l, 0, 0)
	err := e.Store.DeleteLimit(e.Ctx, env.Namespace, "partner", false, "")
	e.WantErr("deleting a limit of which slots are held", err, store.ErrConflict)
	held, ok := errors.AsType[*store.HeldError](err)
	if !ok {
		e.Fatalf("the error is %#v", err)
	}
	e.Equal("who holds them", *held, store.HeldError{
		Namespace: env.Namespace, Name: "partner", Holders: []store.Holder{{Node: first, Slots: 1}, {Node: second, Slots: 3}},
	})
	e.WantHolders("partner", held.Holders...)
	e.NoError("DeleteLimit", e.Store.DeleteLimit(e.Ctx, env.Namespace, "partner", true, ""))
	e.Equal("answers about a limit that is gone", e.Grants(first, env.Ask(l, 1, 1)), nil, cmpopts.EquateEmpty())

	// Slots that were given back do not keep it.
	l = e.SaveLimit(env.Limit("partner", 5))
	e.Slots(first, l, 0, 5)
	e.Slots(first, l, 0, 0)
	e.NoError("DeleteLimit", e.Store.DeleteLimit(e.Ctx, env.Namespace, "partner", false, ""))

	// Nor do those of a limit that is per key now: in that they count for nothing.
	l = e.SaveLimit(env.Limit("partner", 5))
	e.Slots(first, l, 0, 5)
	e.ChangeLimit(env.Limit("partner", 5, func(l *store.Limit) { l.PerKey = true }), l.Version)
	e.NoError("DeleteLimit", e.Store.DeleteLimit(e.Ctx, env.Namespace, "partner", false, ""))
}

func keepQueue(e *env.Env) {
	node := e.Join()
	run := e.ClaimOne(node, e.Add(env.Queue("mail")))
	l := e.SaveLimit(env.Limit("partner", 5, func(l *store.Limit) { l.Queues = []string{"mail"} }))
	e.Slots(node, l, 1, 1)
	e.End(run, store.Completed)
	e.NoError("DeleteQueue", e.Store.DeleteQueue(e.Ctx, store.DeleteQueueParams{Namespace: env.Namespace, Queue: "mail"}))
	e.WantHolders("partner", store.Holder{Node: node, Slots: 1})
}

// keepAgain: what was asked of the one before, and what it was to become, says nothing of this one.
func keepAgain(e *env.Env) {
	node := e.Join()
	before := e.SaveLimit(env.Limit("partner", 5))
	e.NoError("DeleteLimit", e.Store.DeleteLimit(e.Ctx, env.Namespace, "partner", true, ""))
	e.Clock.Advance(time.Second)
	l := e.SaveLimit(env.Limit("partner", 5))
	if l.ID == before.ID || l.Version == before.Version {
		e.Fatalf("the limit is %+v, and was %+v", l, before)
	}
	e.Equal("answers about the one before", e.Grants(node, env.Ask(before, 0, 5)), nil, cmpopts.EquateEmpty())
	err := env.ErrOf(e.Store.SaveLimit(e.Ctx, env.Limit("partner", 9), before.Version, ""))
	e.WantErr("a change of the one before", err, store.ErrConflict)
	e.WantHolders("partner")
}
