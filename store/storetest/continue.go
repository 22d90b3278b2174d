package storetest

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
)

var continueTests = []test{
	{"AtomicTransitions_a_job_that_continues_begins_anew", continueAnew},
	{"NoLoss_signals_that_nobody_received_stay", continueMessages},
	{"keys_of_signals_that_stay_are_known", continueKeys},
	{"OneOwner_a_run_that_continued_is_over", continueFenced},
	{"a_repeated_continuation_is_recognised", continueRepeat},
	{"CancelArrives_at_the_job_that_begins_anew", continueCancelled},
	{"a_pause_meets_the_job_that_begins_anew", continuePaused},
	{"children_of_before_answer_to_the_job_that_began_anew", continueChildren},
	{"a_job_continues_again_and_again", continueAgain},
	{"Remembered_a_fork_begins_where_the_job_continued", continueForked},
	{"what_a_person_takes_away_is_not_that_it_continued", continueCut},
}

// anew is the change that makes a release a continuation.
func anew(args string) func(*store.Outcome) {
	return func(o *store.Outcome) {
		o.Durable = true
		o.Continue = &store.Continue{Args: []byte(args), Data: []byte(`{"n":1}`)}
	}
}

func continueAnew(e *env) {
	node := e.join()
	id := e.add(attempts(3), unique("u"), ordered("o"))
	run := e.claimOne(node, id)
	e.write(&run, steps(1, 3)...)
	e.end(run, store.Retryable)
	e.later(node, time.Minute)
	run = e.claimOne(node, id)
	a := &store.Append{Lease: run.Lease, Entries: []store.Entry{step(4), entry(5, store.EntryPublished, "progress")}, Closing: true}
	if err := e.tryAppend(a); err != nil {
		e.Fatalf("append: %v", err)
	}
	attempts := e.get(id).Attempts
	e.clock.Advance(time.Second)
	o := e.end(run, store.Available, anew("x"), func(o *store.Outcome) {
		o.Continue.Args, o.Continue.Codec, o.Continue.Data = []byte("\x00\xff new"), 6, []byte(`{"times":1}`)
	})
	record := e.get(id)
	if o.Final != store.Available || record.State != store.Available || string(record.Args) != "\x00\xff new" || record.Codec != 6 ||
		record.Attempt != 0 || record.Closing || !record.RunAt.Equal(e.clock.Now()) || record.Journal != 1 || record.Messages != 0 ||
		record.LeaseNumber != 2 || record.MaxAttempts != 3 {
		e.Fatalf("the job that continues: %v, %+v", o.Final, record)
	}
	// It is no attempt; those that were are still told.
	e.equal("attempts", record.Attempts, attempts)
	// Reading: the codec of its Data is not promised.
	e.equal("journal", e.journal(id).Entries, []store.Entry{{
		Seq: 6, Kind: store.EntryContinued, Data: []byte(`{"times":1}`), At: e.clock.Now(), LeaseNumber: 2,
	}}, cmpopts.IgnoreFields(store.Entry{}, "Codec"))
	published := store.JournalParams{Job: id, Kinds: []store.EntryKind{store.EntryPublished}, Limit: 10}
	if page, err := e.store.Entries(e.ctx, published); err != nil || len(page) != 0 {
		e.Fatalf("published before: %+v, %v", page, err)
	}
	// It keeps its keys, and the turn.
	if q := e.try(unique("u")); !q.Result.Existing {
		e.Fatalf("the job that continues lost its key: %+v", q.Result)
	}
	second := e.add(ordered("o"), priority(1))
	next := e.claimOne(node, id)
	if next.Job.Attempt != 1 || next.Lease.Number != 3 || !next.Durable || string(next.Job.Args) != "\x00\xff new" || next.Job.Codec != 6 {
		e.Fatalf("the next run: %+v", next)
	}
	e.write(&next, step(7))
	e.wantEntries(id, 2)
	e.end(next, store.Completed)
	e.claimOne(node, second)
}

