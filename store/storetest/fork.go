package storetest

import (
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
)

var forkTests = []test{
	{"Remembered_a_fork_remembers_the_beginning", forkJournal},
	{"a_fork_takes_what_was_received_and_what_children_and_callbacks_sent", forkMessages},
	{"a_fork_is_a_job_of_its_own", forkBody},
	{"a_job_may_be_forked_in_every_state", forkStates},
	{"a_fork_that_is_repeated_does_nothing", forkRepeat},
	{"a_fork_that_cannot_be_is_refused", forkRefused},
	{"children_of_a_forked_job_stay_its_own", forkChildren},
	{"Remembered_a_fork_is_of_what_its_maker_has_read", forkNext},
}

// fork makes a job out of the beginning of another one, and returns its id.
func (e *env) fork(from store.ID, keep int64, change ...func(*store.Enqueue)) store.ID {
	e.Helper()
	q := e.job(change...)
	err := e.store.Fork(e.ctx, store.ForkParams{From: from, Keep: keep, Job: q.Job, Reason: "what if", Actor: "ada"})
	if err != nil {
		e.Fatalf("Fork: %v", err)
	}
	return q.Job.ID
}

func forkJournal(e *env) {
	run := e.started()
	e.write(&run, store.Entry{Seq: 1, Kind: store.EntryStep, Path: "1.2", Name: "charge", Data: []byte("\x00\xff"), Codec: 3})
	e.clock.Advance(time.Second)
	e.write(&run, entry(2, store.EntryPublished, "progress"), step(3), step(4))
	e.end(run, store.Completed)
	original := e.journal(run.Job.ID)
	record := e.get(run.Job.ID)
	e.clock.Advance(time.Minute)
	for _, c := range []struct{ keep, want int64 }{{0, 0}, {1, 1}, {3, 3}, {4, 4}, {99, 4}} {
		id := e.fork(run.Job.ID, c.keep)
		var want []store.Entry
		for _, entry := range original.Entries[:c.want] {
			entry.LeaseNumber = 0
			want = append(want, entry)
		}
		// Reading: when a copied entry was written is not promised.
		e.equal("journal of the fork", e.journal(id).Entries, want, cmpopts.IgnoreFields(store.Entry{}, "At"))
		if n := e.get(id).Journal; n != c.want {
			e.Fatalf("the record of the fork tells of %d entries", n)
		}
		next := e.claimOne(e.join(), id)
		if next.Durable != (c.want > 0) || next.Job.Attempt != 1 || next.Lease.Number != 1 {
			e.Fatalf("the run of the fork: %+v", next)
		}
		e.write(&next, step(c.want+1))
		e.wantEntries(id, int(c.want)+1)
		e.end(next, store.Completed)
	}
	e.equal("the journal that was forked", e.journal(run.Job.ID), original)
	e.equal("the job that was forked", e.get(run.Job.ID), record)
}

func forkMessages(e *env) {
	run := e.started()
	e.write(&run, entry(1, store.EntryCallback, "a"), entry(2, store.EntryCallback, "b"))
	child := e.bear(&run, 1)[0] // entry 3
	for i := range 4 {
		e.send(run.Job.ID, signal(fmt.Sprint("s", i+1))) // 1 to 4
	}
	e.send(run.Job.ID, callback(store.MessageCallback, "a"))       // 5
	e.send(run.Job.ID, signal("s6"))                               // 6
	e.send(run.Job.ID, callback(store.MessageCallbackFailed, "b")) // 7
	e.end(e.claimOne(e.join(), child), store.Completed)            // 8
	e.send(run.Job.ID, signal("s9"))                               // 9
	received := func(seq, ref int64) store.Entry {
		return store.Entry{Seq: seq, Kind: store.EntryReceived, Path: "1", Ref: ref}
	}
	e.write(&run, received(4, 2), received(5, 5), received(6, 6), received(7, 9))
	original := e.messages(run.Job.ID)
	for _, c := range []struct {
		keep int64
		want []int64
	}{
		{0, []int64{5, 7, 8}},
		{3, []int64{5, 7, 8}},
		{4, []int64{2, 5, 7, 8}},
		{5, []int64{2, 5, 7, 8}},
		{6, []int64{2, 5, 6, 7, 8}},
		{7, []int64{2, 5, 6, 7, 8, 9}},
	} {
		id := e.fork(run.Job.ID, c.keep)
		var want []store.Message
		for _, seq := range c.want {
			want = append(want, original[seq-1])
		}
		e.equal(fmt.Sprint("messages of a fork of ", c.keep), e.messages(id), want, cmpopts.IgnoreFields(store.Message{}, "At"))
		if n := e.get(id).Messages; n != int64(len(c.want)) {
			e.Fatalf("the record tells of %d messages, want %d", n, len(c.want))
		}
		// What comes then comes after them.
		last := c.want[len(c.want)-1]
		if result := e.send(id, signal("new")); result.Seq != last+1 || result.Duplicate {
			e.Fatalf("the first message to the fork: %+v", result)
		}
		// A callback of the old job has had its end in the new one.
		if c.keep > 0 {
			e.wantErr("a second end", e.trySend(id, callback(store.MessageCallback, "a"), "").Err, store.ErrConflict)
		}
	}
	e.equal("messages of the forked job", e.messages(run.Job.ID), original)
	// A fork that waits is woken by what is new to it.
	id := e.fork(run.Job.ID, 7)
	wait := forSignals()
	wait.Seen = 9
	if o := e.park(e.claimRuns(e.join())[id], wait); o.Final != store.Waiting {
		e.Fatalf("park: %v", o.Final)
	}
	if result := e.send(id, signal("s")); !result.Woken || result.Seq != 10 {
		e.Fatalf("send: %+v", result)
	}
}

