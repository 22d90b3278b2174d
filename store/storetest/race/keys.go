package race

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/crowd"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var raceKeysTests = env.Tests{
	"UniqueIsUnique_NoLoss_of_64_that_send_or_start_one_starts":             raceSendOrStart,
	"UniqueIsUnique_NoLoss_signals_come_while_the_holder_of_a_key_finishes": raceHolderFinishes,
	"UniqueIsUnique_of_64_that_take_a_free_key_one_wins":                    raceTakeKey,
	"UniqueIsUnique_a_job_runs_again_while_others_want_its_key":             raceAgain,
	"UniqueIsUnique_a_key_is_taken_while_its_last_job_is_removed":           raceRemoved,
	"UniqueIsUnique_many_name_many_keys_in_all_orders":                      raceKeyOrders,
	"NoLoss_a_signal_and_its_repetition_at_once":                            raceRepeatedAlong,
}

func raceSendOrStart(e *env.Env) {
	const n = 64
	enqueues := make([]*store.Enqueue, n)
	for i := range enqueues {
		enqueues[i] = e.Job(env.Key("order-42"), env.Along(fmt.Sprint("signal ", i)))
	}
	crowd.Together(e, n, func(i int) error { return crowd.TryNow(e, &store.Batch{Enqueues: enqueues[i : i+1]}) })
	wantDelivered(e, enqueues)
	if ids := e.ListIDs(store.Filter{}); len(ids) != 1 || ids[0] != e.Find("order-42") {
		e.Fatalf("there are the jobs %v", ids)
	}
	if n := len(e.Messages(e.Find("order-42"))); n != 64 {
		e.Fatalf("%d messages have arrived", n)
	}
}

// wantDelivered checks that each signal has arrived once, at the job that its enqueue was told of,
// and that of the enqueues of each of these jobs one has inserted it.
func wantDelivered(e *env.Env, enqueues []*store.Enqueue) {
	e.Helper()
	told, inserted := map[store.ID][]string{}, map[store.ID]int{}
	for i, q := range enqueues {
		if q.Err != nil || q.Send.Job != q.Result.ID || q.Send.Result.Duplicate {
			e.Fatalf("enqueue %d: %+v, %+v, %v", i, q.Result, q.Send, q.Err)
		}
		told[q.Result.ID] = append(told[q.Result.ID], q.Send.Message.Name)
		if !q.Result.Existing {
			inserted[q.Result.ID]++
		}
	}
	for id, names := range told {
		arrived := e.Names(id)
		for _, name := range names {
			if n := len(slices.DeleteFunc(slices.Clone(arrived), func(a string) bool { return a != name })); n != 1 {
				e.Fatalf("%s has arrived %d times at job %v", name, n, id)
			}
		}
		if inserted[id] > 1 {
			e.Fatalf("job %v was inserted %d times", id, inserted[id])
		}
	}
}

// raceHolderFinishes: in each round some send to the holder of a key, or start the next one, while
// the holder ends. Each signal arrives once; in the end one unfinished job has the key, or none.
func raceHolderFinishes(e *env.Env) {
	const rounds, senders = 40, 8
	node := e.Join()
	holder := e.ClaimOne(node, e.SendOrStart("k", "first").Job.ID)
	arrived := map[store.ID]int{holder.Job.ID: 1}
	for round := range rounds {
		enqueues := make([]*store.Enqueue, senders)
		for i := range enqueues {
			enqueues[i] = e.Job(env.Key("k"), env.Along(fmt.Sprint("signal ", round, " ", i)))
		}
		state := []store.State{store.Completed, store.Failed, store.Cancelled}[round%3]
		end := env.Outcome(holder, state, func(o *store.Outcome) { o.Durable = round%2 == 0 })
		crowd.Together(e, senders+1, func(i int) error {
			if i == senders {
				return crowd.TryNow(e, &store.Batch{Outcomes: []*store.Outcome{end}})
			}
			return crowd.TryNow(e, &store.Batch{Enqueues: enqueues[i : i+1]})
		})
		if end.Err != nil || end.Final != state {
			e.Fatalf("the holder ended as %v: %v", end.Final, end.Err)
		}
		wantDelivered(e, enqueues)
		jobs := map[store.ID]bool{}
		for _, q := range enqueues {
			jobs[q.Result.ID] = true
			arrived[q.Result.ID]++
		}
		delete(jobs, holder.Job.ID)
		if len(jobs) > 1 {
			e.Fatalf("round %d: %d jobs were started", round, len(jobs))
		}
		next := e.SendOrStart("k", "next").Result.ID
		arrived[next]++
		if len(jobs) == 1 && !jobs[next] {
			e.Fatalf("round %d: the key is that of %v, not of one of %v", round, next, jobs)
		}
		holder = e.ClaimOne(node, next)
	}
	for id, n := range arrived {
		if messages := len(e.Messages(id)); messages != n {
			e.Fatalf("job %v has %d messages, of %d", id, messages, n)
		}
	}
}

