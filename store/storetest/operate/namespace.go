package operate

import (
	"errors"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// namespaceTests: a call that names a job by its id finds it in the job's namespace and in "", and
// in no other.
var namespaceTests = env.Tests{
	"a_namespace_is_a_fence_for_what_people_do":  fenceOfPeople,
	"a_namespace_is_a_fence_for_resume_and_fork": fenceOfRuns,
	"a_namespace_is_a_fence_for_messages":        fenceOfMessages,
	"a_namespace_is_a_fence_for_callbacks":       fenceOfCallbacks,
	"a_namespace_is_a_fence_for_reads":           fenceOfReads,
	"a_namespace_is_a_fence_among_many_jobs":     fenceAmongMany,
	"an_id_of_another_namespace_is_taken":        takenIDs,
}

// elsewhere is a namespace that has no job.
const elsewhere = "elsewhere"

// eachVerb calls what people do to jobs, in a namespace.
func eachVerb(e *env.Env, namespace string, ids []store.ID, check func(results []store.Result, wakes []store.Wake, err error)) {
	cancel := store.CancelParams{Namespace: namespace, Jobs: ids, Actor: "ada"}
	check(e.Store.Cancel(e.Ctx, cancel))
	cancel.Terminate = true
	check(e.Store.Cancel(e.Ctx, cancel))
	check(e.Store.Retry(e.Ctx, store.RetryParams{Namespace: namespace, Jobs: ids, Actor: "ada"}))
	check(e.Store.PauseJobs(e.Ctx, store.PauseJobsParams{Namespace: namespace, Jobs: ids, Actor: "ada"}))
}

func fenceOfPeople(e *env.Env) {
	waits, due := e.Add(env.Delay(time.Hour)), e.Add()
	finished := e.ClaimOne(e.Join(), due)
	e.End(finished, store.Failed)
	run := e.Durable(1)
	ids := []store.ID{waits, run.Job.ID, due}
	before := []store.Record{e.Get(waits), e.Get(run.Job.ID), e.Get(due)}
	eachVerb(e, elsewhere, ids, func(results []store.Result, _ []store.Wake, err error) {
		e.WantAnswers(results, err, ids, slices.Repeat([]store.Result{{Err: store.ErrNotFound}}, len(ids))...)
	})
	for i, id := range ids {
		e.Equal("a job that was named in another namespace", e.Get(id), before[i])
	}
	results, _, err := e.Store.PauseJobs(e.Ctx, store.PauseJobsParams{Namespace: env.Namespace, Jobs: ids[:1], Actor: "ada"})
	if err != nil || results[0].Err != nil || results[0].State != store.Waiting {
		e.Fatalf("in its own namespace: %+v, %v", results, err)
	}
}

func fenceOfRuns(e *env.Env) {
	held := e.Held()
	id := held.Job.ID
	resume := store.ResumeParams{Namespace: elsewhere, Job: id, Keep: -1, Expect: -1, Actor: "ada"}
	e.WantNoResume(resume, store.ErrNotFound)
	fork := e.Job()
	params := store.ForkParams{Namespace: elsewhere, From: id, Keep: 0, Job: fork.Job, Actor: "ada"}
	e.WantErr("a fork of a job of another namespace", env.ErrOf(e.Store.Fork(e.Ctx, params)), store.ErrNotFound)
	if _, err := e.Store.Get(e.Ctx, "", fork.Job.ID); !errors.Is(err, store.ErrNotFound) {
		e.Fatalf("the fork is there: %v", err)
	}
	params.Namespace = env.Namespace
	e.NoError("Fork", env.ErrOf(e.Store.Fork(e.Ctx, params)))
	resume.Namespace = env.Namespace
	e.Resume(resume, store.Available)
}

// sendIn sends a message to a job of a namespace.
func sendIn(e *env.Env, namespace string, job store.ID, m store.Message, key string) *store.Send {
	e.Helper()
	q := &store.Send{Namespace: namespace, Job: job, Message: m, Key: key}
	e.Apply(&store.Batch{Sends: []*store.Send{q}})
	return q
}

func fenceOfMessages(e *env.Env) {
	run := e.Durable(1)
	id := run.Job.ID
	m := store.Message{Kind: store.MessageSignal, Name: "go"}
	for _, key := range []string{"", "k"} {
		q := sendIn(e, elsewhere, id, m, key)
		e.WantErr("a message to a job of another namespace", q.Err, store.ErrNotFound)
	}
	q := sendIn(e, env.Namespace, id, m, "k")
	if q.Err != nil || q.Result.Duplicate {
		e.Fatalf("in its own namespace: %+v, %v", q.Result, q.Err)
	}
	// Another namespace does not learn that there is such a message.
	q = sendIn(e, elsewhere, id, m, "k")
	e.WantErr("a message that was sent before", q.Err, store.ErrNotFound)
	e.End(run, store.Completed)
	q = sendIn(e, elsewhere, id, m, "")
	e.WantErr("a message to one that has finished", q.Err, store.ErrNotFound)
	if got := e.Messages(id); len(got) > 1 {
		e.Fatalf("it received %+v", got)
	}
}

func fenceOfCallbacks(e *env.Env) {
	run := e.Durable(1)
	id := run.Job.ID
	e.Write(&run, store.Entry{Seq: 2, Kind: store.EntryCallback, Path: "2", Name: "token"})
	for _, kind := range []store.MessageKind{store.MessageHeartbeat, store.MessageCallback} {
		m := store.Message{Kind: kind, Name: "token"}
		e.WantErr("an answer from another namespace", sendIn(e, elsewhere, id, m, "").Err, store.ErrNotFound)
		if q := sendIn(e, env.Namespace, id, m, ""); q.Err != nil {
			e.Fatalf("an answer from its own namespace: %v", q.Err)
		}
	}
}

func fenceOfReads(e *env.Env) {
	run := e.Durable(2)
	id := run.Job.ID
	e.Send(id, store.Message{Kind: store.MessageSignal, Name: "go"})
	ended := e.ClaimOne(e.Join(), e.Add())
	e.End(ended, store.Completed)
	for _, where := range []string{elsewhere, env.Namespace, ""} {
		there := where != elsewhere
		_, getErr := e.Store.Get(e.Ctx, where, id)
		_, obstaclesErr := e.Store.Obstacles(e.Ctx, where, id)
		for what, err := range map[string]error{"Get": getErr, "Obstacles": obstaclesErr} {
			if (err == nil) != there || !there && !errors.Is(err, store.ErrNotFound) {
				e.Fatalf("%s in %q: %v", what, where, err)
			}
		}
		journals, err := e.Store.Journals(e.Ctx, where, []store.ID{id})
		if err != nil || len(journals) != 1 || journals[0].Job != id || (len(journals[0].Entries) == 2) != there ||
			(len(journals[0].Messages) == 1) != there {
			e.Fatalf("Journals in %q: %+v, %v", where, journals, err)
		}
		for _, newest := range []bool{false, true} {
			entries, err := e.Store.Entries(e.Ctx, store.JournalParams{Namespace: where, Job: id, Newest: newest, Limit: 10})
			if err != nil || (len(entries) == 2) != there || !there && len(entries) > 0 {
				e.Fatalf("Entries in %q: %+v, %v", where, entries, err)
			}
		}
		messages, err := e.Store.Messages(e.Ctx, store.InboxParams{Namespace: where, Job: id, Limit: 10})
		if err != nil || (len(messages) == 1) != there {
			e.Fatalf("Messages in %q: %+v, %v", where, messages, err)
		}
		ends, err := e.Store.Ended(e.Ctx, where, []store.ID{id, ended.Job.ID})
		switch {
		case err != nil:
			e.Fatalf("Ended in %q: %v", where, err)
		case there && (len(ends) != 1 || ends[0].ID != ended.Job.ID || ends[0].State != store.Completed):
			e.Fatalf("Ended in %q: %+v", where, ends)
		case !there && (len(ends) != 2 || ends[0].State != 0 || ends[1].State != 0 || ends[1].Result != nil):
			e.Fatalf("Ended in %q: %+v", where, ends)
		}
	}
}

// fenceAmongMany: in one call there are jobs of the namespace and others, in any order, and some
// twice.
func fenceAmongMany(e *env.Env) {
	there := e.InOtherSpace()
	var ids []store.ID
	own := map[store.ID]bool{}
	for i := range 6 {
		from := e
		if i%2 == 0 {
			from = there
		}
		id := from.Add(env.Delay(time.Hour))
		own[id] = from == e
		ids = append(ids, id)
	}
	ids = append(ids, ids[0], ids[1], store.NewID())
	results, _, err := e.Store.PauseJobs(e.Ctx, store.PauseJobsParams{Namespace: env.Namespace, Jobs: ids, Actor: "ada"})
	if err != nil || len(results) != len(ids) {
		e.Fatalf("PauseJobs: %+v, %v", results, err)
	}
	for i, r := range results {
		if r.Job != ids[i] || own[r.Job] != (r.Err == nil) || own[r.Job] != (r.State == store.Waiting) {
			e.Fatalf("result %d: %+v; it is of the namespace: %v", i, r, own[r.Job])
		}
	}
	for id, paused := range own {
		want := store.Scheduled
		if paused {
			want = store.Waiting
		}
		e.WantState(id, want)
	}
}

// takenIDs: who enqueues with the id of a job of another namespace is not told that it exists.
func takenIDs(e *env.Env) {
	there := e.InOtherSpace()
	for name, change := range map[string]func(*store.Enqueue){
		"plain":                 func(*store.Enqueue) {},
		"with an id of his own": func(q *store.Enqueue) { q.KnownID = true },
		"with a unique key":     env.Unique("k"),
		"in line":               env.Ordered("k"),
	} {
		id := e.Add(change)
		before := e.Get(id)
		q := there.Job(change, func(q *store.Enqueue) { q.Job.ID = id })
		beside := there.Job()
		e.Apply(&store.Batch{Enqueues: []*store.Enqueue{q, beside}})
		e.WantErr(name, q.Err, store.ErrConflict)
		e.Equal(name, q.Result, store.EnqueueResult{})
		e.WantState(beside.Job.ID, store.Available)
		e.Equal(name+": the job", e.Get(id), before)
		from := e.Add()
		fork := q.Job
		fork.UniqueKey, fork.UniqueStates = nil, 0
		e.WantErr(name+": a fork", env.ErrOf(e.Store.Fork(e.Ctx, store.ForkParams{From: from, Job: fork})), store.ErrConflict)
		again := e.Job(change, func(q *store.Enqueue) { q.Job.ID = id })
		e.Apply(&store.Batch{Enqueues: []*store.Enqueue{again}})
		if again.Err != nil || !again.Result.Existing || again.Result.ID != id {
			e.Errorf("%s: in its own namespace: %+v, %v", name, again.Result, again.Err)
		}
		e.Terminate(id)
	}
}
