package requests

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

const racers = 8

// together applies units at once, and counts those that were not refused. One that is busy comes
// again, as for crossing.
func together(e *env.Env, units []*store.Unit) (happened int) {
	e.Competes()
	var all sync.WaitGroup
	for _, u := range units {
		all.Go(func() {
			for again := true; again; again = errors.Is(u.Err(), store.ErrBusy) {
				u.Request.Err = nil
				_ = e.Store.Apply(e.Ctx, env.Batched(u)) // the unit tells
			}
		})
	}
	all.Wait()
	for _, u := range units {
		if u.Err() == nil {
			happened++
		}
	}
	return happened
}

func race(e *env.Env) {
	for round := range 5 {
		units := make([]*store.Unit, racers)
		for i := range units {
			units[i] = unit(fmt.Sprint("k", round), e.Job())
		}
		if n := together(e, units); n != 1 {
			e.Fatalf("round %d: %d of them have happened", round, n)
		}
		at := slices.IndexFunc(units, func(u *store.Unit) bool { return u.Err() == nil })
		for _, u := range units {
			if u.Err() == nil {
				continue
			}
			found, is := store.IsRepeated(u.Err())
			if !is {
				e.Fatalf("another one: %v", u.Err())
			}
			e.Equal("what it was answered", results(e, found).Enqueues[0].ID, units[at].Enqueues[0].Job.ID)
		}
		e.WantIDs("claimed", env.ClaimedIDs(e.Claim(e.Join(), 10)), units[at].Enqueues[0].Job.ID)
	}
}

// crossing has batches with the same keys in different orders. A store waits for others a short
// while, and answers ErrBusy then, as it may while the machine is busy: such a batch comes again.
func crossing(e *env.Env) {
	e.Competes()
	for round := range 5 {
		batches := make([]*store.Batch, racers)
		errs := make([]error, racers)
		var all sync.WaitGroup
		for i := range batches {
			all.Go(func() {
				for again := true; again; again = isBusy(batches[i]) {
					batches[i] = crossed(e, round, i%2 == 1)
					errs[i] = e.Store.Apply(e.Ctx, batches[i])
				}
			})
		}
		all.Wait()
		happened := 0
		for i, err := range errs {
			if err == nil {
				happened++
				continue
			}
			if !errors.Is(err, store.ErrRefused) {
				e.Fatalf("a batch that came later: %v", err)
			}
			for _, r := range batches[i].Requests {
				if _, is := store.IsRepeated(r.Err); !is {
					e.Errorf("its request: %v", r.Err)
				}
			}
		}
		e.Equal("batches that happened", happened, 1)
	}
}

// crossed is a batch with the keys of a round, backwards or not.
func crossed(e *env.Env, round int, backwards bool) *store.Batch {
	b := &store.Batch{}
	for k := range 6 {
		if backwards {
			k = 5 - k
		}
		b.Add(unit(fmt.Sprint("k", round, "-", k), e.Job()))
	}
	return b
}

func isBusy(b *store.Batch) bool {
	return slices.ContainsFunc(b.Requests, func(r *store.KeyedRequest) bool { return errors.Is(r.Err, store.ErrBusy) })
}

func raceBegin(e *env.Env) {
	units := make([]*store.Unit, racers)
	for i := range units {
		r := request("k", "a pause")
		r.Phase, r.Owner, r.For = store.RequestBegins, owner(byte(i+1)), store.RequestsKept
		units[i] = &store.Unit{Request: r}
	}
	if n := together(e, units); n != 1 {
		e.Fatalf("%d of them have begun", n)
	}
}
