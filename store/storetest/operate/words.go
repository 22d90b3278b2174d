package operate

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var wordsTests = env.Tests{
	"what_is_refused_is_refused_in_the_same_words":  wordsOfRefusals,
	"what_a_call_fails_with_says_which_call_it_was": wordsOfEndedContexts,
}

// saying is an operation that fails, and what it says. The job that it is about is {job} there.
type saying struct {
	what string
	job  store.ID
	err  error
	want string
}

// places are jobs in all their states.
type places struct {
	unknown                                                             store.ID
	completed, failed, cancelled, available, waiting, later, cancelling store.ID
	running                                                             store.Claimed
	stale                                                               store.Lease // of a job that was given back
}

func newPlaces(e *env.Env) (p places) {
	e.Helper()
	p.unknown = e.IDs.Next()
	done, bad := e.Durable(1), e.Durable(1)
	e.End(done, store.Completed)
	e.End(bad, store.Failed)
	p.completed, p.failed = done.Job.ID, bad.Job.ID
	p.cancelled = e.Add()
	e.Cancel(p.cancelled)
	p.waiting = e.Parked(&store.Wait{Until: e.Clock.Now().Add(time.Hour)}).Job.ID
	p.cancelling = e.Parked(&store.Wait{Until: e.Clock.Now().Add(time.Hour)}).Job.ID
	given := e.Started()
	p.stale = given.Lease
	e.End(given, store.Scheduled)
	p.running = e.Started()
	e.Write(&p.running, env.Entry(1, store.EntryCallback, "token"), env.Entry(2, store.EntryCallback, "answered"))
	e.Send(p.running.Job.ID, env.Callback(store.MessageCallback, "answered"))
	p.available = e.Add()
	p.later = e.Add(env.Delay(time.Hour))
	e.Cancel(p.cancelling)
	return p
}

// look returns all that there is to see of the jobs.
func (p *places) look(e *env.Env) (records []store.Record, journals []store.Journal) {
	e.Helper()
	for _, id := range []store.ID{
		p.completed, p.failed, p.cancelled, p.available, p.waiting, p.later, p.cancelling, p.running.Job.ID, p.stale.Job,
	} {
		records, journals = append(records, e.Get(id)), append(journals, e.Journal(id))
	}
	return records, journals
}

// wordsOfRefusals: Reading: the class comes first, and once; the job is named once. Who passes an
// error on relies on it. And what is refused changes nothing.
func wordsOfRefusals(e *env.Env) {
	p := newPlaces(e)
	records, journals := p.look(e)
	for _, s := range slices.Concat(refusedVerbs(e, p), refusedWrites(e, p), refusedEnqueues(e, p), refusedNodesAndReads(e, p)) {
		want := strings.ReplaceAll(s.want, "{job}", s.job.String())
		if s.err == nil || s.err.Error() != want {
			e.Errorf("%s of a %s job says\n     %v\nnot  %s", s.what, stateOf(e, s.job), s.err, want)
		}
	}
	recordsAfter, journalsAfter := p.look(e)
	e.Equal("records after the refusals", recordsAfter, records)
	e.Equal("journals after the refusals", journalsAfter, journals)
}