func forkBody(e *env) {
	run := e.durable(2, queue("a"), attempts(7))
	if err := e.tryAppend(&store.Append{Lease: run.Lease, Entries: steps(3, 3), Closing: true}); err != nil {
		e.Fatalf("append: %v", err)
	}
	e.end(run, store.Failed, func(o *store.Outcome) { o.Version = "v1" })
	e.clock.Advance(time.Minute)
	id := e.fork(run.Job.ID, 2, queue("b"), kind("push"), priority(1), ordered("k"), func(q *store.Enqueue) {
		q.Job.Args, q.Job.Codec, q.Job.Tags = []byte("other"), 5, []string{"fork"}
	})
	record := e.get(id)
	if record.State != store.Available || record.Queue != "b" || record.Kind != "push" || record.Priority != 1 ||
		string(record.Args) != "other" || record.Codec != 5 || record.OrderingKey != "k" || record.Attempt != 0 || record.LeaseNumber != 0 ||
		record.Closing || record.Version != "" || record.Reason != "" || len(record.Attempts) != 0 || !record.CreatedAt.Equal(e.clock.Now()) ||
		record.MaxAttempts != 3 || record.Parent != (store.ID{}) {
		e.Fatalf("the fork: %+v", record)
	}
	e.equal("tags", record.Tags, []string{"fork"})
	// It may have its time, too.
	later := e.fork(run.Job.ID, 1, runAt(e.clock.Now().Add(time.Hour)))
	if record := e.get(later); record.State != store.Scheduled || !record.RunAt.Equal(e.clock.Now().Add(time.Hour)) {
		e.Fatalf("the fork: %+v", record)
	}
	e.claimOne(e.join(), id)
}

func forkStates(e *env) {
	node := e.join()
	fork := func(id store.ID, want int64) {
		e.Helper()
		before := e.get(id)
		forked := e.fork(id, 100)
		if n := e.get(forked).Journal; n != want {
			e.Fatalf("a fork of a job that is %v has %d entries", before.State, n)
		}
		e.equal("the forked job", e.get(id), before)
		e.terminate(forked)
	}
	fork(e.add(delay(time.Hour)), 0)
	run := e.claimOne(node, e.add())
	fork(run.Job.ID, 0)
	e.write(&run, steps(1, 2)...)
	fork(run.Job.ID, 2)
	e.end(run, store.Retryable)
	fork(run.Job.ID, 2)
	e.later(node, time.Minute)
	fork(run.Job.ID, 2)
	run = e.claimOne(node, run.Job.ID)
	e.park(run, forSignals())
	fork(run.Job.ID, 2)
	e.terminate(run.Job.ID)
	fork(run.Job.ID, 2)
}

func forkRepeat(e *env) {
	run := e.durable(3)
	q := e.job()
	params := store.ForkParams{From: run.Job.ID, Keep: 2, Job: q.Job, Reason: "what if", Actor: "ada"}
	if err := e.store.Fork(e.ctx, params); err != nil {
		e.Fatalf("Fork: %v", err)
	}
	next := e.claimOne(e.join(), q.Job.ID)
	e.write(&next, step(3))
	before, journal := e.get(q.Job.ID), e.journal(q.Job.ID)
	e.write(&run, step(4))
	for _, keep := range []int64{2, 4} {
		params.Keep = keep
		if err := e.store.Fork(e.ctx, params); err != nil {
			e.Fatalf("repeated Fork: %v", err)
		}
		e.equal("the fork", e.get(q.Job.ID), before)
		e.equal("its journal", e.journal(q.Job.ID), journal)
	}
}

