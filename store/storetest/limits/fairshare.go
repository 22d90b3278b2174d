package limits

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var fairTests = env.Tests{
	"a_node_gets_no_more_of_a_fair_limit_than_its_part":            fairParts,
	"LimitsHold_what_a_node_keeps_over_its_part_it_keeps":          fairKeeps,
	"a_node_alone_has_all_of_a_fair_limit":                         fairAlone,
	"who_wishes_for_less_than_its_part_leaves_the_rest_to_others":  fairLess,
	"a_part_is_for_whole_jobs":                                     fairUnits,
	"what_nodes_wish_for_is_told_until_they_have_not_said_it_long": fairWishes,
	"a_node_that_is_gone_wishes_for_nothing":                       fairGone,
	"a_limit_that_is_not_fair_any_more_has_no_parts":               fairNoMore,
	"parts_are_as_the_rule_says":                                   fairRule,
}

// shared is a limit whose slots nodes share evenly.
func shared(capacity int, change ...func(*store.Limit)) store.Limit {
	return env.Limit("partner", capacity, append([]func(*store.Limit){func(l *store.Limit) { l.Fair = true }}, change...)...)
}

// asks lets a node ask for slots of a fair limit, and checks what it holds then, and its part.
func asks(e *env.Env, node int64, l store.Limit, keep, want int, expect got) {
	e.Helper()
	granted := e.Grants(node, env.Ask(l, keep, want))
	if len(granted) != 1 || granted[0].Slots != expect.slots || granted[0].Part != expect.part {
		e.Errorf("an ask for %d, of which %d are kept, is answered %+v, want %+v", want, keep, granted, expect)
	}
}

// got is what a node holds after an ask, and its part.
type got struct{ slots, part int }

func fairParts(e *env.Env) {
	l := e.SaveLimit(shared(10))
	first, second, third := e.Join(), e.Join(), e.Join()
	asks(e, first, l, 0, 10, got{10, 10})
	asks(e, second, l, 0, 10, got{0, 5})
	asks(e, first, l, 8, 10, got{8, 5}) // two jobs have ended, and it would have more
	asks(e, second, l, 0, 10, got{2, 5})
	asks(e, third, l, 0, 10, got{0, 3}) // 4, 3 and 3
	asks(e, first, l, 4, 10, got{4, 4})
	asks(e, second, l, 2, 10, got{3, 3})
	asks(e, third, l, 0, 10, got{3, 3})
	asks(e, first, l, 0, 10, got{4, 4})
	e.WantHolders("partner", store.Holder{Node: first, Slots: 4}, store.Holder{Node: second, Slots: 3}, store.Holder{Node: third, Slots: 3})
}

func fairKeeps(e *env.Env) {
	l := e.SaveLimit(shared(4))
	first, second := e.Join(), e.Join()
	asks(e, first, l, 0, 4, got{4, 4})
	asks(e, second, l, 0, 4, got{0, 2})
	asks(e, first, l, 3, 4, got{3, 2})
	asks(e, second, l, 0, 4, got{1, 2})
	asks(e, second, l, 5, 5, got{5, 2}) // it runs them since before there was a limit
	asks(e, first, l, 3, 4, got{3, 2})
	e.WantHolders("partner", store.Holder{Node: first, Slots: 3}, store.Holder{Node: second, Slots: 5})
}

func fairAlone(e *env.Env) {
	l := e.SaveLimit(shared(7))
	first, second := e.Join(), e.Join()
	asks(e, first, l, 0, 100, got{7, 7})
	asks(e, second, l, 0, 1, got{0, 3})
	asks(e, first, l, 0, 100, got{6, 6})
	asks(e, second, l, 0, 0, got{0, 3}) // it wishes for nothing any more
	asks(e, first, l, 6, 100, got{7, 7})
}

func fairLess(e *env.Env) {
	l := e.SaveLimit(shared(10))
	few, first, second := e.Join(), e.Join(), e.Join()
	asks(e, few, l, 0, 1, got{1, 10})
	asks(e, first, l, 0, 9, got{9, 9})
	asks(e, second, l, 0, 9, got{0, 4}) // 1, 5 and 4
	asks(e, first, l, 0, 9, got{5, 5})
	asks(e, second, l, 0, 9, got{4, 4})
	asks(e, few, l, 1, 9, got{1, 4}) // now it wishes for more: 4, 3 and 3
	asks(e, first, l, 5, 9, got{5, 3})
}

func fairUnits(e *env.Env) {
	l := e.SaveLimit(shared(10, func(l *store.Limit) { l.Kinds = map[string]int{"send": 1, "push": 4} }))
	first, second, third := e.Join(), e.Join(), e.Join()
	asks(e, first, l, 0, 10, got{10, 10})
	asks(e, second, l, 0, 10, got{0, 4})
	asks(e, first, l, 0, 10, got{6, 6}) // a job of four, and what is left
	asks(e, second, l, 0, 10, got{4, 4})
	asks(e, third, l, 0, 10, got{0, 2})
}

