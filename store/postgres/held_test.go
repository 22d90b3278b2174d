package postgres_test

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// onePatience is how long an Apply may wait in all for what transactions of callers hold.
const onePatience = 100 * time.Millisecond

// aMoment is how long it may, once such a transaction is known.
const aMoment = 20 * time.Millisecond

// TestManyKeysOfOneTransaction: however many keys it holds, others wait for it once, and what is
// free goes through.
func TestManyKeysOfOneTransaction(t *testing.T) {
	t.Parallel()
	config, url, w := counted(t)
	s := open(t, config)
	tx, commit, _ := callers["pgx"](t, url)
	const n = 100
	var theirs, held []*store.Enqueue
	for i := range n {
		key := withKey(fmt.Sprintf("key %03d", i))
		theirs, held = append(theirs, newJob(key)), append(held, newJob(key))
	}
	late := newJob(withKey("late"))
	if err := s.EnqueueTx(t.Context(), tx, append(theirs, newJob(withKey("late")))); err != nil {
		t.Fatal(err)
	}
	plain, last := newJob(), newJob(withKey("last"))
	w.take()
	if err := store.ApplyEach(t.Context(), s, &store.Batch{Enqueues: append(append([]*store.Enqueue{}, held...), plain, last)}); err != nil {
		t.Fatal(err)
	}
	if n, waited := w.take(); waited > onePatience {
		t.Errorf("the first batch waited %d times, for %v", n, waited)
	}
	wantState(t, s, plain.Job.ID, store.Available)
	for _, q := range held {
		wantErr(t, "an enqueue of a held key", q.Err, store.ErrBusy)
	}

	// Another of its keys, which nobody has met.
	plain = newJob()
	if err := store.ApplyEach(t.Context(), s, &store.Batch{Enqueues: []*store.Enqueue{late, plain}}); err != nil {
		t.Fatal(err)
	}
	if n, waited := w.take(); waited > aMoment {
		t.Errorf("a batch that meets another key of a known transaction waited %d times, for %v", n, waited)
	}
	wantErr(t, "an enqueue of another held key", late.Err, store.ErrBusy)
	wantState(t, s, plain.Job.ID, store.Available)

	// What is free gets its turn among the others, and beside them nobody waits.
	for round := 1; errors.Is(last.Err, store.ErrBusy); round++ {
		if round > 20 {
			t.Fatal("a free key is not tried among those that are held")
		}
		batch := &store.Batch{Enqueues: append(append([]*store.Enqueue{}, held...), last), Patient: true}
		if err := store.ApplyEach(t.Context(), s, batch); err != nil {
			t.Fatal(err)
		}
	}
	if last.Err != nil {
		t.Fatal(last.Err)
	}
	time.Sleep(30 * time.Millisecond) //nolint:forbidigo // it is time to try all of them again
	w.take()
	plain = newJob()
	if err := store.ApplyEach(t.Context(), s, &store.Batch{Enqueues: append([]*store.Enqueue{plain}, held...)}); err != nil {
		t.Fatal(err)
	}
	if n, waited := w.take(); waited > aMoment {
		t.Errorf("beside %d keys that are held a batch waited %d times, for %v", len(held), n, waited)
	}
	wantState(t, s, plain.Job.ID, store.Available)

	if err := commit(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all keys are free", func() bool {
		var left []*store.Enqueue
		for _, q := range held {
			if errors.Is(q.Err, store.ErrBusy) {
				left = append(left, q)
			}
		}
		if err := store.ApplyEach(t.Context(), s, &store.Batch{Enqueues: left}); err != nil {
			t.Fatal(err)
		}
		return len(left) == 0
	})
	for i, q := range held {
		if q.Result.ID != theirs[i].Job.ID {
			t.Fatalf("key %d: %+v", i, q.Result)
		}
	}
}

