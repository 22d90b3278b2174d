package race

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/crowd"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var raceUpdatesTests = env.Tests{
	"NoLoss_every_request_is_answered_once_in_the_order_of_arrival": raceUpdates,
	"of_many_requests_with_a_key_one_is_kept":                       raceUpdateKeys,
	"a_request_meets_the_end_of_its_job":                            raceUpdateEnd,
}

// raceUpdates: callers send to a few jobs, and wait until they have an answer. Runs accept what
// they find, answer, and park, some of them before they have looked again: a request must wake them
// then.
func raceUpdates(e *env.Env) {
	const jobs, callers, each, workers = 3, 4, 12, 2
	s := newSleepers(e, jobs, 0, callers)
	nodes := crowd.Joined(e, workers)
	crowd.Together(e, workers+callers, func(i int) error {
		if i < workers {
			return serveUpdates(e, s, nodes[i])
		}
		return callUpdates(e, s, i-workers, each)
	})
	for _, id := range s.ids {
		last, seen := int64(0), map[int64]bool{}
		for _, entry := range e.Journal(id).Entries {
			if entry.Ref <= last || seen[entry.Ref] {
				e.Fatalf("request %d of %v was accepted after %d", entry.Ref, id, last)
			}
			last, seen[entry.Ref] = entry.Ref, true
		}
		if len(seen) != callers*each {
			e.Fatalf("%v has accepted %d requests, want %d", id, len(seen), callers*each)
		}
		e.WantOpen(id)
	}
}

// callUpdates sends requests to all of the jobs, one after the other, and waits for their answers.
func callUpdates(e *env.Env, s *sleepers, caller, each int) error {
	defer s.sending.Add(-1)
	for n := range each {
		key := fmt.Sprintf("%d.%d", caller, n)
		batch := &store.Batch{}
		for _, id := range s.ids {
			batch.Sends = append(batch.Sends, &store.Send{Job: id, Message: env.Request("add"), Key: key})
		}
		if err := crowd.TryNow(e, batch); err != nil {
			return err
		}
		for _, q := range batch.Sends {
			if q.Err != nil {
				return fmt.Errorf("request: %w", q.Err)
			}
			for looks := 0; ; looks++ {
				u, err := e.Store.GetUpdate(e.Ctx, "", q.Job, key)
				if err != nil {
					return fmt.Errorf("GetUpdate: %w", err)
				}
				if u.Answer != nil {
					break
				}
				if looks > crowd.Patience {
					return fmt.Errorf("NoLoss: request %s to job %v is never answered", key, q.Job)
				}
				runtime.Gosched()
			}
		}
	}
	return nil
}

// serveUpdates runs the jobs until all callers have sent what they send.
func serveUpdates(e *env.Env, s *sleepers, node int64) error {
	for s.sending.Load() > 0 {
		runs, err := crowd.ClaimNow(e, e.Demand(node, 2))
		if err != nil {
			return err
		}
		if len(runs) == 0 {
			runtime.Gosched()
			continue
		}
		ids := env.ClaimedIDs(runs)
		journals, err := e.Store.Journals(e.Ctx, "", ids)
		if err != nil {
			return fmt.Errorf("Journals: %w", err)
		}
		open, err := e.Store.OpenUpdates(e.Ctx, env.AllOf(ids...))
		if err != nil {
			return fmt.Errorf("OpenUpdates: %w", err)
		}
		batch := &store.Batch{}
		for i, run := range runs {
			a, seen := &store.Append{Lease: run.Lease}, lastAccepted(journals[i].Entries)
			last := journals[i].LastSeq()
			for _, u := range open[i] {
				last++
				a.Entries = append(a.Entries, store.Entry{Seq: last, Kind: store.EntryUpdated, Path: "1:1", Name: u.Name, Ref: u.Seq})
				a.Answers = append(a.Answers, env.Answered(u.Seq, "1"))
				seen = u.Seq
			}
			if len(a.Entries) > 0 {
				batch.Appends = append(batch.Appends, a)
			}
			batch.Outcomes = append(batch.Outcomes, env.Outcome(run, store.Waiting, func(o *store.Outcome) {
				o.Durable, o.Wait = true, env.ForUpdates(seen)
			}))
		}
		if err := crowd.EndNow(e, batch); err != nil {
			return err
		}
		for _, a := range batch.Appends {
			if a.Err != nil {
				return fmt.Errorf("append: %w", a.Err)
			}
		}
	}
	return nil
}

// lastAccepted is the number of the last request that a journal has.
func lastAccepted(entries []store.Entry) int64 {
	if len(entries) == 0 {
		return 0
	}
	return entries[len(entries)-1].Ref
}

func raceUpdateKeys(e *env.Env) {
	const callers, keys = 6, 20
	run := e.Parked(env.ForUpdates(0))
	var woken atomic.Int64
	crowd.Together(e, callers, func(i int) error {
		batch := &store.Batch{}
		for n := range keys {
			batch.Sends = append(batch.Sends, &store.Send{Job: run.Job.ID, Message: env.Request(fmt.Sprint("by ", i)), Key: strconv.Itoa(n)})
		}
		slices.Reverse(batch.Sends[:i*keys/callers])
		if err := crowd.TryNow(e, batch); err != nil {
			return err
		}
		for _, q := range batch.Sends {
			if q.Err != nil {
				return fmt.Errorf("request: %w", q.Err)
			}
			if q.Result.Woken {
				woken.Add(1)
			}
			if u, err := e.Store.GetUpdate(e.Ctx, "", run.Job.ID, q.Key); err != nil || u.Seq != q.Result.Seq {
				return fmt.Errorf("the request is number %d, and %d was told: %w", u.Seq, q.Result.Seq, err)
			}
		}
		return nil
	})
	if n := len(e.OpenUpdates(run.Job.ID)); n != keys || woken.Load() != 1 {
		e.Fatalf("%d requests are kept, want %d, and %d woke the job", n, keys, woken.Load())
	}
}

func raceUpdateEnd(e *env.Env) {
	const n = 12
	runs := make([]store.Claimed, n)
	for i := range runs {
		runs[i] = e.Durable(1)
	}
	sends := make([]*store.Send, n)
	crowd.Together(e, 2, func(i int) error {
		for at, run := range runs {
			if i == 0 {
				if err := crowd.EndNow(e, &store.Batch{Outcomes: []*store.Outcome{env.Outcome(run, store.Completed)}}); err != nil {
					return err
				}
				continue
			}
			sends[at] = &store.Send{Job: run.Job.ID, Message: env.Request("add"), Key: "k"}
			if err := crowd.TryNow(e, &store.Batch{Sends: sends[at : at+1]}); err != nil {
				return err
			}
		}
		return nil
	})
	for i, q := range sends {
		open := len(e.OpenUpdates(runs[i].Job.ID))
		if kept := q.Err == nil && open == 1; !kept && (!errors.Is(q.Err, store.ErrConflict) || open != 0) {
			e.Fatalf("the request says %v, and %d are open", q.Err, open)
		}
	}
}