// refusedVerbs are those of people.
func refusedVerbs(e *env.Env, p places) []saying {
	run := p.running.Job.ID
	return []saying{
		{"Get", p.unknown, second(e.Store.Get(e.Ctx, "", p.unknown)), "holdfast: not found: job {job}"},
		{"Obstacles", p.unknown, second(e.Store.Obstacles(e.Ctx, "", p.unknown)), "holdfast: not found: job {job}"},
		{"Get", store.ID{0xff}, second(e.Store.Get(e.Ctx, "", store.ID{0xff})), "holdfast: not found: job {job}"},
		{"Cancel", p.unknown, cancelOne(e, p.unknown, false), "holdfast: not found: job {job}"},
		{"terminating", p.unknown, cancelOne(e, p.unknown, true), "holdfast: not found: job {job}"},
		{"Retry", p.unknown, e.TryRetry(p.unknown).Err, "holdfast: not found: job {job}"},
		{"Retry", p.completed, e.TryRetry(p.completed).Err, "holdfast: conflict: job {job} is completed"},
		{"Retry", run, e.TryRetry(run).Err, "holdfast: conflict: job {job} is running"},
		{"Retry", p.waiting, e.TryRetry(p.waiting).Err, "holdfast: conflict: job {job} is waiting"},
		{"PauseJobs", p.unknown, e.TryPause(p.unknown)[0].Err, "holdfast: not found: job {job}"},
		{"PauseJobs", p.failed, e.TryPause(p.failed)[0].Err, "holdfast: conflict: job {job} is failed"},
		{"Resume", p.unknown, tryResume(e, env.Resumption(p.unknown)), "holdfast: not found: job {job}"},
		{"Resume", p.completed, tryResume(e, env.Resumption(p.completed)), "holdfast: conflict: job {job} is completed"},
		{"Resume from the beginning", p.completed, tryResume(e, env.Cut(p.completed, 0)), "holdfast: conflict: job {job} is completed"},
		{"Resume", p.available, tryResume(e, env.Resumption(p.available)), "holdfast: conflict: job {job} is available"},
		{"Resume", run, tryResume(e, env.Resumption(run)), "holdfast: conflict: job {job} is running"},
		{"Resume", p.waiting, tryResume(e, env.Resumption(p.waiting)), "holdfast: conflict: job {job} is waiting"},
		{"Resume", p.later, tryResume(e, env.Resumption(p.later)), "holdfast: conflict: job {job} is scheduled"},
		{
			"Resume of a journal that moved", p.failed, tryResume(e, store.ResumeParams{Job: p.failed, Keep: 1, Expect: 7}),
			"holdfast: conflict: the journal of job {job} now ends at entry 1",
		},
		{"Edit", p.unknown, second(e.TryEdit(env.Edits(p.unknown, store.Edit{}))), "holdfast: not found: job {job}"},
		{"Depend", p.unknown, second(e.TryDepend(p.unknown, store.RunIfFailed, run)), "holdfast: not found: job {job}"},
		{"Depend", run, second(e.TryDepend(run, store.RunIfFailed, p.completed)), "holdfast: conflict: job {job} is running"},
		{"Edit", p.completed, tryPriority(e, p.completed), "holdfast: conflict: job {job} is completed"},
		{"Edit", run, tryPriority(e, run), "holdfast: conflict: job {job} is running"},
		{
			"Edit of the run time", p.waiting, second(e.TryEdit(env.Edits(p.waiting, store.Edit{RunAt: new(e.Clock.Now())}))),
			"holdfast: conflict: job {job} is waiting",
		},
		{
			"Edit of the run time", p.cancelling, second(e.TryEdit(env.Edits(p.cancelling, store.Edit{RunAt: new(e.Clock.Now())}))),
			"holdfast: conflict: job {job} was asked to cancel, and is to run at once to end itself",
		},
		{
			"Edit of the args", p.waiting, second(e.TryEdit(env.Edits(p.waiting, store.Edit{Args: []byte(`1`)}))),
			"holdfast: conflict: job {job} has a journal, which began with its args",
		},
		{
			"Edit of the priority", run, second(e.TryEdit(env.Edits(run, store.Edit{Priority: new(7)}))),
			"holdfast: invalid request: job {job}: priority 7 is not between 1 and 4",
		},
		{"Delete", p.unknown, e.TryDelete(p.unknown)[0].Err, "holdfast: not found: job {job}"},
		{"Delete", run, e.TryDelete(run)[0].Err, "holdfast: conflict: job {job} is running"},
		{"Delete", p.later, e.TryDelete(p.later)[0].Err, "holdfast: conflict: job {job} is scheduled"},
		{"Fork", p.unknown, tryFork(e, store.ForkParams{From: p.unknown}), "holdfast: not found: job {job}"},
		{
			"Fork that keeps nothing", p.failed, tryFork(e, store.ForkParams{From: p.failed, Keep: -1}),
			"holdfast: invalid request: a fork of job {job} cannot have a unique key, or keep -1 entries",
		},
		{
			"Fork of another journal", p.failed, tryFork(e, store.ForkParams{From: p.failed, Keep: 1, Next: &store.Entry{Seq: 2, LeaseNumber: 9}}),
			"holdfast: conflict: entry 2 of job {job} was rewritten or removed",
		},
	}
}