func continueMessages(e *env) {
	run := e.started()
	e.write(&run, entry(1, store.EntryCallback, "a"))
	child := e.bear(&run, 1)[0] // entry 2
	e.send(run.Job.ID, signal("s1"))
	e.send(run.Job.ID, signal("s2"))
	e.send(run.Job.ID, callback(store.MessageHeartbeat, "a"))
	e.clock.Advance(time.Second)
	e.send(run.Job.ID, signal("s4"))
	e.send(run.Job.ID, callback(store.MessageCallback, "a"))
	e.end(e.claimOne(e.join(), child), store.Completed)
	e.send(run.Job.ID, signal("s7"))
	e.send(run.Job.ID, signal("s8"))
	original := e.messages(run.Job.ID)
	received := func(seq, ref int64) store.Entry {
		return store.Entry{Seq: seq, Kind: store.EntryReceived, Path: "1", Ref: ref}
	}
	// Received are 2 and 7; 5 and 6 as well, but they would not stay anyway.
	e.write(&run, received(3, 2), received(4, 5), received(5, 7))
	// A Ref of an entry that received nothing says nothing.
	other := entry(6, store.EntryStep, "s")
	other.Ref = 4
	e.write(&run, other)
	e.clock.Advance(time.Second)
	e.end(run, store.Available, anew("x"))
	var want []store.Message
	for i, seq := range []int{1, 4, 8} {
		m := original[seq-1]
		m.Seq = int64(i + 1)
		want = append(want, m)
	}
	e.equal("messages", e.messages(run.Job.ID), want)
	if n := e.get(run.Job.ID).Messages; n != 3 {
		e.Fatalf("the record tells of %d messages", n)
	}
	if result := e.send(run.Job.ID, signal("new")); result.Seq != 4 {
		e.Fatalf("the next message: %+v", result)
	}
	// The callback belongs to what was.
	e.wantErr("its callback", e.trySend(run.Job.ID, callback(store.MessageCallback, "a"), "").Err, store.ErrNotFound)
	// They wake who waits for them.
	next := e.claimOne(e.join(), run.Job.ID)
	if o := e.park(next, forSignals()); o.Final != store.Available {
		e.Fatalf("park: %v", o.Final)
	}
}

// continueKeys: a message that is no longer kept is forgotten with its key.
func continueKeys(e *env) {
	run := e.durable(1)
	for i := range 3 {
		if q := e.trySend(run.Job.ID, signal("s"), fmt.Sprint("k", i)); q.Err != nil {
			e.Fatalf("send: %v", q.Err)
		}
	}
	e.write(&run, store.Entry{Seq: 2, Kind: store.EntryReceived, Ref: 2})
	e.end(run, store.Available, anew("x"))
	for i, want := range []store.SendResult{{Seq: 1, Duplicate: true}, {Seq: 3}, {Seq: 2, Duplicate: true}} {
		if q := e.trySend(run.Job.ID, signal("again"), fmt.Sprint("k", i)); q.Err != nil || q.Result != want {
			e.Fatalf("send with key %d: %+v, %v; want %+v", i, q.Result, q.Err, want)
		}
	}
}

func continueFenced(e *env) {
	run := e.durable(2)
	o := outcome(run, store.Available, anew("x"))
	late := outcome(run, store.Available, anew("y"))
	e.apply(&store.Batch{Outcomes: []*store.Outcome{o, late}})
	if o.Err != nil {
		e.Fatalf("outcome: %v", o.Err)
	}
	e.wantErr("a second one", late.Err, store.ErrLeaseLost)
	e.wantLost(run)
	e.wantErr("append", e.tryAppend(&store.Append{Lease: run.Lease, Entries: steps(2, 2)}), store.ErrLeaseLost)
	e.wantErr("append", e.tryAppend(&store.Append{Lease: run.Lease, Entries: steps(3, 3)}), store.ErrLeaseLost)
	stale := outcome(run, store.Available, anew("z"))
	e.apply(&store.Batch{Outcomes: []*store.Outcome{stale}})
	e.wantErr("a stale continuation", stale.Err, store.ErrLeaseLost)
	if record := e.get(run.Job.ID); string(record.Args) != "x" || record.Journal != 1 {
		e.Fatalf("record: %+v", record)
	}
	e.claimOne(e.join(), run.Job.ID)
}