func raceTakeKey(e *env.Env) {
	const n = 64
	for _, keep := range []time.Duration{0, time.Minute} {
		key := keep.String()
		old := e.TakeKey(key, env.KeepKey(keep))
		e.Cancel(old)
		e.Clock.Advance(time.Minute)
		enqueues := make([]*store.Enqueue, n)
		for i := range enqueues {
			enqueues[i] = e.Job(env.Key(key), env.Delay(time.Hour))
		}
		crowd.Together(e, n, func(i int) error { return crowd.TryNow(e, &store.Batch{Enqueues: enqueues[i : i+1]}) })
		holder := e.Find(key)
		won := 0
		for i, q := range enqueues {
			if q.Err != nil || q.Result.ID != holder || q.Result.ID == old {
				e.Fatalf("enqueue %d: %+v, %v; the key is that of %v", i, q.Result, q.Err, holder)
			}
			if !q.Result.Existing {
				won++
			}
		}
		if won != 1 || len(e.ListIDs(store.Filter{States: []store.State{store.Scheduled}})) != 1 {
			e.Fatalf("%d won", won)
		}
		e.Cancel(holder)
	}
}

// raceAgain: people let a finished job run again, while others take its key. Either it has the key
// then, and they are told of it; or one of them has.
func raceAgain(e *env.Env) {
	const rounds, takers = 30, 4
	for round := range rounds {
		key := fmt.Sprint("key ", round)
		old := e.TakeKey(key)
		e.Cancel(old)
		enqueues := make([]*store.Enqueue, takers)
		for i := range enqueues {
			enqueues[i] = e.Job(env.Key(key), env.Delay(time.Hour))
		}
		var again error
		crowd.Together(e, takers+1, func(i int) error {
			if i < takers {
				return crowd.TryNow(e, &store.Batch{Enqueues: enqueues[i : i+1]})
			}
			again = runAgain(e, old, round%2 == 0)
			return nil
		})
		holder := e.Find(key)
		if again == nil && holder != old || again != nil && !isHeldBy(again, holder) {
			e.Fatalf("round %d: the old job runs again: %v; the key is that of %v, and it is %v", round, again, holder, old)
		}
		inserted := 0
		for i, q := range enqueues {
			if q.Err != nil || q.Result.ID != holder {
				e.Fatalf("round %d, enqueue %d: %+v, %v; the key is that of %v", round, i, q.Result, q.Err, holder)
			}
			if !q.Result.Existing {
				inserted++
			}
		}
		if want := map[bool]int{true: 0, false: 1}[again == nil]; inserted != want {
			e.Fatalf("round %d: %d were inserted, want %d", round, inserted, want)
		}
		e.Cancel(holder)
	}
}

