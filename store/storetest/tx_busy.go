package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Nothing in a batch waits for a transaction of a caller: what would have to is ErrBusy, and all
// the rest goes through.
var busyTests = []txTest{
	{"a_send_that_is_open_holds_up_what_needs_its_job_and_nothing_else", busySend},
	{"a_send_that_is_open_holds_up_the_answer_to_a_parent_that_waits", busyAnswer},
	{"a_unique_key_that_is_being_taken_holds_up_enqueues_of_that_key_alone", busyKey},
	{"an_id_that_is_being_inserted_holds_up_enqueues_of_that_id_alone", busyID},
	{"EveryDueThingHappens_a_child_is_closed_once_nobody_sends_to_it", busyChild},
	{"OneOwner_an_append_that_is_open_keeps_its_run_from_ending", busyAppend},
}

// needsWriters skips what is about stores in which one writer does not keep all others waiting.
func (e *txEnv) needsWriters() {
	e.Helper()
	if e.store.Traits().Writers <= 1 {
		e.Skip("there is one writer, for whom all wait")
	}
}

// applySoon commits a batch, which must not take long.
func (e *txEnv) applySoon(batch *store.Batch) {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.ctx, soon)
	defer cancel()
	if err := e.store.Apply(ctx, batch); err != nil {
		e.Fatalf("Apply: %v", err)
	}
}

// bystanders are operations of every kind that need nothing of what a test's transaction holds.
type bystanders struct {
	env   *txEnv
	node  int64
	round int
}

func (e *txEnv) bystanders() *bystanders {
	e.Helper()
	return &bystanders{env: e, node: e.join()}
}

// join adds some of them to a batch, and returns what checks that they have happened.
func (b *bystanders) join(batch *store.Batch) (check func()) {
	e := b.env
	e.Helper()
	b.round++
	running := func(change ...func(*store.Enqueue)) store.Claimed {
		e.Helper()
		return e.claimOne(b.node, e.add(append([]func(*store.Enqueue){attempts(9)}, change...)...))
	}
	sleeper, parent := running(), running(queue("parents"))
	e.write(&sleeper, step(1))
	e.park(sleeper, forSignals())
	child := e.claimOne(b.node, e.bear(&parent, 1)[0])
	e.park(parent, forSignals(store.MessageChild))
	saved, closing := running(), running()
	send := &store.Send{Job: sleeper.Job.ID, Message: signal("s")}
	appended := &store.Append{Lease: closing.Lease, Entries: steps(1, 2), Closing: true, Enqueues: []*store.Enqueue{e.child(closing.Job.ID)}}
	checkpoint := &store.CheckpointWrite{Lease: saved.Lease, Checkpoint: store.Checkpoint{Percent: 50}}
	outcomes := []*store.Outcome{outcome(child, store.Completed)}
	for _, state := range endStates {
		outcomes = append(outcomes, outcome(running(unique(fmt.Sprint(state, b.round))), state))
	}
	parked := running()
	e.write(&parked, step(1))
	outcomes = append(outcomes, outcome(parked, store.Waiting, func(o *store.Outcome) { o.Wait = forSignals() }))
	enqueues := []*store.Enqueue{
		e.job(), e.job(ordered("by")), e.job(unique(fmt.Sprint("by", b.round)), onConflict(store.Reject)),
		e.job(func(q *store.Enqueue) { q.KnownID = true }), e.job(delay(time.Hour)),
	}
	batch.Checkpoints, batch.Appends = append(batch.Checkpoints, checkpoint), append(batch.Appends, appended)
	batch.Sends, batch.Outcomes = append(batch.Sends, send), append(batch.Outcomes, outcomes...)
	batch.Enqueues = append(batch.Enqueues, enqueues...)
	return func() {
		e.Helper()
		if checkpoint.Err != nil || appended.Err != nil || send.Err != nil || !send.Result.Woken {
			e.Fatalf("bystanders: checkpoint %v, append %v, send %v, %+v", checkpoint.Err, appended.Err, send.Err, send.Result)
		}
		for _, o := range outcomes {
			if o.Err != nil || o.Final != o.State {
				e.Fatalf("a bystander that is %v: %v, %v", o.State, o.Final, o.Err)
			}
			e.wantState(o.Lease.Job, o.State)
		}
		for i, q := range enqueues {
			if q.Err != nil || q.Result.ID != q.Job.ID || q.Result.Existing {
				e.Fatalf("enqueue %d beside it: %+v, %v", i, q.Result, q.Err)
			}
		}
		e.wantState(parent.Job.ID, store.Available)
		if n := len(e.answers(parent.Job.ID)); n != 1 {
			e.Fatalf("a parent beside it has %d answers", n)
		}
		for _, record := range e.list(store.Filter{}, 100) { // out of the way of what comes next
			if record.State == store.Available || record.State == store.Retryable || record.State == store.Waiting {
				if record.Queue != heldQueue {
					e.terminate(record.ID)
				}
			}
		}
	}
}