func forkRefused(e *env) {
	run := e.durable(1)
	jobs := len(e.listIDs(store.Filter{}))
	err := e.store.Fork(e.ctx, store.ForkParams{From: e.ids.next(), Keep: 1, Job: e.job().Job})
	e.wantErr("fork of an unknown job", err, store.ErrNotFound)
	err = e.store.Fork(e.ctx, store.ForkParams{From: run.Job.ID, Keep: 1, Job: e.job(unique("k")).Job})
	e.wantErr("fork with a unique key", err, store.ErrInvalid)
	if n := len(e.listIDs(store.Filter{})); n != jobs {
		e.Fatalf("%d jobs became %d", jobs, n)
	}
}

func forkChildren(e *env) {
	run := e.durable(1)
	ids := e.bear(&run, 2)
	forked := e.fork(run.Job.ID, 100, delay(0), runAt(e.clock.Now().Add(time.Hour)))
	e.wantSameIDs("children", e.listIDs(store.Filter{Parent: run.Job.ID}), ids...)
	e.wantSameIDs("children of the fork", e.listIDs(store.Filter{Parent: forked}))
	node := e.join()
	e.end(e.claimRuns(node)[ids[0]], store.Completed)
	if n, m := len(e.answers(run.Job.ID)), len(e.messages(forked)); n != 1 || m != 0 {
		e.Fatalf("%d answers to the old job, %d messages to the new one", n, m)
	}
	e.terminate(forked)
	if closed := e.closeOnce(10); len(closed.Ended)+len(closed.Running) != 0 {
		e.Fatalf("closed: %+v", closed)
	}
}

// forkNext: between the look at a journal and the fork its end may have been taken away and written anew, or all of it.
func forkNext(e *env) {
	for name, meanwhile := range map[string]func(run *store.Claimed) (same bool){
		"nothing":               func(*store.Claimed) bool { return true },
		"it goes on":            func(run *store.Claimed) bool { e.write(run, step(5)); return true },
		"it is cut":             func(run *store.Claimed) bool { e.cutAt(run, 1); return false },
		"its next goes":         func(run *store.Claimed) bool { e.cutAt(run, 2); return false },
		"it is cut behind that": func(run *store.Claimed) bool { e.cutAt(run, 3); return true },
		"it is cut and written anew": func(run *store.Claimed) bool {
			e.cutAt(run, 1)
			e.write(run, steps(2, 4)...)
			return false
		},
		"it continues as new": func(run *store.Claimed) bool {
			e.end(*run, store.Available, anew("x"))
			*run = e.claimOne(e.join(), run.Job.ID)
			e.write(run, steps(6, 9)...)
			return false
		},
	} {
		for _, keep := range []int64{2, 0} {
			run := e.durable(4)
			next := e.journal(run.Job.ID).Entries[keep]
			same := meanwhile(&run)
			if keep == 0 { // of the first entry nobody has written another but who began anew
				same = name != "it continues as new"
			}
			q := e.job(kind("fork"))
			params := store.ForkParams{From: run.Job.ID, Keep: keep, Next: &next, Job: q.Job}
			err := e.store.Fork(e.ctx, params)
			if same {
				if err != nil {
					e.Fatalf("%s: a fork that keeps %d: %v", name, keep, err)
				}
				e.wantEntries(q.Job.ID, int(keep))
			} else {
				e.wantErr(name, err, store.ErrConflict)
				_, err := e.store.Get(e.ctx, q.Job.ID)
				e.wantErr("the fork that was not made", err, store.ErrNotFound)
			}
			e.end(run, store.Completed)
		}
	}
	// Of a fork, whose first entries no run has written.
	run := e.durable(3)
	first := e.fork(run.Job.ID, 3)
	next := e.journal(first).Entries[2]
	q := e.job()
	if err := e.store.Fork(e.ctx, store.ForkParams{From: first, Keep: 2, Next: &next, Job: q.Job}); err != nil {
		e.Fatalf("a fork of a fork: %v", err)
	}
	e.wantEntries(q.Job.ID, 2)
}

// cutAt lets a job fail and be resumed with so many entries.
func (e *env) cutAt(run *store.Claimed, keep int64) {
	e.Helper()
	e.end(*run, store.Failed)
	params := resumption(run.Job.ID)
	params.Keep = keep
	e.resume(params, store.Available)
	*run = e.claimOne(e.join(), run.Job.ID)
}