// runAgain lets a finished job run again, and asks again if its key was changing hands.
func runAgain(e *env.Env, id store.ID, retry bool) error {
	for {
		var err error
		if retry {
			err = e.TryRetry(id).Err
		} else {
			_, _, err = e.Store.Resume(e.Ctx, env.Resumption(id))
		}
		taken := (&store.UniqueError{})
		if errors.As(err, &taken) || !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

func isHeldBy(err error, holder store.ID) bool {
	taken, ok := errors.AsType[*store.UniqueError](err)
	return ok && taken.Holder == holder
}

// raceRemoved: a key is free, and the job that had it is removed at the moment in which others want
// it.
func raceRemoved(e *env.Env) {
	const rounds, takers = 20, 4
	retention := store.Retention{Completed: 1000 * time.Hour, Cancelled: time.Hour, Limit: 50}
	old := e.TakeKey("k")
	for round := range rounds {
		e.Cancel(old)
		e.Clock.Advance(time.Hour)
		enqueues := make([]*store.Enqueue, takers)
		for i := range enqueues {
			enqueues[i] = e.Job(env.Key("k"), env.Delay(10_000*time.Hour))
		}
		crowd.Together(e, takers+1, func(i int) error {
			if i < takers {
				return crowd.TryNow(e, &store.Batch{Enqueues: enqueues[i : i+1]})
			}
			_, err := e.Store.Retain(e.Ctx, retention)
			return err
		})
		holder, inserted := e.Find("k"), 0
		for i, q := range enqueues {
			if q.Err != nil || q.Result.ID != holder || holder == old {
				e.Fatalf("round %d, enqueue %d: %+v, %v; the key is that of %v", round, i, q.Result, q.Err, holder)
			}
			if !q.Result.Existing {
				inserted++
			}
		}
		if inserted != 1 {
			e.Fatalf("round %d: %d were inserted", round, inserted)
		}
		old = holder
	}
}

// raceKeyOrders: the producers name their keys in different orders, which is how deadlocks are
// made, and beside them unique keys.
func raceKeyOrders(e *env.Env) {
	const producers, keys = 16, 6
	batches := make([]*store.Batch, producers)
	for i := range batches {
		batches[i] = &store.Batch{}
		for k := range keys {
			batches[i].Enqueues = append(batches[i].Enqueues,
				e.Job(env.Key(fmt.Sprint("key ", k)), env.Along(fmt.Sprint("signal ", i))), e.Job(env.Unique(fmt.Sprint("unique ", k))))
		}
		random := rand.New(rand.NewPCG(uint64(i), 2))
		random.Shuffle(2*keys, func(a, b int) {
			q := batches[i].Enqueues
			q[a], q[b] = q[b], q[a]
		})
	}
	crowd.Together(e, producers, func(i int) error { return crowd.TryNow(e, batches[i]) })
	for k := range keys {
		if n := len(e.Messages(e.Find(fmt.Sprint("key ", k)))); n != producers {
			e.Fatalf("key %d has got %d signals", k, n)
		}
	}
	if n := len(e.ListIDs(store.Filter{})); n != 2*keys {
		e.Fatalf("there are %d jobs", n)
	}
}

// raceRepeatedAlong: what was sent is still on its way when it is sent again.
func raceRepeatedAlong(e *env.Env) {
	const rounds, copies = 20, 4
	for round := range rounds {
		key := fmt.Sprint("key ", round)
		if round%2 == 0 {
			e.TakeKey(key)
		}
		original := e.Job(env.Key(key), env.Along("once"))
		enqueues := make([]*store.Enqueue, copies)
		for i := range enqueues {
			q := *original
			along := *original.Send
			q.Send, enqueues[i] = &along, &q
		}
		crowd.Together(e, copies, func(i int) error { return crowd.TryNow(e, &store.Batch{Enqueues: enqueues[i : i+1]}) })
		holder := e.Find(key)
		for i, q := range enqueues {
			if q.Err != nil || q.Result.ID != holder || q.Send.Job != holder || q.Send.Result.Seq != 1 {
				e.Fatalf("round %d, copy %d: %+v, %+v, %v; the key is that of %v", round, i, q.Result, q.Send, q.Err, holder)
			}
		}
		e.Equal("messages", e.Names(holder), []string{"once"})
	}
}