// heldQueue is that of the jobs which a test's transaction holds.
const heldQueue = "held"

func wantBusy(e *txEnv, what string, err error) {
	e.Helper()
	e.wantErr(what, err, store.ErrBusy)
	e.wantErr(what, err, store.ErrUnavailable)
}

// busySend: a run whose job somebody is sending to goes on; it cannot be put back, nor told of the
// end of a child, nor decide its end.
func busySend(e *txEnv) {
	e.needsWriters()
	by := e.bystanders()
	for i, state := range []store.State{store.Waiting, store.Retryable, store.Scheduled, store.Available} {
		for _, commit := range []bool{true, false} {
			run := e.claimOne(by.node, e.add(queue(heldQueue), attempts(9)))
			child := e.claimOne(by.node, e.bear(&run, 1, queue(heldQueue))[0])
			batch := &store.Batch{}
			check := by.join(batch)

			tx := e.begin(e.T)
			e.sendTx(tx.Tx, run.Job.ID)
			sends := []*store.Send{{Job: run.Job.ID, Message: signal("a"), Key: "a"}, {Job: run.Job.ID, Message: signal("b")}}
			goesOn := &store.Append{Lease: run.Lease, Entries: steps(2, 3)}
			progress := &store.CheckpointWrite{Lease: run.Lease, Checkpoint: store.Checkpoint{Percent: 10}}
			closing := &store.Append{Lease: run.Lease, Entries: steps(4, 4), Closing: true}
			put := outcome(run, state, func(o *store.Outcome) { o.Durable = true })
			if state == store.Waiting {
				put.Wait = forSignals()
			}
			answer := outcome(child, []store.State{store.Completed, store.Failed}[i%2])
			batch.Checkpoints = append(batch.Checkpoints, progress)
			batch.Appends = append([]*store.Append{goesOn, closing}, batch.Appends...)
			batch.Sends = append(sends, batch.Sends...)
			batch.Outcomes = append([]*store.Outcome{put, answer}, batch.Outcomes...)
			e.applySoon(batch)
			for what, err := range map[string]error{
				"a send to it": sends[0].Err, "another send to it": sends[1].Err, "an append that closes it": closing.Err,
				"its end as " + state.String(): put.Err, "the end of its child": answer.Err,
			} {
				wantBusy(e, what, err)
			}
			if goesOn.Err != nil || progress.Err != nil {
				e.Fatalf("the run goes on: %v, %v", goesOn.Err, progress.Err)
			}
			e.wantState(run.Job.ID, store.Running)
			e.wantState(child.Job.ID, store.Running)
			if journal := e.journal(run.Job.ID); len(journal.Entries) != 3 || len(journal.Messages) != 0 || e.get(run.Job.ID).Closing {
				e.Fatalf("nothing of what was held up has happened: %+v", journal)
			}
			check()

			e.finish(tx, commit)
			again := &store.Batch{Appends: []*store.Append{closing}, Outcomes: []*store.Outcome{answer}}
			e.applySoon(again)
			if closing.Err != nil || answer.Err != nil || answer.Final != answer.State || !e.get(run.Job.ID).Closing {
				e.Fatalf("repeated: append %v, the end of the child %v, %v", closing.Err, answer.Final, answer.Err)
			}
			put.Repeat = !commit // whether or not the caller says so: nothing of it had happened
			e.applySoon(&store.Batch{Outcomes: []*store.Outcome{put}})
			final, messages := state, 1
			if commit {
				messages = 2
				if state == store.Waiting {
					final = store.Available // for the message has come
				}
			}
			if put.Err != nil || put.Final != final {
				e.Fatalf("repeated: %v became %v, %v; want %v", state, put.Final, put.Err, final)
			}
			e.applySoon(&store.Batch{Sends: sends})
			if sends[0].Err != nil || sends[1].Err != nil || sends[0].Result.Seq != int64(messages+1) || sends[1].Result.Seq != int64(messages+2) {
				e.Fatalf("repeated sends: %+v, %v, %+v, %v", sends[0].Result, sends[0].Err, sends[1].Result, sends[1].Err)
			}
			e.terminate(run.Job.ID)
		}
	}
}

