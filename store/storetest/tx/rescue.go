package tx

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// A rescue waits for no transaction of a caller either.
var txRescueTests = tests{
	"NoLoss_a_job_that_somebody_is_sending_to_is_rescued_later":  rescueSending,
	"OneOwner_a_node_that_is_appending_is_rescued_from_later":    rescueAppending,
	"NoLoss_a_job_that_somebody_is_sending_to_is_given_up_later": giveUpSending,
	"OneOwner_a_run_that_is_appending_is_given_up_later":         giveUpAppending,
}

// rescueSoon rescues until nothing is left, which must not take long.
func (e *txEnv) rescueSoon(dead ...store.NodeBeat) []store.RescuedJob {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Ctx, soon)
	defer cancel()
	var all []store.RescuedJob
	for range 100 {
		rescued, err := e.Store.Rescue(ctx, store.RescueParams{Dead: dead, Limit: 100})
		e.NoError("Rescue", err)
		if len(rescued.Jobs) == 0 {
			return all
		}
		all = append(all, rescued.Jobs...)
	}
	e.Fatal("Rescue finds something for ever")
	return nil
}

func rescueSending(e *txEnv) {
	e.needsWriters()
	leader := e.Join()
	e.both(func(tx store.Tx) {
		node := e.Join()
		e.Enqueue(e.Job(env.Queue("a")), e.Job(env.Queue("b")), e.Job(env.Queue("c")))
		runs := e.Claim(node, 3)
		e.sendTx(tx, runs[1].Job.ID)
		rescued := e.rescueSoon(e.LastBeat(node))
		e.WantSameIDs("rescued beside a job that is being sent to", env.RescuedIDs(rescued), runs[0].Job.ID, runs[2].Job.ID)
		e.WantState(runs[1].Job.ID, store.Running)
		e.WantLost(runs[0])
		_, err := e.Store.Claim(e.Ctx, e.Demand(node, 1))
		e.WantErr("Claim of a dead node", err, store.ErrNodeDead)
		if !e.Lead(leader).Work.Rescue {
			e.Fatal("a dead node still holds a job, and the leader is not told")
		}
	}, func(committed bool) {
		left := e.ListIDs(store.Filter{States: []store.State{store.Running}})
		rescued := e.rescueSoon()
		if len(left) != 1 || len(rescued) != 1 || rescued[0].Job != left[0] || rescued[0].State != store.Retryable {
			e.Fatalf("of the running %v were rescued: %+v", left, rescued)
		}
		messages := 0
		if committed {
			messages = 1
		}
		if n := len(e.Messages(left[0])); n != messages {
			e.Fatalf("it has %d messages", n)
		}
		e.Terminate(e.ListIDs(store.Filter{States: []store.State{store.Retryable}})...)
	})
}

// rescueAppending: the job of an append that is open is not taken, even if its node is declared
// dead; what is committed was written under a lease that was good.
func rescueAppending(e *txEnv) {
	e.needsWriters()
	var run store.Claimed
	var named store.NodeBeat
	e.both(func(tx store.Tx) {
		run = e.Started(env.Attempts(3))
		named = e.LastBeat(run.Lease.Node)
		e.Clock.Advance(time.Hour)
		e.appendTx(tx, run, env.Step(1))
		if rescued := e.rescueSoon(named); len(rescued) != 0 {
			e.Fatalf("rescued while it appends: %+v", rescued)
		}
		e.WantState(run.Job.ID, store.Running)
	}, func(committed bool) {
		entries, attempt := 0, 1
		if committed {
			entries, attempt = 1, 0 // the journal has grown
		}
		e.WantEntries(run.Job.ID, entries)
		rescued := e.rescueSoon(named)
		if len(rescued) != 1 || rescued[0].Job != run.Job.ID || rescued[0].State != store.Retryable {
			e.Fatalf("rescued: %+v", rescued)
		}
		if record := e.Get(run.Job.ID); record.Attempt != attempt {
			e.Fatalf("committed %v, and the attempt is %d", committed, record.Attempt)
		}
		e.WantLost(run)
		e.Terminate(run.Job.ID)
	})
}

// giveUpSoon gives runs up in one call, which must not take long.
func (e *txEnv) giveUpSoon(runs ...store.Claimed) []store.ID {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Ctx, soon)
	defer cancel()
	rescued, err := e.Store.Rescue(ctx, store.RescueParams{Lost: env.LeasesOf(runs)})
	e.NoError("Rescue of what is given up", err)
	return env.RescuedIDs(rescued.Jobs)
}

func giveUpSending(e *txEnv) {
	e.needsWriters()
	var runs []store.Claimed
	e.both(func(tx store.Tx) {
		e.Enqueue(e.Job(env.Queue("a")), e.Job(env.Queue("b")), e.Job(env.Queue("c")))
		runs = e.Claim(e.Join(), 3)
		e.sendTx(tx, runs[1].Job.ID)
		e.WantSameIDs("given up beside a job that is being sent to", e.giveUpSoon(runs...), runs[0].Job.ID, runs[2].Job.ID)
		e.WantState(runs[1].Job.ID, store.Running)
	}, func(committed bool) {
		e.WantSameIDs("given up at last", e.giveUpSoon(runs...), runs[1].Job.ID)
		if n := len(e.Messages(runs[1].Job.ID)); (n == 1) != committed {
			e.Fatalf("committed %v, and it has %d messages", committed, n)
		}
		e.Terminate(e.ListIDs(store.Filter{States: []store.State{store.Retryable}})...)
	})
}

// giveUpAppending: the run is still at work, so it is not given up before its transaction ends.
func giveUpAppending(e *txEnv) {
	e.needsWriters()
	var run store.Claimed
	e.both(func(tx store.Tx) {
		run = e.Started(env.Attempts(1))
		e.appendTx(tx, run, env.Step(1))
		if ids := e.giveUpSoon(run); len(ids) != 0 {
			e.Fatalf("given up while it appends: %v", ids)
		}
		e.WantState(run.Job.ID, store.Running)
	}, func(committed bool) {
		want := store.Failed
		if committed {
			want = store.Retryable // the journal has grown
		}
		e.WantSameIDs("given up at last", e.giveUpSoon(run), run.Job.ID)
		e.WantState(run.Job.ID, want)
		e.WantLost(run)
		e.Terminate(run.Job.ID)
	})
}