// TestManyBodiesOfOneTransaction: the first run that it is in the way of costs the others a wait,
// the next ones nothing.
func TestManyBodiesOfOneTransaction(t *testing.T) {
	t.Parallel()
	config, url, w := counted(t)
	s := open(t, config)
	node := join(t, s)
	const n = 20
	var jobs []*store.Enqueue
	for range n {
		jobs = append(jobs, newJob())
	}
	enqueue(t, s, jobs...)
	runs, err := s.Claim(t.Context(), demand(node, 1, n))
	if err != nil || len(runs) != n {
		t.Fatalf("claimed %d, %v", len(runs), err)
	}
	tx, commit, _ := callers["pgx"](t, url)
	var sends []*store.Send
	for _, c := range runs {
		sends = append(sends, &store.Send{Job: c.Job.ID, Message: store.Message{Kind: store.MessageSignal, Name: "go"}})
	}
	if err := s.SendTx(t.Context(), tx, sends); err != nil {
		t.Fatal(err)
	}
	w.take()
	var left []*store.Outcome
	for _, c := range runs {
		o := &store.Outcome{Lease: c.Lease, State: store.Retryable, Reason: store.ReasonError, Delay: time.Hour}
		other := newJob()
		if err := store.ApplyEach(t.Context(), s, &store.Batch{Outcomes: []*store.Outcome{o}, Enqueues: []*store.Enqueue{other}}); err != nil {
			t.Fatal(err)
		}
		wantErr(t, "the end of a run that is sent to", o.Err, store.ErrBusy)
		wantState(t, s, other.Job.ID, store.Available)
		left = append(left, o)
	}
	if n, waited := w.take(); waited > onePatience {
		t.Errorf("%d batches waited %d times, for %v", len(runs), n, waited)
	}
	if err := commit(); err != nil {
		t.Fatal(err)
	}
	if err := apply(t, s, &store.Batch{Outcomes: left}); err != nil {
		t.Fatal(err)
	}
	for _, o := range left {
		if o.Err != nil || o.Final != store.Retryable {
			t.Fatalf("repeated: %v, %v", o.Final, o.Err)
		}
	}
}

// TestABusyKeyUndoesNothing: what goes wrong while a key that was held is tried again is an error
// of that enqueue. The rest of its batch has happened, and whoever repeated it would send twice.
func TestABusyKeyUndoesNothing(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	p := newProxy(t, config.URL)
	tx, commit, _ := callers["pgx"](t, config.URL)
	config.URL = p.url
	s := open(t, config)
	target, held := newJob(), newJob(withKey("the held key"))
	enqueue(t, s, target)
	if err := s.EnqueueTx(t.Context(), tx, []*store.Enqueue{newJob(withKey("the held key"))}); err != nil {
		t.Fatal(err)
	}
	if err := store.ApplyEach(t.Context(), s, &store.Batch{Enqueues: []*store.Enqueue{held}}); err != nil {
		t.Fatal(err)
	}
	wantErr(t, "the enqueue of a held key", held.Err, store.ErrBusy)
	time.Sleep(30 * time.Millisecond) //nolint:forbidigo // it is time to try it again
	key := "the held key"
	p.cut.Store(&key)
	send := &store.Send{Job: target.Job.ID, Message: store.Message{Kind: store.MessageSignal, Name: "go"}}
	if err := store.ApplyEach(t.Context(), s, &store.Batch{Sends: []*store.Send{send}, Enqueues: []*store.Enqueue{held}}); err != nil {
		t.Fatalf("the batch has happened: %v", err)
	}
	if p.cuts.Load() != 1 {
		t.Fatal("the key was not tried")
	}
	if send.Err != nil {
		t.Fatal(send.Err)
	}
	wantErr(t, "the enqueue whose answer was lost", held.Err, store.ErrUnavailable)
	if errors.Is(held.Err, store.ErrBusy) {
		t.Fatalf("nobody knows whether it has happened: %v", held.Err)
	}
	if err := commit(); err != nil {
		t.Fatal(err)
	}
	enqueue(t, s, held)
}