// finish ends a transaction.
func (e *txEnv) finish(tx Tx, commit bool) {
	e.Helper()
	end := tx.Rollback
	if commit {
		end = tx.Commit
	}
	if err := end(); err != nil {
		e.Fatal(err)
	}
}

// busyAnswer: the parent is parked.
func busyAnswer(e *txEnv) {
	e.needsWriters()
	by := e.bystanders()
	for _, commit := range []bool{true, false} {
		parent := e.claimOne(by.node, e.add(queue(heldQueue), attempts(9)))
		ids := e.bear(&parent, 2, queue(heldQueue))
		runs := e.claim(by.node, 2)
		e.park(parent, &store.Wait{Count: 2})
		batch := &store.Batch{}
		check := by.join(batch)
		tx := e.begin(e.T)
		e.sendTx(tx.Tx, parent.Job.ID)
		// One goes on later, which tells the parent nothing, unless a request or its deadline ends it instead: it may have to wait, too.
		ends := []*store.Outcome{outcome(runs[0], store.Completed), outcome(runs[1], store.Retryable)}
		batch.Outcomes = append(batch.Outcomes, ends...)
		e.applySoon(batch)
		wantBusy(e, "the end of a child", ends[0].Err)
		if err := ends[1].Err; err != nil && !errors.Is(err, store.ErrBusy) || err == nil && ends[1].Final != store.Retryable {
			e.Fatalf("a child that goes on: %v, %v", ends[1].Final, err)
		}
		e.wantState(ids[0], store.Running)
		e.wantState(parent.Job.ID, store.Waiting)
		check()
		e.finish(tx, commit)
		again := &store.Batch{Outcomes: ends[:1]}
		if ends[1].Err != nil {
			again.Outcomes = ends
		}
		e.applySoon(again)
		if ends[1].Err != nil || ends[1].Final != store.Retryable {
			e.Fatalf("repeated: a child that goes on: %v, %v", ends[1].Final, ends[1].Err)
		}
		want := store.Waiting
		if commit {
			want = store.Available // the message and the answer are two
		}
		if ends[0].Err != nil || ends[0].Final != store.Completed || wakes(again, heldQueue) != commit {
			e.Fatalf("repeated: %v, %v, and the batch tells of %+v", ends[0].Final, ends[0].Err, again.Woken)
		}
		e.wantState(parent.Job.ID, want)
		e.terminate(append(ids, parent.Job.ID)...)
	}
}

// busyChild: somebody is sending to children when they are to be closed.
func busyChild(e *txEnv) {
	e.needsWriters()
	node := e.join()
	for _, commit := range []bool{true, false} {
		for _, limit := range []int{1, 2, 100} {
			run := e.claimOne(node, e.add())
			var ids []store.ID
			for _, policy := range []store.ClosePolicy{store.TerminateChild, store.CancelChild} {
				ids = append(ids, e.bear(&run, 2, delay(time.Hour), onParentClose(policy))...)
			}
			tx := e.begin(e.T)
			e.sendTx(tx.Tx, ids[0])
			e.sendTx(tx.Tx, ids[2])
			e.end(run, store.Completed, withChildren)
			e.closeOnce(limit) // which waits for nobody, and may leave them alone
			e.finish(tx, commit && !e.get(ids[0]).State.Finished() && !e.get(ids[2]).State.Finished())
			for range 2 * len(ids) { // as often as a leader that beats
				e.closeOnce(limit)
				e.sweep()
			}
			for _, id := range ids {
				e.wantState(id, store.Cancelled)
			}
		}
	}
}

