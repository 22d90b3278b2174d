package family

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var continueTests = env.Tests{
	"AtomicTransitions_a_job_that_continues_begins_anew":   continueAnew,
	"NoLoss_signals_that_nobody_received_stay":             continueMessages,
	"keys_of_signals_that_stay_are_known":                  continueKeys,
	"OneOwner_a_run_that_continued_is_over":                continueFenced,
	"a_repeated_continuation_is_recognised":                continueRepeat,
	"and_so_are_the_entries_that_were_written_with_it":     continueRepeatWhole,
	"children_of_before_answer_to_the_job_that_began_anew": continueChildren,
	"Remembered_a_fork_begins_where_the_job_continued":     continueForked,
	"what_a_person_takes_away_is_not_that_it_continued":    continueCut,
}

func continueAnew(e *env.Env) {
	node := e.Join()
	id := e.Add(env.Attempts(3), env.Unique("u"), env.Ordered("o"))
	run := e.ClaimOne(node, id)
	e.Write(&run, env.Steps(1, 3)...)
	e.End(run, store.Retryable)
	e.Later(node, time.Minute)
	run = e.ClaimOne(node, id)
	a := &store.Append{Lease: run.Lease, Entries: []store.Entry{env.Step(4), env.Entry(5, store.EntryPublished, "progress")}, Closing: true}
	e.NoError("append", e.TryAppend(a))
	attempts := e.Get(id).Attempts
	e.Clock.Advance(time.Second)
	o := e.End(run, store.Available, env.AsNew("x"), func(o *store.Outcome) {
		o.Continue.Args, o.Continue.Codec, o.Continue.Data = []byte("\x00\xff new"), 6, []byte(`{"times":1}`)
	})
	record := e.Get(id)
	if o.Final != store.Available || record.State != store.Available || string(record.Args) != "\x00\xff new" || record.Codec != 6 ||
		record.Attempt != 0 || record.Closing || !record.RunAt.Equal(e.Clock.Now()) || record.Journal != 1 || record.Messages != 0 ||
		record.LeaseNumber != 2 || record.MaxAttempts != 3 {
		e.Fatalf("the job that continues: %v, %+v", o.Final, record)
	}
	// A continuation is no attempt, and the record still tells of the earlier ones.
	e.Equal("attempts", record.Attempts, attempts)
	// Reading: the codec of its Data is not promised.
	e.Equal("journal", e.Journal(id).Entries, []store.Entry{{
		Seq: 6, Kind: store.EntryContinued, Data: []byte(`{"times":1}`), At: e.Clock.Now(), LeaseNumber: 2,
	}}, cmpopts.IgnoreFields(store.Entry{}, "Codec"))
	published := store.JournalParams{Job: id, Kinds: []store.EntryKind{store.EntryPublished}, Limit: 10}
	if page, err := e.Store.Entries(e.Ctx, published); err != nil || len(page) != 0 {
		e.Fatalf("published before: %+v, %v", page, err)
	}
	// It keeps its keys, and the turn.
	if q := e.Try(env.Unique("u")); !q.Result.Existing {
		e.Fatalf("the job that continues lost its key: %+v", q.Result)
	}
	second := e.Add(env.Ordered("o"), env.Priority(1))
	next := e.ClaimOne(node, id)
	if next.Job.Attempt != 1 || next.Lease.Number != 3 || !next.Durable || string(next.Job.Args) != "\x00\xff new" || next.Job.Codec != 6 {
		e.Fatalf("the next run: %+v", next)
	}
	e.Write(&next, env.Step(7))
	e.WantEntries(id, 2)
	e.End(next, store.Completed)
	e.ClaimOne(node, second)
}

