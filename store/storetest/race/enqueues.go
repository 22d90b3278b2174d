package race

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/crowd"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// raceUnique: the producers name their keys in different orders, which is how deadlocks are made.
func raceUnique(e *env.Env) {
	const producers, keys = 16, 5
	batches := make([]*store.Batch, producers)
	for i := range batches {
		batches[i] = &store.Batch{}
		for k := range keys {
			batches[i].Enqueues = append(batches[i].Enqueues,
				e.Job(env.Unique(fmt.Sprint("key", k)), env.OnConflict([]store.OnConflict{store.ReturnExisting, store.Reject, store.Replace}[(i+k)%3])))
		}
		random := rand.New(rand.NewPCG(uint64(i), 1))
		random.Shuffle(keys, func(a, b int) {
			q := batches[i].Enqueues
			q[a], q[b] = q[b], q[a]
		})
	}
	crowd.Together(e, producers, func(i int) error { return crowd.TryNow(e, batches[i]) })
	holders := map[string]store.ID{}
	for _, batch := range batches {
		for _, q := range batch.Enqueues {
			if q.Err == nil && !q.Result.Existing {
				key := string(q.Job.UniqueKey)
				if other, taken := holders[key]; taken {
					e.Fatalf("jobs %v and %v were both inserted with the key %s", other, q.Job.ID, key)
				}
				holders[key] = q.Job.ID
			}
		}
	}
	for _, batch := range batches {
		for _, q := range batch.Enqueues {
			holder, taken := holders[string(q.Job.UniqueKey)]
			var conflict *store.UniqueError
			switch {
			case !taken:
				e.Fatalf("nobody got the key %s", q.Job.UniqueKey)
			case q.Err == nil && q.Result.ID != holder:
				e.Fatalf("enqueue returned the job %v, the key is held by %v", q.Result.ID, holder)
			case q.Err != nil && (!errors.As(q.Err, &conflict) || conflict.Holder != holder):
				e.Fatalf("enqueue: %v, the key is held by %v", q.Err, holder)
			}
		}
	}
	if n := len(e.ListIDs(store.Filter{})); n != keys {
		e.Fatalf("there are %d jobs, want %d", n, keys)
	}
	if n := len(e.Claim(e.Join(), 100)); n != keys {
		e.Fatalf("claimed %d jobs, want %d", n, keys)
	}
}

func raceRetryUnique(e *env.Env) {
	const n = 8
	var ids []store.ID
	node := e.Join()
	for range n {
		id := e.Add(env.Unique("k"))
		ids = append(ids, id)
		e.End(e.ClaimOne(node, id), store.Failed)
	}
	var won, lost crowd.Tally
	crowd.Together(e, n, func(i int) error {
		results, _, err := e.Store.Retry(e.Ctx, store.RetryParams{Jobs: []store.ID{ids[i]}, Actor: "ada"})
		if err != nil || len(results) != 1 {
			return fmt.Errorf("Retry: %d results, %w", len(results), err)
		}
		if errors.Is(results[0].Err, store.ErrConflict) {
			lost.Add(ids[i])
			return nil
		}
		won.Add(ids[i])
		return results[0].Err
	})
	if len(won.Seen) != 1 || len(lost.Seen) != n-1 {
		e.Fatalf("%d retries won, %d lost", len(won.Seen), len(lost.Seen))
	}
	if runs := e.Claim(node, n); len(runs) != 1 || won.Seen[runs[0].Job.ID] != 1 {
		e.Fatalf("claimed %v", env.ClaimedIDs(runs))
	}
}

func raceSameID(e *env.Env) {
	const producers, jobs = 8, 6
	var originals []*store.Enqueue
	for i := range jobs {
		originals = append(originals, e.Job(env.Unique(fmt.Sprint("key", i)), env.OnConflict(store.Reject)))
	}
	var inserted crowd.Tally
	crowd.Together(e, producers, func(i int) error {
		batch := &store.Batch{}
		for j := range jobs {
			q := *originals[(i+j)%jobs]
			batch.Enqueues = append(batch.Enqueues, &q)
		}
		if err := crowd.TryNow(e, batch); err != nil {
			return err
		}
		for _, q := range batch.Enqueues {
			if q.Err != nil || q.Result.ID != q.Job.ID {
				return fmt.Errorf("enqueue of %v: %+v, %w", q.Job.ID, q.Result, q.Err)
			}
			if !q.Result.Existing {
				inserted.Add(q.Job.ID)
			}
		}
		return nil
	})
	crowd.WantOnce(e, "inserted", &inserted, env.IDsOf(originals))
	e.WantIDs("claimed", env.ClaimedIDs(e.Claim(e.Join(), 100)), env.IDsOf(originals)...)
}