// TestAChildWhoseIDIsHeld: an append waits for the id of a child no longer than an enqueue does,
// and is busy with all that comes after it in its run. The rest of the batch happens.
func TestAChildWhoseIDIsHeld(t *testing.T) {
	t.Parallel()
	for _, commits := range []bool{true, false} {
		config, url, w := counted(t)
		s := open(t, config)
		enqueue(t, s, newJob(), newJob())
		runs, err := s.Claim(t.Context(), demand(join(t, s), 1, 2))
		if err != nil || len(runs) != 2 {
			t.Fatalf("claimed %d, %v", len(runs), err)
		}
		run, bystander := runs[0], runs[1]
		child := newJob(func(q *store.Enqueue) { q.KnownID, q.Job.Parent, q.Job.Queue = true, run.Job.ID, "children" })
		tx, commit, rollback := callers["pgx"](t, url)
		theirs := newJob(func(q *store.Enqueue) { q.KnownID, q.Job.ID = true, child.Job.ID })
		if err := s.EnqueueTx(t.Context(), tx, []*store.Enqueue{theirs}); err != nil {
			t.Fatal(err)
		}
		entries := func(from, to int64) (list []store.Entry) {
			for seq := from; seq <= to; seq++ {
				list = append(list, store.Entry{Seq: seq, Kind: store.EntryStep, Path: strconv.FormatInt(seq, 10), Name: "step", Data: []byte("{}")})
			}
			return list
		}
		bearing := &store.Append{Lease: run.Lease, Entries: entries(1, 1), Enqueues: []*store.Enqueue{child}}
		after := &store.Append{Lease: run.Lease, Entries: entries(2, 2)}
		beside := &store.Append{Lease: bystander.Lease, Entries: entries(1, 1)}
		end, other := completed(run), completed(bystander)
		batch := &store.Batch{Appends: []*store.Append{bearing, after, beside}, Outcomes: []*store.Outcome{end, other}}
		w.take()
		if err := store.ApplyEach(t.Context(), s, batch); err != nil {
			t.Fatal(err)
		}
		if n, waited := w.take(); waited > onePatience {
			t.Errorf("it waited %d times, for %v", n, waited)
		}
		for what, err := range map[string]error{"the append": bearing.Err, "the append after it": after.Err, "the end of its run": end.Err} {
			wantErr(t, what, err, store.ErrBusy)
		}
		if beside.Err != nil || other.Err != nil || other.Final != store.Completed {
			t.Fatalf("beside it: %v, %v, %v", beside.Err, other.Final, other.Err)
		}
		wantState(t, s, run.Job.ID, store.Running)

		// From now on it costs others nothing.
		plain := newJob()
		again := &store.Batch{Appends: []*store.Append{bearing, after}, Outcomes: []*store.Outcome{end}, Enqueues: []*store.Enqueue{plain}}
		if err := store.ApplyEach(t.Context(), s, again); err != nil {
			t.Fatal(err)
		}
		if n, waited := w.take(); waited > aMoment {
			t.Errorf("the second time it waited %d times, for %v", n, waited)
		}
		wantErr(t, "the append", bearing.Err, store.ErrBusy)
		wantErr(t, "the end of its run", end.Err, store.ErrBusy)
		wantState(t, s, plain.Job.ID, store.Available)

		if !commits {
			commit = rollback
		}
		if err := commit(); err != nil {
			t.Fatal(err)
		}
		again = &store.Batch{Appends: []*store.Append{bearing, after}, Outcomes: []*store.Outcome{end}}
		if err := store.ApplyEach(t.Context(), s, again); err != nil {
			t.Fatal(err)
		}
		if bearing.Err != nil || after.Err != nil || end.Err != nil || child.Result.Existing != commits {
			t.Fatalf("repeated: %v, %v, %v, the child %+v", bearing.Err, after.Err, end.Err, child.Result)
		}
	}
}

