package race

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

// raceEverything: all operations at once, on the same jobs, in no order. A store may say now and
// then that it is unavailable (a deadlock that the database broke, say); then it is asked again by
// the rules. In the end every job is in one place, and can be brought to its end.
func raceEverything(e *env.Env) {
	const workers, rounds = 6, 25
	s := env.Persist(e.Store)
	var made crowd.Tally
	var clock atomic.Int64
	crowd.Together(e, workers, func(i int) error {
		w := &meddler{Env: e, store: s, name: fmt.Sprint("n", i), random: rand.New(rand.NewPCG(uint64(i), 4)), made: &made}
		if err := w.join(); err != nil {
			return err
		}
		for round := range rounds {
			if err := w.work(round); err != nil {
				return err
			}
			if err := w.meddle(); err != nil {
				return fmt.Errorf("operation: %w", err)
			}
			if _, err := s.Promote(e.Ctx, 10); err != nil {
				return fmt.Errorf("Promote: %w", err)
			}
			if clock.Add(1)%3 == 0 {
				e.Clock.Advance(time.Second)
			}
		}
		return nil
	})
	// Every job is there once, and comes to its end when nothing interferes any more.
	e.WantSameIDs("listed", e.ListIDs(store.Filter{}), made.IDs()...)
	for i := range 3 {
		e.Pause(fmt.Sprint("q", i), false)
	}
	e.Clock.Advance(time.Hour)
	e.Rescue()
	e.Sweep()
	node := e.Join()
	for range crowd.Patience {
		e.Clock.Advance(time.Minute)
		e.Beat(node)
		runs := e.Claim(node, 100)
		e.Apply(&store.Batch{Outcomes: crowd.Completions(runs)})
		if len(runs) == 0 {
			break
		}
	}
	unfinished := []store.State{store.Scheduled, store.Available, store.Running, store.Retryable, store.Waiting}
	if left := e.List(store.Filter{States: unfinished}, 100); len(left) != 0 {
		e.Fatalf("NoLoss: %d of %d jobs never come to an end, such as %+v", len(left), len(made.Seen), left[0])
	}
}

// meddler is a node, and a person who interferes with its jobs.
type meddler struct {
	*env.Env
	store  store.Store
	name   string
	random *rand.Rand
	made   *crowd.Tally

	node int64
	mine []store.ID
	runs []store.Claimed
}

func (w *meddler) join() (err error) {
	if w.node, err = w.store.Join(w.Ctx, store.NodeInfo{Name: w.name}); err != nil {
		return fmt.Errorf("Join: %w", err)
	}
	return nil
}

// work enqueues jobs, ends what runs, and claims again. Now and then it forgets what it claimed, as
// a node does that crashes, and comes back as another.
func (w *meddler) work(round int) error {
	batch := w.batch()
	if err := env.ApplyWhole(w.Ctx, w.store, batch); err != nil {
		return fmt.Errorf("Apply: %w", err)
	}
	for _, q := range batch.Enqueues {
		if q.Err == nil && q.Result.ID == q.Job.ID {
			w.made.Add(q.Job.ID)
		}
		if q.Err == nil {
			w.mine = append(w.mine, q.Result.ID)
		}
	}
	var err error
	w.runs, err = w.store.Claim(w.Ctx, w.Demand(w.node, 5))
	switch {
	case errors.Is(err, store.ErrNodeDead):
		return w.join()
	case err != nil:
		return fmt.Errorf("Claim: %w", err)
	case round%7 == 6:
		w.runs = nil
		return w.join()
	}
	return nil
}

// batch is what is enqueued and ended in a round.
func (w *meddler) batch() *store.Batch {
	batch := &store.Batch{}
	for range 4 {
		q := w.Job(env.Queue(fmt.Sprint("q", w.random.IntN(3))), env.Priority(1+w.random.IntN(4)),
			env.Delay(time.Duration(w.random.IntN(3))*time.Second))
		if w.random.IntN(3) == 0 {
			env.Unique(fmt.Sprint("key", w.random.IntN(4)))(q)
			q.OnConflict = store.OnConflict(w.random.IntN(3))
		}
		if w.random.IntN(3) == 0 {
			q.Job.OrderingKey = fmt.Sprint("key", w.random.IntN(4))
		}
		batch.Enqueues = append(batch.Enqueues, q)
	}
	for _, run := range w.runs {
		if w.random.IntN(2) == 0 {
			c := &store.CheckpointWrite{Lease: run.Lease, Checkpoint: store.Checkpoint{Percent: 1}}
			batch.Checkpoints = append(batch.Checkpoints, c)
		}
		state := []store.State{store.Completed, store.Retryable, store.Scheduled, store.Available, store.Failed}[w.random.IntN(5)]
		batch.Outcomes = append(batch.Outcomes, env.Outcome(run, state))
	}
	return batch
}

// some are jobs that it knows.
func (w *meddler) some() []store.ID {
	var ids []store.ID
	for range 5 {
		if len(w.mine) > 0 {
			ids = append(ids, w.mine[w.random.IntN(len(w.mine))])
		}
	}
	return ids
}

// meddle does one of the things that people and other nodes do.
func (w *meddler) meddle() (err error) {
	switch w.random.IntN(9) {
	case 0:
		_, _, err = w.store.Cancel(w.Ctx, store.CancelParams{Jobs: w.some(), Reason: "r", Actor: "a"})
	case 1:
		_, _, err = w.store.Retry(w.Ctx, store.RetryParams{Jobs: w.some(), Actor: "a"})
	case 2:
		var silent []store.NodeBeat
		if silent, err = env.SilentNodes(w.Ctx, w.store, w.Clock.Now()); err == nil {
			_, err = w.store.Rescue(w.Ctx, store.RescueParams{Dead: silent, Limit: 100})
		}
	case 3:
		_, err = w.store.SweepCancels(w.Ctx)
	case 4:
		name, paused := fmt.Sprint("q", w.random.IntN(3)), w.random.IntN(3) == 0
		err = w.store.Pause(w.Ctx, store.PauseParams{Namespace: env.Namespace, Queue: name, Paused: paused, Actor: "a"})
	case 5:
		_, err = w.store.Leave(w.Ctx, w.node)
	case 6:
		_, err = w.store.Beat(w.Ctx, store.BeatParams{Node: w.node, LeaderTTL: env.LeaderTTL})
		if errors.Is(err, store.ErrNodeDead) {
			err = nil
		}
	case 7:
		return w.edit()
	case 8:
		return w.delete()
	}
	return err
}

// edit changes jobs that do not run.
func (w *meddler) edit() error {
	for _, id := range w.some() {
		change := store.Edit{AddTags: []string{w.name}, Queue: new(fmt.Sprint("q", w.random.IntN(3))), Priority: new(1 + w.random.IntN(4))}
		if w.random.IntN(2) == 0 {
			change.RunAt = new(w.Clock.Now().Add(time.Duration(w.random.IntN(3)) * time.Second))
		}
		_, _, err := w.store.Edit(w.Ctx, env.Edits(id, change))
		if err != nil && !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrInvalid) {
			return fmt.Errorf("Edit: %w", err)
		}
	}
	return nil
}

// delete removes those that have finished. One that is not found was removed before.
func (w *meddler) delete() error {
	results, _, err := w.store.Delete(w.Ctx, store.DeleteParams{Jobs: w.some()})
	if err != nil {
		return fmt.Errorf("Delete: %w", err)
	}
	for _, r := range results {
		if r.Err == nil || errors.Is(r.Err, store.ErrNotFound) {
			w.made.Forget(r.Job)
		}
	}
	return nil
}
