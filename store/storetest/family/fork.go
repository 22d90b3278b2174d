package family

import (
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var forkTests = env.Tests{
	"Remembered_a_fork_remembers_the_beginning":                           forkJournal,
	"a_fork_takes_what_was_received_and_what_children_and_callbacks_sent": forkMessages,
	"a_fork_is_a_job_of_its_own":                                          forkBody,
	"a_fork_that_is_repeated_does_nothing":                                forkRepeat,
	"a_fork_that_cannot_be_is_refused":                                    forkRefused,
	"children_of_a_forked_job_stay_its_own":                               forkChildren,
	"Remembered_a_fork_is_of_what_its_maker_has_read":                     forkNext,
}

func forkJournal(e *env.Env) {
	run := e.Started()
	e.Write(&run, store.Entry{Seq: 1, Kind: store.EntryStep, Path: "1.2", Name: "charge", Data: []byte("\x00\xff"), Codec: 3})
	e.Clock.Advance(time.Second)
	e.Write(&run, env.Entry(2, store.EntryPublished, "progress"), env.Step(3), env.Step(4))
	e.End(run, store.Completed)
	original := e.Journal(run.Job.ID)
	record := e.Get(run.Job.ID)
	e.Clock.Advance(time.Minute)
	for _, c := range []struct{ keep, want int64 }{{0, 0}, {1, 1}, {3, 3}, {4, 4}, {99, 4}} {
		id := e.Fork(run.Job.ID, c.keep)
		var want []store.Entry
		for _, entry := range original.Entries[:c.want] {
			entry.LeaseNumber = 0
			want = append(want, entry)
		}
		// Reading: when a copied entry was written is not promised.
		e.Equal("journal of the fork", e.Journal(id).Entries, want, cmpopts.IgnoreFields(store.Entry{}, "At"))
		if n := e.Get(id).Journal; n != c.want {
			e.Fatalf("the record of the fork tells of %d entries", n)
		}
		next := e.ClaimOne(e.Join(), id)
		if next.Durable != (c.want > 0) || next.Job.Attempt != 1 || next.Lease.Number != 1 {
			e.Fatalf("the run of the fork: %+v", next)
		}
		e.Write(&next, env.Step(c.want+1))
		e.WantEntries(id, int(c.want)+1)
		e.End(next, store.Completed)
	}
	e.Equal("the journal that was forked", e.Journal(run.Job.ID), original)
	e.Equal("the job that was forked", e.Get(run.Job.ID), record)
}

func forkMessages(e *env.Env) {
	run := e.Started()
	e.Write(&run, env.Entry(1, store.EntryCallback, "a"), env.Entry(2, store.EntryCallback, "b"))
	child := e.Bear(&run, 1)[0] // entry 3
	for i := range 4 {
		e.Send(run.Job.ID, env.Traced(env.Signal(fmt.Sprint("s", i+1)))) // 1 to 4
	}
	e.Send(run.Job.ID, env.Traced(env.Callback(store.MessageCallback, "a"))) // 5
	e.Send(run.Job.ID, env.Signal("s6"))                                     // 6
	e.Send(run.Job.ID, env.Callback(store.MessageCallbackFailed, "b"))       // 7
	e.End(e.ClaimOne(e.Join(), child), store.Completed)                      // 8
	e.Send(run.Job.ID, env.Signal("s9"))                                     // 9
	received := func(seq, ref int64) store.Entry {
		return store.Entry{Seq: seq, Kind: store.EntryReceived, Path: "1", Ref: ref}
	}
	e.Write(&run, received(4, 2), received(5, 5), received(6, 6), received(7, 9))
	original := e.Messages(run.Job.ID)
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
		id := e.Fork(run.Job.ID, c.keep)
		var want []store.Message
		for _, seq := range c.want {
			want = append(want, original[seq-1])
		}
		e.Equal(fmt.Sprint("messages of a fork of ", c.keep), e.Messages(id), want, cmpopts.IgnoreFields(store.Message{}, "At"))
		if n := e.Get(id).Messages; n != int64(len(c.want)) {
			e.Fatalf("the record tells of %d messages, want %d", n, len(c.want))
		}
		// The next message gets the next number.
		last := c.want[len(c.want)-1]
		if result := e.Send(id, env.Signal("new")); result.Seq != last+1 || result.Duplicate {
			e.Fatalf("the first message to the fork: %+v", result)
		}
		// A callback of the old job has had its end in the new one.
		if c.keep > 0 {
			e.WantErr("a second end", e.TrySend(id, env.Callback(store.MessageCallback, "a"), "").Err, store.ErrConflict)
		}
	}
	e.Equal("messages of the forked job", e.Messages(run.Job.ID), original)
	// A new message wakes a fork that waits.
	id := e.Fork(run.Job.ID, 7)
	wait := env.ForSignals()
	wait.Seen = 9
	e.ParkAs(store.Waiting, e.ClaimRuns(e.Join())[id], wait)
	if result := e.Send(id, env.Signal("s")); !result.Woken || result.Seq != 10 {
		e.Fatalf("send: %+v", result)
	}
}