// TestResumeWaitsForNobody: like the other requests of operators it insists a little, and then says
// that the job is busy.
func TestResumeWaitsForNobody(t *testing.T) {
	t.Parallel()
	config, url, w := counted(t)
	s := open(t, config)
	job := newJob()
	enqueue(t, s, job)
	if _, _, err := s.PauseJobs(t.Context(), store.PauseJobsParams{Jobs: []store.ID{job.Job.ID}}); err != nil {
		t.Fatal(err)
	}
	tx, commit, _ := callers["pgx"](t, url)
	send := &store.Send{Job: job.Job.ID, Message: store.Message{Kind: store.MessageSignal, Name: "go"}}
	if err := s.SendTx(t.Context(), tx, []*store.Send{send}); err != nil {
		t.Fatal(err)
	}
	resume := store.ResumeParams{Job: job.Job.ID, Expect: -1, Keep: -1}
	w.take()
	_, _, err := s.Resume(t.Context(), resume)
	wantErr(t, "to resume a job that is sent to", err, store.ErrBusy)
	if n, _ := w.take(); n > 0 {
		t.Errorf("it waited for a lock %d times", n)
	}
	if err := commit(); err != nil {
		t.Fatal(err)
	}
	if state, _, err := s.Resume(t.Context(), resume); err != nil || state != store.Available {
		t.Fatalf("the job is %v, %v", state, err)
	}
}

// TestStrangerToAHeldKey: a batch that wants a key that is known to be held does not queue for it
// while others wait behind the batch. If none do, a batch that has wanted the key for long does.
func TestStrangerToAHeldKey(t *testing.T) {
	t.Parallel()
	config, url, w := counted(t)
	s := open(t, config)
	tx, commit, _ := callers["pgx"](t, url)
	if err := s.EnqueueTx(t.Context(), tx, []*store.Enqueue{newJob(withKey("key"))}); err != nil {
		t.Fatal(err)
	}
	try := func(patient bool) (waited time.Duration) {
		q := newJob(withKey("key"))
		if err := store.ApplyEach(t.Context(), s, &store.Batch{Enqueues: []*store.Enqueue{q}, Patient: patient}); err != nil {
			t.Fatal(err)
		}
		wantErr(t, "an enqueue of the key", q.Err, store.ErrBusy)
		_, waited = w.take()
		return waited
	}
	try(false)
	eventually(t, "it is waited for, by who is patient", func() bool { return try(true) > aMoment })
	for range 10 {
		if waited := try(false); waited > aMoment {
			t.Errorf("a stranger waited for %v", waited)
		}
	}
	if err := commit(); err != nil {
		t.Fatal(err)
	}
}

// TestResumeTakesBackARequest to pause a job that somebody had when it was asked for, and that does
// not run: before the request is applied, and while it is.
func TestResumeTakesBackARequest(t *testing.T) {
	t.Parallel()
	for name, apply := range map[string]func(s store.Store, id store.ID) error{
		"before it is applied":   func(s store.Store, _ store.ID) error { _, err := s.SweepCancels(t.Context()); return err },
		"while it is being read": func(s store.Store, id store.ID) error { return postgres.ApplyPause(t.Context(), s, id) },
	} {
		for state, job := range map[store.State]*store.Enqueue{store.Available: newJob(), store.Scheduled: newJob(func(q *store.Enqueue) {
			q.Delay = time.Hour
		})} {
			t.Run(fmt.Sprint(name, "/", state), func(t *testing.T) {
				t.Parallel()
				config := used(t, nil)
				s := open(t, config)
				enqueue(t, s, job)
				id := job.Job.ID
				tx, commit, _ := callers["pgx"](t, config.URL)
				if err := s.SendTx(t.Context(), tx, []*store.Send{signal(id, "go")}); err != nil {
					t.Fatal(err)
				}
				paused, _, err := s.PauseJobs(t.Context(), store.PauseJobsParams{Jobs: []store.ID{id}})
				if err != nil || paused[0].State != store.Running {
					t.Fatalf("paused: %+v, %v", paused, err)
				}
				if err := commit(); err != nil {
					t.Fatal(err)
				}
				resume := store.ResumeParams{Job: id, Expect: -1, Keep: -1}
				if got, _, err := s.Resume(t.Context(), resume); err != nil || got != state {
					t.Fatalf("resumed: %v, %v", got, err)
				}
				if err := apply(s, id); err != nil {
					t.Fatal(err)
				}
				wantState(t, s, id, state)
				if _, _, err := s.Resume(t.Context(), resume); !errors.Is(err, store.ErrConflict) {
					t.Errorf("a second resume: %v", err)
				}
			})
		}
	}
}
