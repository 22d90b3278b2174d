package storetest

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// The words of tests about jobs that remember, beside those of env.go.

// step is the entry that most tests write.
func step(seq int64) store.Entry {
	return store.Entry{Seq: seq, Kind: store.EntryStep, Path: "1", Name: "charge", Data: []byte(`{"ok":true}`)}
}

// steps are entries with the numbers from first to last.
func steps(first, last int64) []store.Entry {
	var entries []store.Entry
	for seq := first; seq <= last; seq++ {
		entries = append(entries, step(seq))
	}
	return entries
}

func entry(seq int64, kind store.EntryKind, name string) store.Entry {
	return store.Entry{Seq: seq, Kind: kind, Path: "1", Name: name}
}

// tryAppend commits an append alone and returns its own error.
func (e *env) tryAppend(a *store.Append) error {
	e.Helper()
	e.apply(&store.Batch{Appends: []*store.Append{a}})
	return a.Err
}

// write appends entries to a run's journal, which must succeed. From then on the run knows that its job is durable.
func (e *env) write(run *store.Claimed, entries ...store.Entry) {
	e.Helper()
	if err := e.tryAppend(&store.Append{Lease: run.Lease, Entries: entries}); err != nil {
		e.Fatalf("append: %v", err)
	}
	run.Durable = true
}

// durable makes a job with n entries in its journal, and the run that wrote them.
func (e *env) durable(n int64, change ...func(*store.Enqueue)) store.Claimed {
	e.Helper()
	run := e.started(change...)
	e.write(&run, steps(1, n)...)
	return run
}

// journal returns what a job remembers.
func (e *env) journal(id store.ID) store.Journal {
	e.Helper()
	journals, err := e.store.Journals(e.ctx, []store.ID{id})
	if err != nil || len(journals) != 1 || journals[0].Job != id {
		e.Fatalf("Journals: %+v, %v", journals, err)
	}
	return journals[0]
}

// wantEntries checks how many entries a journal has, and that they are numbered without gaps.
func (e *env) wantEntries(id store.ID, n int) []store.Entry {
	e.Helper()
	entries := e.journal(id).Entries
	if len(entries) != n {
		e.Fatalf("the journal of %v has %d entries, want %d", id, len(entries), n)
	}
	if i := misnumbered(entries); i >= 0 {
		e.Fatalf("entry %d has the number %d", i+1, entries[i].Seq)
	}
	return entries
}

// misnumbered finds an entry that has not the number after the one before it, or the first one if it is not 1 and the job did not
// continue as new; -1 if there is none.
func misnumbered(entries []store.Entry) int {
	for i, entry := range entries {
		if entry.Seq != entries[0].Seq+int64(i) || i == 0 && entry.Seq != 1 && entry.Kind != store.EntryContinued {
			return i
		}
	}
	return -1
}

func signal(name string) store.Message {
	return store.Message{Kind: store.MessageSignal, Name: name, Data: []byte(`"now"`)}
}

// trySend sends one message, and returns what the store made of it.
func (e *env) trySend(job store.ID, message store.Message, key string) *store.Send {
	e.Helper()
	q := &store.Send{Job: job, Message: message, Key: key}
	e.apply(&store.Batch{Sends: []*store.Send{q}})
	return q
}

// send sends a message, which must succeed.
func (e *env) send(job store.ID, message store.Message) store.SendResult {
	e.Helper()
	q := e.trySend(job, message, "")
	if q.Err != nil {
		e.Fatalf("send to %v: %v", job, q.Err)
	}
	return q.Result
}

// messages returns what was sent to a job.
func (e *env) messages(id store.ID) []store.Message {
	e.Helper()
	return e.journal(id).Messages
}

// forSignals waits for any signal, or other kinds if they are given.
func forSignals(kinds ...store.MessageKind) *store.Wait {
	if len(kinds) == 0 {
		kinds = []store.MessageKind{store.MessageSignal}
	}
	return &store.Wait{Kinds: store.MessagesOf(kinds...), For: []byte(`{"signal":"approved"}`)}
}

// park ends a run as waiting, which must be accepted.
func (e *env) park(run store.Claimed, wait *store.Wait, change ...func(*store.Outcome)) *store.Outcome {
	e.Helper()
	change = append([]func(*store.Outcome){func(o *store.Outcome) { o.Wait, o.Durable = wait, true }}, change...)
	return e.end(run, store.Waiting, change...)
}

// parked makes a job with one entry in its journal that waits like this, and returns the run that parked it.
func (e *env) parked(wait *store.Wait, change ...func(*store.Enqueue)) store.Claimed {
	e.Helper()
	run := e.durable(1, change...)
	if o := e.park(run, wait); o.Final != store.Waiting {
		e.Fatalf("the parked job is %v", o.Final)
	}
	return run
}

// held makes a job that nothing wakes but a person.
func (e *env) held(change ...func(*store.Enqueue)) store.Claimed {
	e.Helper()
	return e.parked(&store.Wait{Held: true}, change...)
}

// tryPause asks to pause jobs.
func (e *env) tryPause(ids ...store.ID) []store.PauseResult {
	e.Helper()
	results, err := e.store.PauseJobs(e.ctx, store.PauseJobsParams{Jobs: ids, Reason: "look first", Actor: "ada"})
	if err != nil || len(results) != len(ids) {
		e.Fatalf("PauseJobs: %d results, %v", len(results), err)
	}
	for i, r := range results {
		if r.Job != ids[i] {
			e.Fatalf("answer %d of PauseJobs is about %v, want %v", i, r.Job, ids[i])
		}
	}
	return results
}