// refusedWrites are messages, and what runs write and end with.
func refusedWrites(e *env.Env, p places) []saying {
	run := p.running.Job.ID
	sends := func(id store.ID, m store.Message) error { return e.TrySend(id, m, "").Err }
	return []saying{
		{"a signal", p.unknown, sends(p.unknown, env.Signal("s")), "holdfast: not found: job {job}"},
		{"a signal", p.cancelled, sends(p.cancelled, env.Signal("s")), "holdfast: conflict: job {job} is cancelled"},
		{"a callback", run, sends(run, env.Callback(store.MessageCallback, "none")), "holdfast: not found: job {job} has no such callback"},
		{
			"a callback", run, sends(run, env.Callback(store.MessageHeartbeat, "answered")),
			"holdfast: conflict: the callback of job {job} is already answered",
		},
		{
			"what is no message", run, sends(run, store.Message{Kind: store.MessageChild}),
			"holdfast: invalid request: job {job}: a message of kind 5 with codec 0 cannot be sent",
		},

		{"an outcome", p.stale.Job, e.TryEnd(&store.Outcome{Lease: p.stale, State: store.Completed}), "holdfast: lease lost: job {job}"},
		{
			"an outcome", run, e.TryEnd(&store.Outcome{Lease: p.running.Lease, State: store.Running}),
			"holdfast: invalid request: job {job}: a run cannot end as running",
		},
		{
			"parking", run, e.TryEnd(&store.Outcome{Lease: p.running.Lease, State: store.Waiting}),
			"holdfast: invalid request: job {job}: a parked run must say what it waits for",
		},
		{
			"continuing", run, e.TryEnd(&store.Outcome{Lease: p.running.Lease, State: store.Failed, Continue: &store.Continue{}}),
			"holdfast: invalid request: job {job}: a run that ends as failed cannot continue as new",
		},
		{"a checkpoint", p.stale.Job, tryCheckpoint(e, p.stale), "holdfast: lease lost: job {job}"},
		{"an append", p.stale.Job, e.TryAppend(&store.Append{Lease: p.stale, Entries: env.Steps(1, 1)}), "holdfast: lease lost: job {job}"},
		{"an append", run, e.TryAppend(&store.Append{Lease: p.running.Lease, Entries: env.Steps(1, 1)}), "holdfast: lease lost: job {job}"},
		{
			"an append", run, e.TryAppend(&store.Append{Lease: p.running.Lease, Entries: []store.Entry{env.Step(3), env.Step(5)}}),
			"holdfast: invalid request: job {job}: entry 5 does not follow the one before it",
		},
	}
}

// refusedNodesAndReads are the calls of unknown nodes, and reads that ask for too much.
func refusedNodesAndReads(e *env.Env, p places) []saying {
	run := p.running.Job.ID
	match := store.Filter{Metadata: []store.Match{{Path: "a..b", Value: []byte("1")}}}
	return []saying{
		{"Beat", run, second(e.Store.Beat(e.Ctx, store.BeatParams{Node: 77})), "holdfast: node declared dead: node 77"},
		{"Claim", run, second(e.Store.Claim(e.Ctx, e.Demand(77, 1))), "holdfast: node declared dead: node 77"},
		{"List", run, second(e.Store.List(e.Ctx, store.ListParams{})), "holdfast: invalid request: the limit 0 is not between 1 and 1000"},
		{
			"List", run, second(e.Store.List(e.Ctx, store.ListParams{Limit: 1, After: "here"})),
			`holdfast: invalid request: unknown cursor "here"; use the one returned with the previous page`,
		},
		{
			"List by a path", run, second(e.Store.List(e.Ctx, store.ListParams{Filter: match, Limit: 1})),
			`holdfast: invalid request: the path "a..b" has an empty name`,
		},
		{
			"Count by a path", run, second(e.Store.Count(e.Ctx, store.CountParams{Filter: match})),
			`holdfast: invalid request: the path "a..b" has an empty name`,
		},
		{
			"List by run time", run, second(e.Store.List(e.Ctx, store.ListParams{
				Filter: store.Filter{States: []store.State{store.Failed}}, Sort: store.SortRunAt, Limit: 1,
			})),
			"holdfast: invalid request: failed jobs cannot be sorted by run_at",
		},
		{
			"Entries", run, second(e.Store.Entries(e.Ctx, store.JournalParams{Job: run, Limit: 2000})),
			"holdfast: invalid request: the limit 2000 is not between 1 and 1000",
		},
		{
			"Messages", run, second(e.Store.Messages(e.Ctx, store.InboxParams{Job: run})),
			"holdfast: invalid request: the limit 0 is not between 1 and 1000",
		},
		{
			"Pause", run, e.Store.Pause(e.Ctx, store.PauseParams{Namespace: env.Namespace}),
			`holdfast: invalid request: the queue "" or the namespace "default" is not a valid name`,
		},
	}
}

