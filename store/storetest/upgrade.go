package storetest

import (
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// Upgrade checks that a database loses nothing when a newer program migrates it, and goes on: with
// jobs in every state, runs that are parked, held and under way, journals, messages, keys and
// requests. upgraded migrates the database of the store, and returns the store that goes on.
func Upgrade(t *testing.T, open Factory, upgraded func(t *testing.T, s store.Store) store.Store) {
	t.Helper()
	e := env.New(t, open)
	all := everything(e)
	before, list := known(e, all.ids()), listed(e)
	e.Store = upgraded(t, e.Store)
	e.Equal("what is known of the jobs", known(e, all.ids()), before)
	e.Equal("what is listed", listed(e), list)
	all.end(e)
}

// listed are the jobs that some filters select, in all orders.
func listed(e *env.Env) map[string][]store.ID {
	e.Helper()
	all := map[string][]store.ID{}
	for what, f := range map[string]store.Filter{
		"all": {}, "of a lane": {Namespace: env.Namespace, Queues: []string{"mail"}, Kinds: []string{"send"}},
		"of no lane": {Queues: []string{"none"}}, "since": {FinishedAfter: e.Clock.Now().Add(-time.Minute)},
		"lost": {LostFrom: e.Get(lostID(e)).Attempts[0].Node},
	} {
		for _, sort := range store.Sorts {
			all[what+" by "+sort.String()] = e.Sorted(sort, f, 3)
		}
		for _, state := range store.States {
			f.States = []store.State{state}
			all[what+", "+state.String()] = e.Sorted(store.SortOldest, f, 3)
		}
	}
	return all
}

// lostID is the job whose run was lost.
func lostID(e *env.Env) store.ID {
	e.Helper()
	return e.ListIDs(store.Filter{Queues: []string{"lost"}})[0]
}

// inventory are jobs in every state.
type inventory struct {
	waiting           []store.ID // for their time, their turn, or a node
	failed, cancelled []store.ID
	done              []store.ID
	paused            []store.ID
	asked             []store.ID // that wait for a signal
	running           []store.Claimed
}

func (a *inventory) ids() []store.ID {
	var ids []store.ID
	for _, some := range [][]store.ID{a.waiting, a.failed, a.cancelled, a.done, a.paused, a.asked, env.ClaimedIDs(a.running)} {
		ids = append(ids, some...)
	}
	return ids
}

// everything makes them.
func everything(e *env.Env) *inventory {
	a := &inventory{}
	last := func(state store.State) store.ID {
		run := e.Started()
		e.End(run, state)
		return run.Job.ID
	}
	a.done = append(a.done, last(store.Completed))
	a.failed = append(a.failed, last(store.Failed))
	a.cancelled = append(a.cancelled, last(store.Cancelled))
	a.waiting = append(a.waiting, last(store.Retryable), last(store.Scheduled))
	a.waiting = append(a.waiting, e.Add(env.Delay(time.Hour)), e.Add(env.Delay(time.Hour), env.Unique("k"), env.Ordered("o")))
	held := e.Held()
	a.paused = append(a.paused, held.Job.ID)
	scheduled := e.Add(env.Delay(time.Hour))
	e.PauseJob(scheduled, store.Waiting)
	a.paused = append(a.paused, scheduled)
	parked := e.Parked(env.ForSignals())
	e.TrySend(parked.Job.ID, store.Message{Kind: store.MessageHeartbeat, Name: "nobody's"}, "")
	a.asked = append(a.asked, parked.Job.ID)
	durable := e.Durable(3)
	e.Send(durable.Job.ID, env.Signal("unread"))
	e.Apply(&store.Batch{Checkpoints: []*store.CheckpointWrite{{
		Lease: durable.Lease, Checkpoint: store.Checkpoint{Percent: 50, Message: "half", Value: []byte(`{"line":3}`)},
	}}})
	lost := e.Started(env.Queue("lost"))
	e.Lose(lost)
	a.waiting = append(a.waiting, lost.Job.ID)
	turn := e.Started(env.Ordered("turn"), env.Priority(1))
	a.running = append(a.running, e.Started(env.Priority(1)), durable, turn)
	a.waiting = append(a.waiting, e.Add(env.Ordered("turn")), e.Add())
	return a
}

// known is all that the store tells of jobs.
func known(e *env.Env, ids []store.ID) map[store.ID]any {
	e.Helper()
	all := map[store.ID]any{}
	for _, id := range ids {
		all[id] = []any{e.Get(id), e.Journal(id), e.Ended(id)}
	}
	return all
}

// end lets all the jobs go on to their ends.
func (a *inventory) end(e *env.Env) {
	e.Helper()
	for _, run := range a.running {
		if o := e.End(run, store.Completed); o.Final != store.Completed {
			e.Fatalf("a run that was under way ended as %v: %v", o.Final, o.Err)
		}
	}
	for _, id := range a.asked {
		e.Send(id, env.Signal("approved"))
	}
	for _, id := range a.paused {
		if _, _, err := e.Store.Resume(e.Ctx, store.ResumeParams{Job: id, Keep: -1, Expect: -1, Actor: "ada"}); err != nil {
			e.Fatalf("Resume: %v", err)
		}
	}
	for _, id := range a.failed {
		e.Retry(id)
	}
	e.Clock.Advance(2 * time.Hour)
	node := e.Join()
	for range 10 {
		e.Promote()
		for _, run := range e.Claim(node, 100) {
			if run.Durable {
				if written := len(e.Journal(run.Job.ID).Entries); written == 0 {
					e.Fatalf("the journal of %v is gone", run.Job.ID)
				}
			}
			e.End(run, store.Completed)
		}
	}
	for _, id := range a.ids() {
		want := store.Completed
		for _, cancelled := range a.cancelled {
			if id == cancelled {
				want = store.Cancelled
			}
		}
		e.WantState(id, want)
	}
}