// pauseJob asks to pause a job, which must lead to the given state.
func (e *env) pauseJob(id store.ID, want store.State) {
	e.Helper()
	if r := e.tryPause(id)[0]; r.Err != nil || r.State != want {
		e.Fatalf("PauseJobs: %+v, want %v", r, want)
	}
}

func resumption(id store.ID) store.ResumeParams {
	return store.ResumeParams{Job: id, Keep: -1, Expect: -1, Reason: "fixed", Actor: "ada"}
}

// resume lets a job go on, which must lead to the given state.
func (e *env) resume(params store.ResumeParams, want store.State) {
	e.Helper()
	state, err := e.store.Resume(e.ctx, params)
	if err != nil || state != want {
		e.Fatalf("Resume: %v, %v; want %v", state, err, want)
	}
	e.wantState(params.Job, want)
}

// wantNoResume checks that a job cannot be resumed like this, and stays as it is.
func (e *env) wantNoResume(params store.ResumeParams, class error) {
	e.Helper()
	before := e.get(params.Job)
	_, err := e.store.Resume(e.ctx, params)
	e.wantErr("Resume of a "+before.State.String()+" job", err, class)
	e.equal("record after the Resume", e.get(params.Job), before)
}

// terminate ends jobs at once, and returns their states; none may be unknown.
func (e *env) terminate(ids ...store.ID) []store.State {
	e.Helper()
	results, err := e.store.Cancel(e.ctx, store.CancelParams{Jobs: ids, Reason: "enough", Actor: "ada", Terminate: true})
	if err != nil || len(results) != len(ids) {
		e.Fatalf("Cancel: %d results, %v", len(results), err)
	}
	var states []store.State
	for i, r := range results {
		if r.Err != nil || r.Job != ids[i] {
			e.Fatalf("terminating %v: %+v", ids[i], r)
		}
		states = append(states, r.State)
	}
	return states
}

// child returns an enqueue of a child that answers.
func (e *env) child(parent store.ID, change ...func(*store.Enqueue)) *store.Enqueue {
	return e.job(append([]func(*store.Enqueue){func(q *store.Enqueue) {
		q.Job.Parent, q.Job.Answers = parent, true
	}}, change...)...)
}

// bear lets a run enqueue n children, after its last entry.
func (e *env) bear(run *store.Claimed, n int, change ...func(*store.Enqueue)) []store.ID {
	e.Helper()
	journal := e.journal(run.Job.ID)
	last := journal.LastSeq()
	a := &store.Append{Lease: run.Lease}
	for i := range int64(n) {
		q := e.child(run.Job.ID, change...)
		data, err := json.Marshal(q.Job.ID)
		if err != nil {
			e.Fatal(err)
		}
		a.Entries = append(a.Entries, store.Entry{Seq: last + 1 + i, Kind: store.EntryChild, Name: q.Job.Kind, Data: data})
		a.Enqueues = append(a.Enqueues, q)
	}
	if err := e.tryAppend(a); err != nil {
		e.Fatalf("append of children: %v", err)
	}
	run.Durable = true
	return idsOf(a.Enqueues)
}

func onParentClose(policy store.ClosePolicy) func(*store.Enqueue) {
	return func(q *store.Enqueue) { q.Job.OnParentClose = policy }
}

// withChildren says in an outcome that there are children.
func withChildren(o *store.Outcome) { o.HasChildren = true }

// claimRuns claims everything there is.
func (e *env) claimRuns(node int64) map[store.ID]store.Claimed {
	e.Helper()
	runs := map[store.ID]store.Claimed{}
	for _, run := range e.claim(node, 1000) {
		runs[run.Job.ID] = run
	}
	return runs
}

// closeChildren closes all children of finished jobs, and theirs, and returns which were ended.
func (e *env) closeChildren(limit int) []store.ID {
	e.Helper()
	var ended []store.ID
	for range 1000 {
		closed, err := e.store.CloseChildren(e.ctx, limit)
		if err != nil {
			e.Fatalf("CloseChildren: %v", err)
		}
		if n := len(closed.Ended) + len(closed.Running); n > limit {
			e.Fatalf("CloseChildren closed %d of at most %d", n, limit)
		}
		ended = append(ended, closed.Ended...)
		if !closed.More {
			return ended
		}
	}
	e.Fatal("CloseChildren never comes to an end")
	return nil
}

// wantWoken checks that a batch tells of the queues in which a job was woken.
func (e *env) wantWoken(batch *store.Batch, queues ...string) {
	e.Helper()
	var got []string
	for _, w := range batch.Woken {
		if w.Kind != store.WakeReady || w.Namespace != namespace {
			e.Fatalf("woken: %+v", batch.Woken)
		}
		got = append(got, w.Queue)
	}
	slices.Sort(got)
	e.equal("woken queues", got, queues)
}

// later moves the clock while a node lives, and makes available what is due.
func (e *env) later(node int64, d time.Duration) {
	e.Helper()
	e.clock.Advance(d)
	e.beat(node)
	e.promote()
}