func continueMessages(e *env.Env) {
	run := e.Started()
	e.Write(&run, env.Entry(1, store.EntryCallback, "a"))
	child := e.Bear(&run, 1)[0] // entry 2
	e.Send(run.Job.ID, env.Signal("s1"))
	e.Send(run.Job.ID, env.Signal("s2"))
	e.Send(run.Job.ID, env.Callback(store.MessageHeartbeat, "a"))
	e.Clock.Advance(time.Second)
	e.Send(run.Job.ID, env.Signal("s4"))
	e.Send(run.Job.ID, env.Callback(store.MessageCallback, "a"))
	e.End(e.ClaimOne(e.Join(), child), store.Completed)
	e.Send(run.Job.ID, env.Signal("s7"))
	e.Send(run.Job.ID, env.Signal("s8"))
	original := e.Messages(run.Job.ID)
	received := func(seq, ref int64) store.Entry {
		return store.Entry{Seq: seq, Kind: store.EntryReceived, Path: "1", Ref: ref}
	}
	// Received are 2 and 7; 5 and 6 as well, but they would not stay anyway.
	e.Write(&run, received(3, 2), received(4, 5), received(5, 7))
	// A Ref of an entry that received nothing says nothing.
	other := env.Entry(6, store.EntryStep, "s")
	other.Ref = 4
	e.Write(&run, other)
	e.Clock.Advance(time.Second)
	e.End(run, store.Available, env.AsNew("x"))
	var want []store.Message
	for i, seq := range []int{1, 4, 8} {
		m := original[seq-1]
		m.Seq = int64(i + 1)
		want = append(want, m)
	}
	e.Equal("messages", e.Messages(run.Job.ID), want)
	if n := e.Get(run.Job.ID).Messages; n != 3 {
		e.Fatalf("the record tells of %d messages", n)
	}
	if result := e.Send(run.Job.ID, env.Signal("new")); result.Seq != 4 {
		e.Fatalf("the next message: %+v", result)
	}
	// The callback ended with the journal that opened it.
	e.WantErr("its callback", e.TrySend(run.Job.ID, env.Callback(store.MessageCallback, "a"), "").Err, store.ErrNotFound)
	// The signals that stay wake a run that waits for them.
	next := e.ClaimOne(e.Join(), run.Job.ID)
	e.ParkAs(store.Available, next, env.ForSignals())
}

// continueKeys: a message that is no longer kept is forgotten with its key.
func continueKeys(e *env.Env) {
	run := e.Durable(1)
	for i := range 3 {
		if q := e.TrySend(run.Job.ID, env.Signal("s"), fmt.Sprint("k", i)); q.Err != nil {
			e.Fatalf("send: %v", q.Err)
		}
	}
	e.Write(&run, store.Entry{Seq: 2, Kind: store.EntryReceived, Ref: 2})
	e.End(run, store.Available, env.AsNew("x"))
	for i, want := range []store.SendResult{{Seq: 1, Duplicate: true}, {Seq: 3}, {Seq: 2, Duplicate: true}} {
		if q := e.TrySend(run.Job.ID, env.Signal("again"), fmt.Sprint("k", i)); q.Err != nil || q.Result != want {
			e.Fatalf("send with key %d: %+v, %v; want %+v", i, q.Result, q.Err, want)
		}
	}
}

func continueFenced(e *env.Env) {
	run := e.Durable(2)
	o := env.Outcome(run, store.Available, env.AsNew("x"))
	late := env.Outcome(run, store.Available, env.AsNew("y"))
	e.Apply(&store.Batch{Outcomes: []*store.Outcome{o, late}})
	if o.Err != nil {
		e.Fatalf("outcome: %v", o.Err)
	}
	e.WantErr("a second one", late.Err, store.ErrLeaseLost)
	e.WantLost(run)
	e.WantNoAppend(run.Lease)
	for _, seq := range []int64{2, 3} {
		e.WantErr("append", e.TryAppend(&store.Append{Lease: run.Lease, Entries: env.Steps(seq, seq)}), store.ErrLeaseLost)
	}
	stale := env.Outcome(run, store.Available, env.AsNew("z"))
	e.WantErr("a stale continuation", e.TryEnd(stale), store.ErrLeaseLost)
	if record := e.Get(run.Job.ID); string(record.Args) != "x" || record.Journal != 1 {
		e.Fatalf("record: %+v", record)
	}
	e.ClaimOne(e.Join(), run.Job.ID)
}

