package tx

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// A batch waits for no transaction of a caller: an operation that would have to is ErrBusy, and the
// others go through.
var busyTests = tests{
	"a_send_that_is_open_holds_up_what_needs_its_job_and_nothing_else":     busySend,
	"a_send_that_is_open_holds_up_the_answer_to_a_parent_that_waits":       busyAnswer,
	"a_unique_key_that_is_being_taken_holds_up_enqueues_of_that_key_alone": busyKey,
	"an_id_that_is_being_inserted_holds_up_enqueues_of_that_id_alone":      busyID,
	"EveryDueThingHappens_a_child_is_closed_once_nobody_sends_to_it":       busyChild,
	"OneOwner_an_append_that_is_open_keeps_its_run_from_ending":            busyAppend,
}

// bystanders are operations of every kind that need nothing of what a test's transaction holds.
type bystanders struct {
	env   *txEnv
	node  int64
	round int
}

func (e *txEnv) bystanders() *bystanders {
	e.Helper()
	return &bystanders{env: e, node: e.Join()}
}

// join adds some of them to a batch, and returns what checks that they have happened.
func (b *bystanders) join(batch *store.Batch) (check func()) {
	e := b.env
	e.Helper()
	b.round++
	running := func(change ...func(*store.Enqueue)) store.Claimed {
		e.Helper()
		return e.ClaimOne(b.node, e.Add(append([]func(*store.Enqueue){env.Attempts(9)}, change...)...))
	}
	sleeper, parent := running(), running(env.Queue("parents"))
	e.Write(&sleeper, env.Step(1))
	e.Park(sleeper, env.ForSignals())
	child := e.ClaimOne(b.node, e.Bear(&parent, 1)[0])
	e.Park(parent, env.ForSignals(store.MessageChild))
	saved, closing, parked := running(), running(), running()
	send := &store.Send{Job: sleeper.Job.ID, Message: env.Signal("s")}
	appended := &store.Append{
		Lease: closing.Lease, Entries: env.Steps(1, 2), Closing: true, Enqueues: []*store.Enqueue{e.Child(closing.Job.ID)},
	}
	checkpoint := &store.CheckpointWrite{Lease: saved.Lease, Checkpoint: store.Checkpoint{Percent: 50}}
	outcomes := []*store.Outcome{env.Outcome(child, store.Completed)}
	for _, state := range env.EndStates {
		outcomes = append(outcomes, env.Outcome(running(env.Unique(fmt.Sprint(state, b.round))), state))
	}
	e.Write(&parked, env.Step(1))
	outcomes = append(outcomes, env.Outcome(parked, store.Waiting, func(o *store.Outcome) { o.Wait = env.ForSignals() }))
	enqueues := []*store.Enqueue{
		e.Job(), e.Job(env.Ordered("by")), e.Job(env.Unique(fmt.Sprint("by", b.round)), env.OnConflict(store.Reject)),
		e.Job(func(q *store.Enqueue) { q.KnownID = true }), e.Job(env.Delay(time.Hour)),
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
			e.WantState(o.Lease.Job, o.State)
		}
		for _, q := range enqueues {
			if q.Err != nil || q.Result.ID != q.Job.ID || q.Result.Existing {
				e.Fatalf("an enqueue beside it: %+v, %v", q.Result, q.Err)
			}
		}
		e.WantState(parent.Job.ID, store.Available)
		if n := len(e.Answers(parent.Job.ID)); n != 1 {
			e.Fatalf("a parent beside it has %d answers", n)
		}
		waiting := store.Filter{States: []store.State{store.Available, store.Retryable, store.Waiting}}
		for _, record := range e.List(waiting, 100) { // out of the way of what comes next
			if record.Queue != heldQueue {
				e.Terminate(record.ID)
			}
		}
	}
}

// heldQueue is that of the jobs which a test's transaction holds.
const heldQueue = "held"

func wantBusy(e *txEnv, what string, err error) {
	e.Helper()
	e.WantErr(what, err, store.ErrBusy)
	e.WantErr(what, err, store.ErrUnavailable)
}