func busyKey(e *txEnv) {
	e.needsWriters()
	by := e.bystanders()
	for _, commit := range []bool{true, false} {
		key := fmt.Sprint("held", commit)
		first := e.job(unique(key), queue(heldQueue))
		existing, rejected := e.job(unique(key), queue(heldQueue)), e.job(unique(key), queue(heldQueue), onConflict(store.Reject))
		replacing := e.job(unique(key), queue(heldQueue), onConflict(store.Replace), func(q *store.Enqueue) { q.Job.Args = []byte("new") })
		held := []*store.Enqueue{existing, rejected, replacing}
		batch := &store.Batch{}
		check := by.join(batch)
		tx := e.begin(e.T)
		e.enqueueTx(tx.Tx, first)
		batch.Enqueues = append(append([]*store.Enqueue{}, held...), batch.Enqueues...)
		e.applySoon(batch)
		for i, q := range held {
			wantBusy(e, fmt.Sprint("enqueue ", i, " of a key that is being taken"), q.Err)
			e.wantUnknown(q.Job.ID)
		}
		check()
		e.finish(tx, commit)
		e.applySoon(&store.Batch{Enqueues: held})
		holder := existing.Job.ID
		if commit {
			holder = first.Job.ID
		}
		if existing.Err != nil || existing.Result.ID != holder || existing.Result.Existing != commit {
			e.Fatalf("repeated: %+v, %v; want %v", existing.Result, existing.Err, holder)
		}
		e.wantErr("repeated", rejected.Err, store.ErrConflict)
		if replacing.Err != nil || !replacing.Result.Replaced || string(e.get(holder).Args) != "new" {
			e.Fatalf("repeated: %+v, %v", replacing.Result, replacing.Err)
		}
		e.terminate(holder)
	}
}

func busyID(e *txEnv) {
	e.needsWriters()
	by := e.bystanders()
	for _, commit := range []bool{true, false} {
		first := e.job(queue(heldQueue), func(q *store.Enqueue) { q.KnownID = true })
		same := *first
		batch := &store.Batch{}
		check := by.join(batch)
		tx := e.begin(e.T)
		e.enqueueTx(tx.Tx, first)
		batch.Enqueues = append(batch.Enqueues, &same)
		e.applySoon(batch)
		wantBusy(e, "an enqueue of an id that is being inserted", same.Err)
		e.wantUnknown(same.Job.ID)
		check()
		e.finish(tx, commit)
		e.applySoon(&store.Batch{Enqueues: []*store.Enqueue{&same}})
		if same.Err != nil || same.Result.ID != first.Job.ID || same.Result.Existing != commit {
			e.Fatalf("repeated: %+v, %v", same.Result, same.Err)
		}
		e.wantState(same.Job.ID, store.Available)
		e.terminate(same.Job.ID)
	}
}

// busyAppend: the fence holds until the transaction ends. Other runs of the node go on.
func busyAppend(e *txEnv) {
	e.needsWriters()
	by := e.bystanders()
	for _, state := range append(slices.Clip(endStates), store.Waiting) {
		for _, commit := range []bool{true, false} {
			run := e.claimOne(by.node, e.add(queue(heldQueue), attempts(9)))
			e.write(&run, step(1))
			batch := &store.Batch{}
			check := by.join(batch)
			tx := e.begin(e.T)
			e.appendTx(tx.Tx, run, step(2))
			put := outcome(run, state, func(o *store.Outcome) { o.InTx = true })
			if state == store.Waiting {
				put.Wait = forSignals()
			}
			batch.Outcomes = append(batch.Outcomes, put)
			e.applySoon(batch)
			wantBusy(e, "its end as "+state.String(), put.Err)
			e.wantState(run.Job.ID, store.Running)
			e.wantEntries(run.Job.ID, 1)
			check()
			e.finish(tx, commit)
			e.applySoon(&store.Batch{Outcomes: []*store.Outcome{put}})
			if put.Err != nil || put.Final != state {
				e.Fatalf("repeated: %v became %v, %v", state, put.Final, put.Err)
			}
			entries := 1
			if commit {
				entries = 2
			}
			e.wantEntries(run.Job.ID, entries)
			if !state.Finished() {
				e.terminate(run.Job.ID)
			}
		}
	}
}