func forkBody(e *env.Env) {
	run := e.Durable(2, env.Queue("a"), env.Attempts(7))
	e.NoError("append", e.TryAppend(&store.Append{Lease: run.Lease, Entries: env.Steps(3, 3), Closing: true}))
	e.End(run, store.Failed, func(o *store.Outcome) { o.Version = "v1" })
	e.Clock.Advance(time.Minute)
	id := e.Fork(run.Job.ID, 2, env.Queue("b"), env.Kind("push"), env.Priority(1), env.Ordered("k"), func(q *store.Enqueue) {
		q.Job.Args, q.Job.Codec, q.Job.Tags = []byte("other"), 5, []string{"fork"}
	})
	record := e.Get(id)
	if record.State != store.Available || record.Queue != "b" || record.Kind != "push" || record.Priority != 1 ||
		string(record.Args) != "other" || record.Codec != 5 || record.OrderingKey != "k" || record.Attempt != 0 || record.LeaseNumber != 0 ||
		record.Closing || record.Version != "" || record.Reason != "" || len(record.Attempts) != 0 || !record.CreatedAt.Equal(e.Clock.Now()) ||
		record.MaxAttempts != 3 || record.Parent != (store.ID{}) {
		e.Fatalf("the fork: %+v", record)
	}
	e.Equal("tags", record.Tags, []string{"fork"})
	// A fork may have a run time.
	later := e.Fork(run.Job.ID, 1, env.RunAt(e.Clock.Now().Add(time.Hour)))
	if record := e.Get(later); record.State != store.Scheduled || !record.RunAt.Equal(e.Clock.Now().Add(time.Hour)) {
		e.Fatalf("the fork: %+v", record)
	}
	e.ClaimOne(e.Join(), id)
}

func forkRepeat(e *env.Env) {
	run := e.Durable(3)
	q := e.Job()
	params := store.ForkParams{From: run.Job.ID, Keep: 2, Job: q.Job, Reason: "what if", Actor: "ada"}
	e.NoError("Fork", env.ErrOf(e.Store.Fork(e.Ctx, params)))
	next := e.ClaimOne(e.Join(), q.Job.ID)
	e.Write(&next, env.Step(3))
	before, journal := e.Get(q.Job.ID), e.Journal(q.Job.ID)
	e.Write(&run, env.Step(4))
	for _, keep := range []int64{2, 4} {
		params.Keep = keep
		e.NoError("repeated Fork", env.ErrOf(e.Store.Fork(e.Ctx, params)))
		e.Equal("the fork", e.Get(q.Job.ID), before)
		e.Equal("its journal", e.Journal(q.Job.ID), journal)
	}
}

func forkRefused(e *env.Env) {
	run := e.Durable(1)
	jobs := len(e.ListIDs(store.Filter{}))
	_, err := e.Store.Fork(e.Ctx, store.ForkParams{From: e.IDs.Next(), Keep: 1, Job: e.Job().Job})
	e.WantErr("fork of an unknown job", err, store.ErrNotFound)
	_, err = e.Store.Fork(e.Ctx, store.ForkParams{From: run.Job.ID, Keep: 1, Job: e.Job(env.Unique("k")).Job})
	e.WantErr("fork with a unique key", err, store.ErrInvalid)
	if n := len(e.ListIDs(store.Filter{})); n != jobs {
		e.Fatalf("%d jobs became %d", jobs, n)
	}
}