// busySend: a run whose job a caller's transaction sends to goes on; it cannot be put back, nor
// told of the end of a child, nor decide its end.
func busySend(e *txEnv) {
	e.needsWriters()
	by := e.bystanders()
	for i, state := range []store.State{store.Waiting, store.Retryable, store.Scheduled, store.Available} {
		for _, commit := range []bool{true, false} {
			run := e.ClaimOne(by.node, e.Add(env.Queue(heldQueue), env.Attempts(9)))
			child := e.ClaimOne(by.node, e.Bear(&run, 1, env.Queue(heldQueue))[0])
			s := sentTo{
				run: run.Job.ID, state: state, commit: commit,
				sends:   []*store.Send{{Job: run.Job.ID, Message: env.Signal("a"), Key: "a"}, {Job: run.Job.ID, Message: env.Signal("b")}},
				closing: &store.Append{Lease: run.Lease, Entries: env.Steps(4, 4), Closing: true},
				put:     env.Outcome(run, state, func(o *store.Outcome) { o.Durable = true }),
				answer:  env.Outcome(child, []store.State{store.Completed, store.Failed}[i%2]),
			}
			if state == store.Waiting {
				s.put.Wait = env.ForSignals()
			}
			batch := &store.Batch{}
			check := by.join(batch)

			tx := e.begin(e.T)
			e.sendTx(tx.Tx, run.Job.ID)
			goesOn := &store.Append{Lease: run.Lease, Entries: env.Steps(2, 3)}
			progress := &store.CheckpointWrite{Lease: run.Lease, Checkpoint: store.Checkpoint{Percent: 10}}
			batch.Checkpoints = append(batch.Checkpoints, progress)
			batch.Appends = append([]*store.Append{goesOn, s.closing}, batch.Appends...)
			batch.Sends = append(s.sends, batch.Sends...)
			batch.Outcomes = append([]*store.Outcome{s.put, s.answer}, batch.Outcomes...)
			e.applySoon(batch)
			for what, err := range map[string]error{
				"a send to it": s.sends[0].Err, "another send to it": s.sends[1].Err, "an append that closes it": s.closing.Err,
				"its end as " + state.String(): s.put.Err, "the end of its child": s.answer.Err,
			} {
				wantBusy(e, what, err)
			}
			if goesOn.Err != nil || progress.Err != nil {
				e.Fatalf("the run goes on: %v, %v", goesOn.Err, progress.Err)
			}
			e.WantState(run.Job.ID, store.Running)
			e.WantState(child.Job.ID, store.Running)
			if journal := e.Journal(run.Job.ID); len(journal.Entries) != 3 || len(journal.Messages) != 0 || e.Get(run.Job.ID).Closing {
				e.Fatalf("nothing of what was held up has happened: %+v", journal)
			}
			check()

			e.finish(tx, commit)
			s.repeat(e)
			e.Terminate(run.Job.ID)
		}
	}
}

// sentTo is a run that a transaction was sending to, and what was held up by that.
type sentTo struct {
	run         store.ID
	state       store.State // in which it was to end
	commit      bool        // the message has come
	sends       []*store.Send
	closing     *store.Append
	put, answer *store.Outcome // its own, and that of its child
}

// repeat repeats what was held up, which now happens.
func (s *sentTo) repeat(e *txEnv) {
	e.Helper()
	closing, answer, put, sends := s.closing, s.answer, s.put, s.sends
	e.applySoon(&store.Batch{Appends: []*store.Append{closing}, Outcomes: []*store.Outcome{answer}})
	if closing.Err != nil || answer.Err != nil || answer.Final != answer.State || !e.Get(s.run).Closing {
		e.Fatalf("repeated: append %v, the end of the child %v, %v", closing.Err, answer.Final, answer.Err)
	}
	put.Repeat = !s.commit // whether or not the caller says so: nothing of it had happened
	e.applySoon(&store.Batch{Outcomes: []*store.Outcome{put}})
	final, messages := s.state, 1
	if s.commit {
		messages = 2
		if s.state == store.Waiting {
			final = store.Available // for the message has come
		}
	}
	if put.Err != nil || put.Final != final {
		e.Fatalf("repeated: %v became %v, %v; want %v", s.state, put.Final, put.Err, final)
	}
	e.applySoon(&store.Batch{Sends: sends})
	if sends[0].Err != nil || sends[1].Err != nil || sends[0].Result.Seq != int64(messages+1) || sends[1].Result.Seq != int64(messages+2) {
		e.Fatalf("repeated sends: %+v, %v, %+v, %v", sends[0].Result, sends[0].Err, sends[1].Result, sends[1].Err)
	}
}

// busyAnswer: the parent waits, and its child ends while a transaction sends to it.
func busyAnswer(e *txEnv) {
	e.needsWriters()
	by := e.bystanders()
	for _, commit := range []bool{true, false} {
		parent := e.ClaimOne(by.node, e.Add(env.Queue(heldQueue), env.Attempts(9)))
		ids := e.Bear(&parent, 2, env.Queue(heldQueue))
		runs := e.Claim(by.node, 2)
		e.Park(parent, &store.Wait{Count: 2})
		batch := &store.Batch{}
		check := by.join(batch)
		tx := e.begin(e.T)
		e.sendTx(tx.Tx, parent.Job.ID)
		// One goes on later, which tells the parent nothing, unless a request or its deadline ends
		// it instead: it may have to wait, too.
		ends := []*store.Outcome{env.Outcome(runs[0], store.Completed), env.Outcome(runs[1], store.Retryable)}
		batch.Outcomes = append(batch.Outcomes, ends...)
		e.applySoon(batch)
		wantBusy(e, "the end of a child", ends[0].Err)
		if err := ends[1].Err; err != nil && !errors.Is(err, store.ErrBusy) || err == nil && ends[1].Final != store.Retryable {
			e.Fatalf("a child that goes on: %v, %v", ends[1].Final, err)
		}
		e.WantState(ids[0], store.Running)
		e.WantState(parent.Job.ID, store.Waiting)
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
		if ends[0].Err != nil || ends[0].Final != store.Completed || env.Wakes(again, heldQueue) != commit {
			e.Fatalf("repeated: %v, %v, and the batch tells of %+v", ends[0].Final, ends[0].Err, again.Woken)
		}
		e.WantState(parent.Job.ID, want)
		e.Terminate(append(ids, parent.Job.ID)...)
	}
}