func continueRepeat(e *env.Env) {
	run := e.Durable(2)
	e.Send(run.Job.ID, env.Signal("s"))
	o := e.End(run, store.Available, env.AsNew("x"))
	check := func() {
		e.Helper()
		journal := e.Journal(run.Job.ID)
		e.WantKnown(o)
		e.Equal("journal", e.Journal(run.Job.ID), journal)
	}
	check()
	next := e.ClaimOne(e.Join(), run.Job.ID)
	e.Write(&next, env.Steps(4, 6)...)
	check()
	e.End(next, store.Completed)
	check()

	// A continuation that never arrived happens when it is repeated, unless its run was lost.
	run = e.Durable(2)
	o = env.Repeated(env.Outcome(run, store.Available, env.AsNew("x")))
	e.Apply(&store.Batch{Outcomes: []*store.Outcome{o}})
	if o.Err != nil || o.Final != store.Available || string(e.Get(run.Job.ID).Args) != "x" {
		e.Fatalf("a continuation that never happened: %v, %v", o.Final, o.Err)
	}
	e.Terminate(run.Job.ID)
	run = e.Durable(2)
	e.Leave(run.Lease.Node)
	before := e.Get(run.Job.ID)
	o = env.Repeated(env.Outcome(run, store.Available, env.AsNew("x")))
	e.WantErr("repeated continuation of a lost run", e.TryEnd(o), store.ErrLeaseLost)
	e.Equal("job", e.Get(run.Job.ID), before)
}

// continueRepeatWhole repeats the last entries of a run with its outcome: the run that continued
// has removed them.
func continueRepeatWhole(e *env.Env) {
	run := e.Durable(2)
	o := env.Outcome(run, store.Available, env.AsNew("x"))
	a := &store.Append{Lease: run.Lease, Entries: env.Steps(3, 4)}
	unit := &store.Unit{Append: a, Outcome: o}
	for range 2 {
		b := &store.Batch{}
		b.Add(unit)
		if err := e.Store.Apply(e.Ctx, b); err != nil || o.Final != store.Available {
			e.Fatalf("the unit of a continuation, repeated %t: %v; the job is %s", o.Repeat, err, o.Final)
		}
		a.Repeat, o.Repeat = true, true
	}
	journal := e.Journal(run.Job.ID)
	if len(journal.Entries) != 1 || journal.Entries[0].Kind != store.EntryContinued {
		e.Fatalf("the journal of a run that continued as new: %+v", journal.Entries)
	}
}

func continueChildren(e *env.Env) {
	node := e.Join()
	run := e.ClaimOne(node, e.Add())
	ids := e.Bear(&run, 2)
	runs := e.ClaimRuns(node)
	e.End(run, store.Available, env.AsNew("x"), env.WithChildren)
	if closed := e.CloseOnce(10); len(closed.Ended)+len(closed.Running) != 0 {
		e.Fatalf("closed: %+v", closed)
	}
	run = e.ClaimOne(node, run.Job.ID)
	e.End(runs[ids[0]], store.Completed)
	if answers := e.Answers(run.Job.ID); len(answers) != 1 || answers[0].From != ids[0] {
		e.Fatalf("answers: %+v", answers)
	}
	e.End(run, store.Completed, env.WithChildren)
	e.WantSameIDs("asked", e.CloseOnce(10).Running, ids[1])

	// A child may end in the same batch. If it ends first, the parent forgets its answer; if it
	// ends second, the parent gets it.
	for i, want := range []int{0, 1} {
		run := e.ClaimOne(node, e.Add())
		id := e.Bear(&run, 1)[0]
		outcomes := []*store.Outcome{
			env.Outcome(e.ClaimOne(node, id), store.Completed), env.Outcome(run, store.Available, env.AsNew("x"), env.WithChildren),
		}
		if i == 1 {
			slices.Reverse(outcomes)
		}
		e.Apply(&store.Batch{Outcomes: outcomes})
		if answers := e.Answers(run.Job.ID); len(answers) != want {
			e.Fatalf("the child ends %d. in the batch: answers %+v", i+1, answers)
		}
		e.End(e.ClaimOne(node, run.Job.ID), store.Completed)
	}
}

