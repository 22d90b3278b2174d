package limits

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/crowd"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// Nodes that ask for slots of limits while others do, and while people change limits.
var raceTests = env.Tests{
	"LimitsHold_two_nodes_ask_for_the_last_slot":           raceLastSlot,
	"LimitsHold_many_nodes_ask_for_slots_of_a_few_limits":  raceSlots,
	"LimitsHold_capacities_change_while_nodes_ask":         raceCapacity,
	"LimitsHold_nodes_ask_while_they_are_declared_dead":    raceDeadAsk,
	"a_limit_is_made_once_and_deleted_while_nodes_ask":     raceLimitGone,
	"LimitsHold_a_call_and_one_after_it_come_in_any_order": raceCalls,
}

// grantNow is Grant until the store is not busy.
func grantNow(e *env.Env, params store.GrantParams) ([]store.Grant, error) {
	for {
		granted, err := e.Store.Grant(e.Ctx, params)
		if !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrBusy) {
			return granted, err
		}
	}
}

func raceLastSlot(e *env.Env) {
	l := e.SaveLimit(env.Limit("partner", 1))
	nodes := crowd.Joined(e, 2)
	for call := range int64(20) {
		var given atomic.Int32
		crowd.Together(e, len(nodes), func(i int) error {
			granted, err := grantNow(e, store.GrantParams{Node: nodes[i], Call: 2*call + 1, Asks: []store.LimitAsk{env.Ask(l, 0, 1)}})
			if err == nil && len(granted) != 1 {
				err = fmt.Errorf("node %d is answered %+v", nodes[i], granted)
			}
			if err == nil {
				given.Add(int32(granted[0].Slots))
			}
			return err
		})
		if given.Load() != 1 {
			e.Fatalf("%d slots of one were given", given.Load())
		}
		for _, node := range nodes {
			_, err := grantNow(e, store.GrantParams{Node: node, Call: 2*call + 2, Asks: []store.LimitAsk{env.Ask(l, 0, 0)}})
			e.NoError("Grant", err)
		}
	}
}

// user is a node that keeps to what it is granted: of each limit it uses no more than it keeps
// while it asks.
type user struct {
	e      *env.Env
	node   int64
	call   int64
	used   []int           // of each limit
	all    []*atomic.Int64 // what all nodes use of each
	random *rand.Rand
}

// ask asks about all limits, in any order, and checks that all nodes together use no more than
// there is.
func (u *user) ask(limits []store.Limit) error {
	u.call++
	params := store.GrantParams{Node: u.node, Call: u.call}
	for _, i := range u.random.Perm(len(limits)) {
		keep := u.random.IntN(u.used[i] + 1)
		u.all[i].Add(int64(keep - u.used[i]))
		u.used[i] = keep
		params.Asks = append(params.Asks, env.Ask(limits[i], keep, u.random.IntN(limits[i].Capacity+1)))
	}
	granted, err := grantNow(u.e, params)
	if err != nil {
		return err
	}
	for _, g := range granted {
		for i := range limits {
			if limits[i].ID != g.Limit {
				continue
			}
			if g.Slots > u.used[i] && g.Held > g.Capacity {
				return fmt.Errorf("node %d keeps %d, and is granted %+v", u.node, u.used[i], g)
			}
			if used := u.all[i].Add(int64(g.Slots - u.used[i])); used > int64(limits[i].Capacity) {
				return fmt.Errorf("%d slots of %d are used", used, limits[i].Capacity)
			}
			u.used[i] = g.Slots
		}
	}
	return nil
}

func users(e *env.Env, n, limits int) []*user {
	all := make([]*atomic.Int64, limits)
	for i := range all {
		all[i] = &atomic.Int64{}
	}
	made := make([]*user, n)
	for i, node := range crowd.Joined(e, n) {
		made[i] = &user{e: e, node: node, used: make([]int, limits), all: all, random: rand.New(rand.NewPCG(uint64(i), 1))}
	}
	return made
}

func raceSlots(e *env.Env) {
	limits := []store.Limit{e.SaveLimit(env.Limit("a", 5)), e.SaveLimit(env.Limit("b", 1)), e.SaveLimit(env.Limit("c", 20))}
	nodes := users(e, 8, len(limits))
	crowd.Together(e, len(nodes), func(i int) error {
		for range 30 {
			if err := nodes[i].ask(limits); err != nil {
				return err
			}
		}
		return nil
	})
	for i, l := range limits {
		want := []store.Holder(nil)
		for _, u := range nodes {
			if u.used[i] > 0 {
				want = append(want, store.Holder{Node: u.node, Slots: u.used[i]})
			}
		}
		e.WantHolders(l.Name, want...)
	}
}