// fairWishes: a wish is forgotten if it is not repeated, as that of a node that hangs.
func fairWishes(e *env.Env) {
	l := e.SaveLimit(shared(4))
	first, second, third := e.Join(), e.Join(), e.Join()
	e.Slots(first, l, 0, 3)
	e.Slots(third, l, 0, 8)
	e.Slots(second, l, 0, 5)
	e.Slots(second, l, 0, 2)
	wishes := func(what string, want ...store.Holder) {
		e.Helper()
		e.Equal("wishes "+what, e.LimitOf("partner").Wishes, want)
	}
	wishes("at first", store.Holder{Node: second, Slots: 2}, store.Holder{Node: third, Slots: 8})
	e.WantHolders("partner", store.Holder{Node: first, Slots: 3}, store.Holder{Node: third, Slots: 1})
	e.Clock.Advance(store.WishFor - time.Microsecond)
	wishes("as long as they last", store.Holder{Node: second, Slots: 2}, store.Holder{Node: third, Slots: 8})
	e.Slots(third, l, 1, 6)
	e.Clock.Advance(time.Microsecond)
	wishes("later", store.Holder{Node: third, Slots: 6})
	asks(e, first, l, 2, 4, got{2, 2})
	e.Clock.Advance(store.WishFor)
	wishes("at last")
	asks(e, first, l, 2, 4, got{3, 3}) // the third holds one, and wishes for no more
}

func fairGone(e *env.Env) {
	l := e.SaveLimit(shared(4))
	first, second, third := e.Join(), e.Join(), e.Join()
	asks(e, first, l, 0, 4, got{4, 4})
	asks(e, second, l, 0, 4, got{0, 2})
	e.Leave(second)
	asks(e, first, l, 3, 4, got{4, 4})
	asks(e, third, l, 0, 4, got{0, 2})
	e.Clock.Advance(env.DeadAfter)
	_, err := e.Store.Beat(e.Ctx, store.BeatParams{Node: first})
	e.NoError("Beat", err)
	e.Rescue()
	asks(e, first, l, 3, 4, got{4, 4})
	e.Equal("wishes of the dead", e.LimitOf("partner").Wishes, nil)
}

func fairNoMore(e *env.Env) {
	l := e.SaveLimit(shared(4))
	first, second := e.Join(), e.Join()
	e.Slots(first, l, 0, 4)
	e.Slots(second, l, 0, 4)
	plain := env.Limit("partner", 4)
	l = e.ChangeLimit(plain, l.Version)
	e.Equal("wishes", l.Wishes, nil)
	e.Equal("an ask", e.Grants(first, env.Ask(l, 0, 4)), []store.Grant{{Limit: l.ID, Slots: 4, Capacity: 4, Held: 4}})
	e.Slots(second, l, 0, 3)
	l = e.ChangeLimit(shared(4), l.Version)
	e.Equal("wishes that were none", l.Wishes, nil)
	asks(e, first, l, 3, 4, got{4, 4})
	for what, change := range map[string]func(*store.Limit){
		"per key": func(l *store.Limit) { l.PerKey = true },
		"of any capacity": func(l *store.Limit) {
			l.Capacity, l.Uncapped, l.Rate = 0, true, &store.Rate{Count: 1, Per: time.Second}
		},
	} {
		e.WantErr("a fair limit "+what, env.ErrOf(e.Store.SaveLimit(e.Ctx, shared(4, change), l.Version, "")), store.ErrInvalid)
	}
}

// fairRule: the store answers with the part that store.Part says, for many that hold and wish for
// all sorts of numbers.
func fairRule(e *env.Env) {
	dice := rand.New(rand.NewPCG(1, 7))
	for _, unit := range []int{1, 3} {
		l := e.SaveLimit(env.Limit("partner"+string(rune('0'+unit)), 37, func(l *store.Limit) {
			l.Fair, l.Kinds = true, map[string]int{"push": unit}
		}))
		var stakes []store.Holder
		for range 9 {
			node, keep, want := e.Join(), dice.IntN(7), dice.IntN(13)
			e.Slots(node, l, keep, max(keep, want))
			stakes = append(stakes, store.Holder{Node: node, Slots: max(keep, want)})
		}
		for i := range stakes {
			want := store.Part(37, unit, stakes[i].Node, slices.Delete(slices.Clone(stakes), i, i+1))
			if granted := e.Grants(stakes[i].Node, env.Ask(l, 0, stakes[i].Slots)); len(granted) != 1 || granted[0].Part != want {
				e.Errorf("of %+v node %d has the part %+v, want %d", stakes, stakes[i].Node, granted, want)
			}
		}
	}
}