func continueRepeat(e *env) {
	run := e.durable(2)
	e.send(run.Job.ID, signal("s"))
	o := e.end(run, store.Available, anew("x"))
	check := func(when string) {
		e.Helper()
		before, journal := e.get(run.Job.ID), e.journal(run.Job.ID)
		again := repeated(o)
		e.apply(&store.Batch{Outcomes: []*store.Outcome{again}})
		if again.Err != nil || again.Final != store.Available {
			e.Fatalf("repeated %s: %v, %v", when, again.Final, again.Err)
		}
		e.equal("job", e.get(run.Job.ID), before)
		e.equal("journal", e.journal(run.Job.ID), journal)
	}
	check("at once")
	next := e.claimOne(e.join(), run.Job.ID)
	e.write(&next, steps(4, 6)...)
	check("while it runs again")
	e.end(next, store.Completed)
	check("after it has completed")

	// One that never arrived happens now; and one whose run was lost does not.
	run = e.durable(2)
	o = repeated(outcome(run, store.Available, anew("x")))
	e.apply(&store.Batch{Outcomes: []*store.Outcome{o}})
	if o.Err != nil || o.Final != store.Available || string(e.get(run.Job.ID).Args) != "x" {
		e.Fatalf("a continuation that never happened: %v, %v", o.Final, o.Err)
	}
	e.terminate(run.Job.ID)
	run = e.durable(2)
	e.leave(run.Lease.Node)
	before := e.get(run.Job.ID)
	o = repeated(outcome(run, store.Available, anew("x")))
	e.apply(&store.Batch{Outcomes: []*store.Outcome{o}})
	e.wantErr("repeated continuation of a lost run", o.Err, store.ErrLeaseLost)
	e.equal("job", e.get(run.Job.ID), before)
}

func continueCancelled(e *env) {
	run := e.durable(3)
	e.cancel(run.Job.ID)
	if o := e.end(run, store.Available, anew("x")); o.Final != store.Available {
		e.Fatalf("final state is %v", o.Final)
	}
	next := e.wantCancelTold(run.Lease.Node, run.Job.ID)
	if string(next.Job.Args) != "x" || next.Job.Attempt != 1 {
		e.Fatalf("the next run: %+v", next)
	}
	e.wantEntries(run.Job.ID, 1)
	e.end(next, store.Cancelled)
}

func continuePaused(e *env) {
	run := e.durable(3)
	e.pauseJob(run.Job.ID, store.Running)
	if o := e.end(run, store.Available, anew("x")); o.Final != store.Waiting {
		e.Fatalf("final state is %v", o.Final)
	}
	record := e.wantHeld(run.Job.ID)
	if string(record.Args) != "x" || record.Attempt != 0 || len(record.Attempts) != 0 {
		e.Fatalf("the held job: %+v", record)
	}
	e.wantEntries(run.Job.ID, 1)
	e.resume(resumption(run.Job.ID), store.Available)
	if next := e.claimOne(run.Lease.Node, run.Job.ID); next.Job.Attempt != 1 {
		e.Fatalf("the next run: %+v", next)
	}
}

func continueChildren(e *env) {
	node := e.join()
	run := e.claimOne(node, e.add())
	ids := e.bear(&run, 2)
	runs := e.claimRuns(node)
	e.end(run, store.Available, anew("x"), withChildren)
	if closed := e.closeOnce(10); len(closed.Ended)+len(closed.Running) != 0 {
		e.Fatalf("closed: %+v", closed)
	}
	run = e.claimOne(node, run.Job.ID)
	e.end(runs[ids[0]], store.Completed)
	if answers := e.answers(run.Job.ID); len(answers) != 1 || answers[0].From != ids[0] {
		e.Fatalf("answers: %+v", answers)
	}
	e.end(run, store.Completed, withChildren)
	e.wantSameIDs("asked", e.closeOnce(10).Running, ids[1])

	// One that answers in the same moment is told of before, and forgotten, or after.
	for i, want := range []int{0, 1} {
		run := e.claimOne(node, e.add())
		id := e.bear(&run, 1)[0]
		outcomes := []*store.Outcome{
			outcome(e.claimOne(node, id), store.Completed), outcome(run, store.Available, anew("x"), withChildren),
		}
		if i == 1 {
			slices.Reverse(outcomes)
		}
		e.apply(&store.Batch{Outcomes: outcomes})
		if answers := e.answers(run.Job.ID); len(answers) != want {
			e.Fatalf("the child ends %d. in the batch: answers %+v", i+1, answers)
		}
		e.end(e.claimOne(node, run.Job.ID), store.Completed)
	}
}