// refusedEnqueues are an enqueue whose unique key is taken, one with a signal to a job that has
// finished and keeps its key, and a child of another job.
func refusedEnqueues(e *env.Env, p places) []saying {
	taken := e.Add(env.Unique("key"))
	refused := e.Try(env.Unique("key"), env.OnConflict(store.Reject))
	kept := e.Add(env.Key("order-42"), env.KeepKey(time.Hour))
	e.Cancel(kept)
	late := e.Try(env.Key("order-42"), env.Along("paid"))
	again := e.Add(env.Key("order-43"))
	e.Cancel(again)
	holder := e.Add(env.Key("order-43"))
	child := e.Job()
	stranger := &store.Append{
		Lease: p.running.Lease, Entries: []store.Entry{{Seq: 3, Kind: store.EntryChild}}, Enqueues: []*store.Enqueue{child},
	}
	return []saying{
		{"an enqueue", taken, refused.Err, "holdfast: conflict: its unique key is held by job {job}"},
		{"a signal with an enqueue", kept, late.Err, `holdfast: conflict: job {job} has finished and keeps the key "order-42"`},
		{"Retry", holder, e.TryRetry(again).Err, `holdfast: conflict: its key "order-43" is held by job {job}`},
		{"Resume", holder, tryResume(e, env.Resumption(again)), `holdfast: conflict: its key "order-43" is held by job {job}`},
		{"Find", taken, findKey(e, "order-44"), `holdfast: not found: no job of kind "send" has the key "order-44"`},
		{
			"a child", child.Job.ID, e.TryAppend(stranger),
			"holdfast: invalid request: job {job} is not a child of the job that enqueues it",
		},
	}
}

// wordsOfEndedContexts: Reading: what is no refusal names the call. The model, where no call takes
// long, may not.
func wordsOfEndedContexts(e *env.Env) {
	if e.Store.Traits().Name == "model" {
		return
	}
	run := e.Started()
	ended, end := context.WithCancel(e.Ctx)
	end()
	for _, o := range operations(e, run) {
		err, want := o.call(ended), strings.ReplaceAll(o.words, "{job}", run.Job.ID.String())+": context canceled"
		if !errors.Is(err, context.Canceled) || err.Error() != want {
			e.Errorf("it says\n     %v\nnot  %s", err, want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func third[T any](_ T, _ []store.Wake, err error) error { return err }

func findKey(e *env.Env, key string) error {
	return second(e.Store.Find(e.Ctx, store.JobKey{Namespace: env.Namespace, Kind: "send", Key: key}))
}

func cancelOne(e *env.Env, id store.ID, terminate bool) error {
	e.Helper()
	results, _, err := e.Store.Cancel(e.Ctx, store.CancelParams{Jobs: []store.ID{id}, Terminate: terminate})
	if err != nil {
		e.Fatal(err)
	}
	return results[0].Err
}

func tryResume(e *env.Env, params store.ResumeParams) error {
	e.Helper()
	_, _, err := e.Store.Resume(e.Ctx, params)
	return err
}

func tryPriority(e *env.Env, id store.ID) error {
	e.Helper()
	return second(e.TryEdit(env.Edits(id, store.Edit{Priority: new(1)})))
}

func tryFork(e *env.Env, params store.ForkParams) error {
	e.Helper()
	params.Job = e.Job().Job
	return second(e.Store.Fork(e.Ctx, params))
}

func tryCheckpoint(e *env.Env, lease store.Lease) error {
	e.Helper()
	c := &store.CheckpointWrite{Lease: lease}
	e.Apply(&store.Batch{Checkpoints: []*store.CheckpointWrite{c}})
	return c.Err
}

// stateOf is a job's state, for messages.
func stateOf(e *env.Env, id store.ID) string {
	r, err := e.Store.Get(e.Ctx, "", id)
	if err != nil {
		return "missing"
	}
	return r.State.String()
}