func forkChildren(e *env.Env) {
	run := e.Durable(1)
	ids := e.Bear(&run, 2)
	forked := e.Fork(run.Job.ID, 100, env.Delay(0), env.RunAt(e.Clock.Now().Add(time.Hour)))
	e.WantSameIDs("children", e.ListIDs(store.Filter{Parent: run.Job.ID}), ids...)
	e.WantSameIDs("children of the fork", e.ListIDs(store.Filter{Parent: forked}))
	node := e.Join()
	e.End(e.ClaimRuns(node)[ids[0]], store.Completed)
	if n, m := len(e.Answers(run.Job.ID)), len(e.Messages(forked)); n != 1 || m != 0 {
		e.Fatalf("%d answers to the old job, %d messages to the new one", n, m)
	}
	e.Terminate(forked)
	if closed := e.CloseOnce(10); len(closed.Ended)+len(closed.Running) != 0 {
		e.Fatalf("closed: %+v", closed)
	}
}

// forkNext: between the look at a journal and the fork its end may have been taken away and written
// again, or all of it.
func forkNext(e *env.Env) {
	for name, meanwhile := range map[string]func(run *store.Claimed) (same bool){
		"nothing":               func(*store.Claimed) bool { return true },
		"it goes on":            func(run *store.Claimed) bool { e.Write(run, env.Step(5)); return true },
		"it is cut":             func(run *store.Claimed) bool { cutAt(e, run, 1); return false },
		"its next goes":         func(run *store.Claimed) bool { cutAt(e, run, 2); return false },
		"it is cut behind that": func(run *store.Claimed) bool { cutAt(e, run, 3); return true },
		"it is cut and written anew": func(run *store.Claimed) bool {
			cutAt(e, run, 1)
			e.Write(run, env.Steps(2, 4)...)
			return false
		},
		"it continues as new": func(run *store.Claimed) bool {
			e.End(*run, store.Available, env.AsNew("x"))
			*run = e.ClaimOne(e.Join(), run.Job.ID)
			e.Write(run, env.Steps(6, 9)...)
			return false
		},
	} {
		for _, keep := range []int64{2, 0} {
			run := e.Durable(4)
			next := e.Journal(run.Job.ID).Entries[keep]
			same := meanwhile(&run)
			if keep == 0 { // the first entry is another one only if the job continued as new
				same = name != "it continues as new"
			}
			q := e.Job(env.Kind("fork"))
			params := store.ForkParams{From: run.Job.ID, Keep: keep, Next: &next, Job: q.Job}
			_, err := e.Store.Fork(e.Ctx, params)
			if same {
				if err != nil {
					e.Fatalf("%s: a fork that keeps %d: %v", name, keep, err)
				}
				e.WantEntries(q.Job.ID, int(keep))
			} else {
				e.WantErr(name, err, store.ErrConflict)
				e.WantUnknown(q.Job.ID)
			}
			e.End(run, store.Completed)
		}
	}
	// The entries of a fork have no writer, and a fork of it works all the same.
	run := e.Durable(3)
	first := e.Fork(run.Job.ID, 3)
	next := e.Journal(first).Entries[2]
	q := e.Job()
	e.NoError("a fork of a fork", env.ErrOf(e.Store.Fork(e.Ctx, store.ForkParams{From: first, Keep: 2, Next: &next, Job: q.Job})))
	e.WantEntries(q.Job.ID, 2)
}

// cutAt lets a job fail and be resumed with so many entries.
func cutAt(e *env.Env, run *store.Claimed, keep int64) {
	e.Helper()
	e.End(*run, store.Failed)
	e.Resume(env.Cut(run.Job.ID, keep), store.Available)
	*run = e.ClaimOne(e.Join(), run.Job.ID)
}
