package limits

import (
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var grantTests = env.Tests{
	"LimitsHold_nodes_share_what_there_is":                             grantShare,
	"LimitsHold_what_is_kept_is_kept_over_any_capacity":                grantKeep,
	"LimitsHold_a_capacity_that_falls_gives_nobody_more":               grantLowered,
	"LimitsHold_a_limit_that_is_made_while_jobs_run_counts_them":       grantMade,
	"LimitsHold_a_call_that_comes_after_a_later_one_changes_nothing":   grantLate,
	"a_call_that_is_repeated_is_answered_as_before":                    grantAgain,
	"an_ask_for_another_version_is_left_out":                           grantVersion,
	"one_call_asks_about_many_limits_in_any_order":                     grantMany,
	"OneOwner_a_node_that_does_not_live_holds_nothing":                 grantDead,
	"a_call_that_asks_for_nothing_tells_whether_the_node_lives":        grantNothing,
	"what_a_node_holds_is_no_matter_of_other_limits_and_of_namespaces": grantApart,
}

func grantShare(e *env.Env) {
	l := e.SaveLimit(env.Limit("partner", 10))
	first, second := e.Join(), e.Join()
	e.Equal("the first one", e.Grants(first, env.Ask(l, 0, 7)), []store.Grant{{Limit: l.ID, Slots: 7, Capacity: 10, Held: 7}})
	e.Equal("the second one", e.Grants(second, env.Ask(l, 0, 7)), []store.Grant{{Limit: l.ID, Slots: 3, Capacity: 10, Held: 10}})
	e.Equal("less", e.Grants(first, env.Ask(l, 1, 2)), []store.Grant{{Limit: l.ID, Slots: 2, Capacity: 10, Held: 5}})
	e.Equal("more", e.Grants(second, env.Ask(l, 3, 1000)), []store.Grant{{Limit: l.ID, Slots: 8, Capacity: 10, Held: 10}})
	e.WantHolders("partner", store.Holder{Node: first, Slots: 2}, store.Holder{Node: second, Slots: 8})
	e.Equal("nothing", e.Grants(second, env.Ask(l, 0, 0)), []store.Grant{{Limit: l.ID, Slots: 0, Capacity: 10, Held: 2}})
	e.WantHolders("partner", store.Holder{Node: first, Slots: 2})
}

func grantKeep(e *env.Env) {
	l := e.SaveLimit(env.Limit("partner", 0))
	node := e.Join()
	e.Equal("kept", e.Grants(node, env.Ask(l, 4, 2)), []store.Grant{{Limit: l.ID, Slots: 4, Capacity: 0, Held: 4}})
	e.Equal("of none", e.Slots(node, l, 0, 5), 0)
}

func grantLowered(e *env.Env) {
	l := e.SaveLimit(env.Limit("partner", 10))
	first, second, third := e.Join(), e.Join(), e.Join()
	e.Slots(first, l, 0, 6)
	e.Slots(second, l, 0, 4)
	l = e.ChangeLimit(env.Limit("partner", 5), l.Version)
	e.WantHolders("partner", store.Holder{Node: first, Slots: 6}, store.Holder{Node: second, Slots: 4})
	e.Equal("one that has nothing", e.Slots(third, l, 0, 1), 0)
	e.Equal("one that uses four of six", e.Slots(first, l, 4, 6), 4)
	e.Equal("one that uses four", e.Slots(second, l, 4, 4), 4)
	e.Equal("one that has nothing", e.Slots(third, l, 0, 1), 0)
	e.Equal("the others have four of five", e.Slots(first, l, 0, 6), 1)
	e.Equal("one that has nothing", e.Slots(third, l, 0, 1), 0)
}

// grantMade: nodes tell of what they run when they learn of the limit.
func grantMade(e *env.Env) {
	l := e.SaveLimit(env.Limit("partner", 3))
	first, second := e.Join(), e.Join()
	e.Equal("a node that has nothing", e.Slots(second, l, 0, 2), 2)
	e.Equal("one that runs five", e.Grants(first, env.Ask(l, 5, 6)), []store.Grant{{Limit: l.ID, Slots: 5, Capacity: 3, Held: 7}})
	e.Equal("one that has two, and uses none", e.Slots(second, l, 0, 2), 0)
}

func grantLate(e *env.Env) {
	l := e.SaveLimit(env.Limit("partner", 10))
	node := e.Join()
	ask := func(call int64, keep, want int) []store.Grant {
		granted, err := e.Store.Grant(e.Ctx, store.GrantParams{Node: node, Call: call, Asks: []store.LimitAsk{env.Ask(l, keep, want)}})
		e.NoError("Grant", err)
		return granted
	}
	ask(5, 0, 3)
	e.Equal("a call from before", ask(4, 0, 9), nil, cmpopts.EquateEmpty())
	e.WantHolders("partner", store.Holder{Node: node, Slots: 3})
	// Its number is known of a node that holds nothing, too.
	ask(6, 0, 0)
	e.Equal("a call from before", ask(5, 3, 3), nil, cmpopts.EquateEmpty())
	e.WantHolders("partner")
	// Another node has numbers of its own.
	node = e.Join()
	e.Equal("another node", len(ask(1, 0, 10)), 1)
}

func grantAgain(e *env.Env) {
	l, other := e.SaveLimit(env.Limit("partner", 10)), e.SaveLimit(env.Limit("other", 10))
	first, second := e.Join(), e.Join()
	params := store.GrantParams{Node: first, Call: 3, Asks: []store.LimitAsk{env.Ask(l, 1, 6)}}
	granted, err := e.Store.Grant(e.Ctx, params)
	e.NoError("Grant", err)
	e.Equal("granted", granted, []store.Grant{{Limit: l.ID, Slots: 6, Capacity: 10, Held: 6}})
	e.Slots(second, l, 0, 3)
	granted, err = e.Store.Grant(e.Ctx, params)
	e.NoError("Grant", err)
	e.Equal("granted again", granted, []store.Grant{{Limit: l.ID, Slots: 6, Capacity: 10, Held: 9}})
	// A node may make one call for each of its limits.
	params.Asks = []store.LimitAsk{env.Ask(other, 0, 2)}
	granted, err = e.Store.Grant(e.Ctx, params)
	e.NoError("Grant", err)
	e.Equal("of another limit", granted, []store.Grant{{Limit: other.ID, Slots: 2, Capacity: 10, Held: 2}})
}

func grantVersion(e *env.Env) {
	old := e.SaveLimit(env.Limit("partner", 10))
	node := e.Join()
	e.Slots(node, old, 0, 4)
	l := e.ChangeLimit(env.Limit("partner", 8), old.Version)
	unknown := l
	unknown.ID += 1000
	e.Equal("asks about what is not there", e.Grants(node, env.Ask(old, 0, 9), env.Ask(unknown, 0, 1)), nil, cmpopts.EquateEmpty())
	e.WantHolders("partner", store.Holder{Node: node, Slots: 4})
	e.Equal("an ask about what is there", e.Slots(node, l, 0, 9), 8)
}

func grantMany(e *env.Env) {
	node, other := e.Join(), e.Join()
	var asks []store.LimitAsk
	want := map[int64]store.Grant{}
	for i := range 100 {
		l := e.SaveLimit(env.Limit(fmt.Sprint("limit", i), i))
		if i%3 == 0 {
			e.Slots(other, l, 0, i/2)
			want[l.ID] = store.Grant{Limit: l.ID, Slots: min(20, i-i/2), Capacity: i, Held: min(20, i-i/2) + i/2}
		} else {
			want[l.ID] = store.Grant{Limit: l.ID, Slots: min(20, i), Capacity: i, Held: min(20, i)}
		}
		asks = append(asks, env.Ask(l, 0, 20))
	}
	slices.Reverse(asks)
	got := map[int64]store.Grant{}
	for _, g := range e.Grants(node, asks...) {
		got[g.Limit] = g
	}
	e.Equal("grants", got, want)
}

func grantDead(e *env.Env) {
	l := e.SaveLimit(env.Limit("partner", 10))
	dead, left := e.Join(), e.Join()
	e.Leave(left)
	e.Clock.Advance(env.DeadAfter)
	e.Rescue()
	for _, node := range []int64{dead, left, 1 << 40} {
		params := store.GrantParams{Node: node, Call: 1, Asks: []store.LimitAsk{env.Ask(l, 0, 3)}}
		e.WantErr("an ask of a node that does not live", env.ErrOf(e.Store.Grant(e.Ctx, params)), store.ErrNodeDead)
	}
	e.WantHolders("partner")
}

func grantNothing(e *env.Env) {
	node := e.Join()
	e.Equal("granted", e.Grants(node), nil, cmpopts.EquateEmpty())
	e.Leave(node)
	e.WantErr("an ask of a node that left", env.ErrOf(e.Store.Grant(e.Ctx, store.GrantParams{Node: node, Call: 9})), store.ErrNodeDead)
}

func grantApart(e *env.Env) {
	l := e.SaveLimit(env.Limit("partner", 5))
	there := e.SaveLimit(env.Limit("partner", 5, func(l *store.Limit) { l.Namespace = env.OtherSpace }))
	node := e.Join()
	e.Equal("here", e.Slots(node, l, 0, 5), 5)
	e.Equal("there", e.Slots(node, there, 0, 5), 5)
	e.WantHolders("partner", store.Holder{Node: node, Slots: 5})
}