// busyChild: a transaction sends to children when they are to be closed.
func busyChild(e *txEnv) {
	e.needsWriters()
	node := e.Join()
	for _, commit := range []bool{true, false} {
		for _, limit := range []int{1, 2, 100} {
			run := e.ClaimOne(node, e.Add())
			var ids []store.ID
			for _, policy := range []store.ClosePolicy{store.TerminateChild, store.CancelChild} {
				ids = append(ids, e.Bear(&run, 2, env.Delay(time.Hour), env.OnParentClose(policy))...)
			}
			tx := e.begin(e.T)
			e.sendTx(tx.Tx, ids[0])
			e.sendTx(tx.Tx, ids[2])
			e.End(run, store.Completed, env.WithChildren)
			e.CloseOnce(limit) // which does not wait, and may leave them alone
			e.finish(tx, commit && !e.Get(ids[0]).State.Finished() && !e.Get(ids[2]).State.Finished())
			for range 2 * len(ids) { // as often as a leader that beats
				e.CloseOnce(limit)
				e.Sweep()
			}
			for _, id := range ids {
				e.WantState(id, store.Cancelled)
			}
		}
	}
}

func busyKey(e *txEnv) {
	e.needsWriters()
	by := e.bystanders()
	for _, commit := range []bool{true, false} {
		key := fmt.Sprint("held", commit)
		first := e.Job(env.Unique(key), env.Queue(heldQueue))
		existing := e.Job(env.Unique(key), env.Queue(heldQueue))
		rejected := e.Job(env.Unique(key), env.Queue(heldQueue), env.OnConflict(store.Reject))
		replacing := e.Job(env.Unique(key), env.Queue(heldQueue), env.OnConflict(store.Replace),
			func(q *store.Enqueue) { q.Job.Args = []byte("new") })
		held := []*store.Enqueue{existing, rejected, replacing}
		batch := &store.Batch{}
		check := by.join(batch)
		tx := e.begin(e.T)
		e.enqueueTx(tx.Tx, first)
		batch.Enqueues = append(append([]*store.Enqueue{}, held...), batch.Enqueues...)
		e.applySoon(batch)
		for i, q := range held {
			wantBusy(e, fmt.Sprint("enqueue ", i, " of a key that is being taken"), q.Err)
			e.WantUnknown(q.Job.ID)
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
		e.WantErr("repeated", rejected.Err, store.ErrConflict)
		if replacing.Err != nil || !replacing.Result.Replaced || string(e.Get(holder).Args) != "new" {
			e.Fatalf("repeated: %+v, %v", replacing.Result, replacing.Err)
		}
		e.Terminate(holder)
	}
}

func busyID(e *txEnv) {
	e.needsWriters()
	by := e.bystanders()
	for _, commit := range []bool{true, false} {
		first := e.Job(env.Queue(heldQueue), func(q *store.Enqueue) { q.KnownID = true })
		same := *first
		batch := &store.Batch{}
		check := by.join(batch)
		tx := e.begin(e.T)
		e.enqueueTx(tx.Tx, first)
		batch.Enqueues = append(batch.Enqueues, &same)
		e.applySoon(batch)
		wantBusy(e, "an enqueue of an id that is being inserted", same.Err)
		e.WantUnknown(same.Job.ID)
		check()
		e.finish(tx, commit)
		e.applySoon(&store.Batch{Enqueues: []*store.Enqueue{&same}})
		if same.Err != nil || same.Result.ID != first.Job.ID || same.Result.Existing != commit {
			e.Fatalf("repeated: %+v, %v", same.Result, same.Err)
		}
		e.WantState(same.Job.ID, store.Available)
		e.Terminate(same.Job.ID)
	}
}

// busyAppend: the fence holds until the transaction ends. Other runs of the node go on.
func busyAppend(e *txEnv) {
	e.needsWriters()
	by := e.bystanders()
	for _, state := range append(slices.Clip(env.EndStates), store.Waiting) {
		for _, commit := range []bool{true, false} {
			run := e.ClaimOne(by.node, e.Add(env.Queue(heldQueue), env.Attempts(9)))
			e.Write(&run, env.Step(1))
			batch := &store.Batch{}
			check := by.join(batch)
			tx := e.begin(e.T)
			e.appendTx(tx.Tx, run, env.Step(2))
			put := env.Outcome(run, state, func(o *store.Outcome) { o.InTx = true })
			if state == store.Waiting {
				put.Wait = env.ForSignals()
			}
			batch.Outcomes = append(batch.Outcomes, put)
			e.applySoon(batch)
			wantBusy(e, "its end as "+state.String(), put.Err)
			e.WantState(run.Job.ID, store.Running)
			e.WantEntries(run.Job.ID, 1)
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
			e.WantEntries(run.Job.ID, entries)
			if !state.Finished() {
				e.Terminate(run.Job.ID)
			}
		}
	}
}