func continueAgain(e *env) {
	node := e.join()
	run := e.claimOne(node, e.add())
	for i := range int64(5) {
		e.write(&run, steps(10*i+min(i, 1)+1, 10*(i+1))...)
		e.send(run.Job.ID, signal(fmt.Sprint("s", i)))
		e.end(run, store.Available, anew(strconv.FormatInt(i, 10)))
		if first := e.wantEntries(run.Job.ID, 1)[0]; first.Seq != 10*(i+1)+1 {
			e.Fatalf("the journal goes on with %+v", first)
		}
		run = e.claimOne(node, run.Job.ID)
		if string(run.Job.Args) != strconv.FormatInt(i, 10) || run.Job.Attempt != 1 {
			e.Fatalf("run %d: %+v", i, run)
		}
	}
	messages := e.messages(run.Job.ID)
	for i, m := range messages {
		if m.Seq != int64(i+1) || m.Name != fmt.Sprint("s", i) {
			e.Fatalf("message %d: %+v", i, m)
		}
	}
	if len(messages) != 5 {
		e.Fatalf("%d messages", len(messages))
	}
}

func continueForked(e *env) {
	run := e.durable(3)
	for i := range 3 {
		e.send(run.Job.ID, signal(fmt.Sprint("s", i+1)))
	}
	e.write(&run, store.Entry{Seq: 4, Kind: store.EntryReceived, Ref: 2})
	e.end(run, store.Available, anew("x")) // entry 5; s1 and s3 are messages 1 and 2 now
	run = e.claimOne(e.join(), run.Job.ID)
	e.write(&run, step(6), store.Entry{Seq: 7, Kind: store.EntryReceived, Ref: 2}, step(8))
	original := e.journal(run.Job.ID)
	for _, c := range []struct {
		keep     int64
		entries  int
		messages []int64
	}{{0, 0, nil}, {4, 0, nil}, {5, 1, nil}, {6, 2, nil}, {7, 3, []int64{2}}, {99, 4, []int64{2}}} {
		id := e.fork(run.Job.ID, c.keep)
		forked := e.journal(id)
		want := store.Journal{Job: id}
		for _, entry := range original.Entries[:c.entries] {
			entry.LeaseNumber = 0
			want.Entries = append(want.Entries, entry)
		}
		for _, seq := range c.messages {
			want.Messages = append(want.Messages, original.Messages[seq-1])
		}
		e.equal(fmt.Sprint("a fork that keeps ", c.keep), forked, want,
			cmpopts.IgnoreFields(store.Entry{}, "At"), cmpopts.IgnoreFields(store.Message{}, "At"))
		if record := e.get(id); record.Journal != int64(c.entries) || record.Messages != int64(len(c.messages)) {
			e.Fatalf("the record of a fork that keeps %d: %d entries, %d messages", c.keep, record.Journal, record.Messages)
		}
		// Its run goes on after the last entry, and with messages after the last one.
		next := e.claimOne(e.join(), id)
		e.write(&next, step(forked.LastSeq()+1))
		e.wantEntries(id, c.entries+1)
		seq := int64(1)
		if len(c.messages) > 0 {
			seq = c.messages[len(c.messages)-1] + 1
		}
		if result := e.send(id, signal("new")); result.Seq != seq {
			e.Fatalf("the first message to a fork that keeps %d: %+v", c.keep, result)
		}
		e.end(next, store.Completed)
	}
}

func continueCut(e *env) {
	for _, c := range []struct {
		keep int64
		want int
	}{{-1, 3}, {99, 3}, {6, 3}, {5, 2}, {4, 1}, {3, 1}, {1, 1}, {0, 1}} {
		run := e.durable(3)
		e.end(run, store.Available, anew("x")) // entry 4
		run = e.claimOne(e.join(), run.Job.ID)
		e.write(&run, steps(5, 6)...)
		e.end(run, store.Failed)
		params := resumption(run.Job.ID)
		params.Keep, params.Expect = c.keep, 6
		e.resume(params, store.Available)
		if first := e.wantEntries(run.Job.ID, c.want)[0]; first.Kind != store.EntryContinued || first.Seq != 4 {
			e.Fatalf("a job that keeps %d begins with %+v", c.keep, first)
		}
		if n := e.get(run.Job.ID).Journal; n != int64(c.want) {
			e.Fatalf("the record of a job that keeps %d tells of %d entries", c.keep, n)
		}
		next := e.claimOne(e.join(), run.Job.ID)
		if !next.Durable {
			e.Fatalf("the next run: %+v", next)
		}
		e.write(&next, step(4+int64(c.want)))
		e.wantEntries(run.Job.ID, c.want+1)
		e.end(next, store.Completed)
	}
}