// raceCapacity: who is granted more than it keeps is granted what there is.
func raceCapacity(e *env.Env) {
	e.SaveLimit(env.Limit("partner", 10))
	nodes := crowd.Joined(e, 5)
	crowd.Together(e, len(nodes)+1, func(i int) error {
		random := rand.New(rand.NewPCG(uint64(i), 2))
		keep := 0
		for call := range int64(40) {
			found, err := e.Store.Limits(e.Ctx, env.Namespace, "partner")
			if err != nil {
				return err
			}
			if i == len(nodes) {
				_, err := e.Store.SaveLimit(e.Ctx, env.Limit("partner", random.IntN(12)), found[0].Version, "")
				if err != nil {
					return err
				}
				continue
			}
			now := found[0]
			granted, err := grantNow(e, store.GrantParams{Node: nodes[i], Call: call, Asks: []store.LimitAsk{env.Ask(now, keep, 6)}})
			if err != nil {
				return err
			}
			for _, g := range granted {
				if g.Slots > keep && g.Held > g.Capacity {
					return fmt.Errorf("who keeps %d is granted %+v", keep, g)
				}
				keep = random.IntN(g.Slots + 1)
			}
		}
		return nil
	})
}

// raceDeadAsk: nodes that are declared dead while they ask hold nothing in the end.
func raceDeadAsk(e *env.Env) {
	for range 5 {
		l := e.SaveLimit(env.Limit("partner", 30))
		dying := crowd.Joined(e, 5)
		e.Clock.Advance(env.DeadAfter)
		alive := e.Join()
		params := e.RescueParams()
		crowd.Together(e, len(dying)+1, func(i int) error {
			if i == len(dying) {
				for range 3 {
					if _, err := e.Store.Rescue(e.Ctx, params); err != nil {
						return err
					}
				}
				return nil
			}
			for call := range int64(20) {
				_, err := grantNow(e, store.GrantParams{Node: dying[i], Call: call, Asks: []store.LimitAsk{env.Ask(l, 1, 3)}})
				if errors.Is(err, store.ErrNodeDead) {
					return nil
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		// A node that asks at this very moment is not that dead.
		_, err := e.Store.Rescue(e.Ctx, params)
		e.NoError("Rescue", err)
		e.WantHolders("partner")
		e.Equal("what there is", e.Slots(alive, l, 0, 30), 30)
		e.NoError("DeleteLimit", e.Store.DeleteLimit(e.Ctx, env.Namespace, "partner", true, ""))
		e.Clock.Advance(time.Second)
	}
}

// raceLimitGone: of those who make a limit one succeeds, and so of those who delete it.
func raceLimitGone(e *env.Env) {
	nodes := crowd.Joined(e, 4)
	for round := range int64(10) {
		var made, deleted atomic.Int32
		crowd.Together(e, 4, func(int) error {
			_, err := e.Store.SaveLimit(e.Ctx, env.Limit("partner", 10), 0, "")
			switch {
			case err == nil:
				made.Add(1)
			case !errors.Is(err, store.ErrConflict):
				return err
			}
			return nil
		})
		l := e.LimitOf("partner")
		crowd.Together(e, len(nodes)+2, func(i int) error {
			if i < len(nodes) {
				_, err := grantNow(e, store.GrantParams{Node: nodes[i], Call: round, Asks: []store.LimitAsk{env.Ask(l, 0, 3)}})
				return err
			}
			err := e.Store.DeleteLimit(e.Ctx, env.Namespace, "partner", true, "")
			switch {
			case err == nil:
				deleted.Add(1)
			case !errors.Is(err, store.ErrNotFound):
				return err
			}
			return nil
		})
		if made.Load() != 1 || deleted.Load() != 1 {
			e.Fatalf("a limit was made %d times, and deleted %d times", made.Load(), deleted.Load())
		}
		e.Clock.Advance(time.Second)
	}
}

// raceCalls: whichever of two calls of a node comes first, it holds what the later one says.
func raceCalls(e *env.Env) {
	l := e.SaveLimit(env.Limit("partner", 10))
	node := e.Join()
	for round := range int64(15) {
		crowd.Together(e, 2, func(i int) error {
			call := store.GrantParams{Node: node, Call: 2*round + int64(i), Asks: []store.LimitAsk{env.Ask(l, 0, 3+4*i)}}
			_, err := grantNow(e, call)
			return err
		})
		e.WantHolders("partner", store.Holder{Node: node, Slots: 7})
	}
}