func continueForked(e *env.Env) {
	run := e.Durable(3)
	for i := range 3 {
		e.Send(run.Job.ID, env.Signal(fmt.Sprint("s", i+1)))
	}
	e.Write(&run, store.Entry{Seq: 4, Kind: store.EntryReceived, Ref: 2})
	e.End(run, store.Available, env.AsNew("x")) // entry 5; s1 and s3 are messages 1 and 2 now
	run = e.ClaimOne(e.Join(), run.Job.ID)
	e.Write(&run, env.Step(6), store.Entry{Seq: 7, Kind: store.EntryReceived, Ref: 2}, env.Step(8))
	original := e.Journal(run.Job.ID)
	for _, c := range []struct {
		keep     int64
		entries  int
		messages []int64
	}{{0, 0, nil}, {4, 0, nil}, {5, 1, nil}, {6, 2, nil}, {7, 3, []int64{2}}, {99, 4, []int64{2}}} {
		id := e.Fork(run.Job.ID, c.keep)
		forked := e.Journal(id)
		want := store.Journal{Job: id}
		for _, entry := range original.Entries[:c.entries] {
			entry.LeaseNumber = 0
			want.Entries = append(want.Entries, entry)
		}
		for _, seq := range c.messages {
			want.Messages = append(want.Messages, original.Messages[seq-1])
		}
		e.Equal(fmt.Sprint("a fork that keeps ", c.keep), forked, want,
			cmpopts.IgnoreFields(store.Entry{}, "At"), cmpopts.IgnoreFields(store.Message{}, "At"))
		if record := e.Get(id); record.Journal != int64(c.entries) || record.Messages != int64(len(c.messages)) {
			e.Fatalf("the record of a fork that keeps %d: %d entries, %d messages", c.keep, record.Journal, record.Messages)
		}
		// Its run goes on after the last entry, and with messages after the last one.
		next := e.ClaimOne(e.Join(), id)
		e.Write(&next, env.Step(forked.LastSeq()+1))
		e.WantEntries(id, c.entries+1)
		seq := int64(1)
		if len(c.messages) > 0 {
			seq = c.messages[len(c.messages)-1] + 1
		}
		if result := e.Send(id, env.Signal("new")); result.Seq != seq {
			e.Fatalf("the first message to a fork that keeps %d: %+v", c.keep, result)
		}
		e.End(next, store.Completed)
	}
}

func continueCut(e *env.Env) {
	for _, c := range []struct {
		keep int64
		want int
	}{{-1, 3}, {99, 3}, {6, 3}, {5, 2}, {4, 1}, {3, 1}, {1, 1}, {0, 1}} {
		run := e.Durable(3)
		e.End(run, store.Available, env.AsNew("x")) // entry 4
		run = e.ClaimOne(e.Join(), run.Job.ID)
		e.Write(&run, env.Steps(5, 6)...)
		e.End(run, store.Failed)
		params := env.Resumption(run.Job.ID)
		params.Keep, params.Expect = c.keep, 6
		e.Resume(params, store.Available)
		if first := e.WantEntries(run.Job.ID, c.want)[0]; first.Kind != store.EntryContinued || first.Seq != 4 {
			e.Fatalf("a job that keeps %d begins with %+v", c.keep, first)
		}
		if n := e.Get(run.Job.ID).Journal; n != int64(c.want) {
			e.Fatalf("the record of a job that keeps %d tells of %d entries", c.keep, n)
		}
		next := e.ClaimOne(e.Join(), run.Job.ID)
		if !next.Durable {
			e.Fatalf("the next run: %+v", next)
		}
		e.Write(&next, env.Step(4+int64(c.want)))
		e.WantEntries(run.Job.ID, c.want+1)
		e.End(next, store.Completed)
	}
}
