package storetest

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

var wordsTests = []test{
	{"what_is_refused_is_refused_in_the_same_words", wordsOfRefusals},
	{"what_a_call_fails_with_says_which_call_it_was", wordsOfEndedContexts},
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
	unknown                                                 store.ID
	completed, failed, cancelled, available, waiting, later store.ID
	running                                                 store.Claimed
	stale                                                   store.Lease // of a job that was given back
}

func (e *env) places() (p places) {
	e.Helper()
	p.unknown = e.ids.next()
	done, bad := e.durable(1), e.durable(1)
	e.end(done, store.Completed)
	e.end(bad, store.Failed)
	p.completed, p.failed = done.Job.ID, bad.Job.ID
	p.cancelled = e.add()
	e.cancel(p.cancelled)
	p.waiting = e.parked(&store.Wait{Until: e.clock.Now().Add(time.Hour)}).Job.ID
	given := e.started()
	p.stale = given.Lease
	e.end(given, store.Scheduled)
	p.running = e.started()
	e.write(&p.running, entry(1, store.EntryCallback, "token"), entry(2, store.EntryCallback, "answered"))
	e.send(p.running.Job.ID, callback(store.MessageCallback, "answered"))
	p.available = e.add()
	p.later = e.add(delay(time.Hour))
	return p
}

// wordsOfRefusals: Reading: the class comes first, and once; the job is named once. Who passes an
// error on relies on it.
func wordsOfRefusals(e *env) {
	p := e.places()
	run := p.running.Job.ID
	sends := func(id store.ID, m store.Message) error { return e.trySend(id, m, "").Err }
	list := []saying{
		{"Get", p.unknown, second(e.store.Get(e.ctx, p.unknown)), "holdfast: not found: job {job}"},

		{"Cancel", p.unknown, e.cancelOne(p.unknown, false), "holdfast: not found: job {job}"},
		{"terminating", p.unknown, e.cancelOne(p.unknown, true), "holdfast: not found: job {job}"},
		{"Retry", p.unknown, e.tryRetry(p.unknown).Err, "holdfast: not found: job {job}"},
		{"Retry", p.completed, e.tryRetry(p.completed).Err, "holdfast: conflict: job {job} is completed"},
		{"Retry", run, e.tryRetry(run).Err, "holdfast: conflict: job {job} is running"},
		{"Retry", p.waiting, e.tryRetry(p.waiting).Err, "holdfast: conflict: job {job} is waiting"},
		{"PauseJobs", p.unknown, e.tryPause(p.unknown)[0].Err, "holdfast: not found: job {job}"},
		{"PauseJobs", p.failed, e.tryPause(p.failed)[0].Err, "holdfast: conflict: job {job} is failed"},
		{"Resume", p.unknown, e.tryResume(resumption(p.unknown)), "holdfast: not found: job {job}"},
		{"Resume", p.completed, e.tryResume(resumption(p.completed)), "holdfast: conflict: job {job} is completed"},
		{"Resume", run, e.tryResume(resumption(run)), "holdfast: conflict: job {job} is running"},
		{"Resume", p.waiting, e.tryResume(resumption(p.waiting)), "holdfast: conflict: job {job} is waiting"},
		{"Resume", p.later, e.tryResume(resumption(p.later)), "holdfast: conflict: job {job} is scheduled"},
		{
			"Resume of a journal that moved", p.failed, e.tryResume(store.ResumeParams{Job: p.failed, Keep: 1, Expect: 7}),
			"holdfast: conflict: the journal of job {job} now ends at entry 1",
		},

		{"Fork", p.unknown, e.tryFork(store.ForkParams{From: p.unknown}), "holdfast: not found: job {job}"},
		{
			"Fork that keeps nothing", p.failed, e.tryFork(store.ForkParams{From: p.failed, Keep: -1}),
			"holdfast: invalid request: a fork of job {job} cannot have a unique key, or keep -1 entries",
		},
		{
			"Fork of another journal", p.failed, e.tryFork(store.ForkParams{From: p.failed, Keep: 1, Next: &store.Entry{Seq: 2, LeaseNumber: 9}}),
			"holdfast: conflict: entry 2 of job {job} was rewritten or removed",
		},

		{"a signal", p.unknown, sends(p.unknown, signal("s")), "holdfast: not found: job {job}"},
		{"a signal", p.cancelled, sends(p.cancelled, signal("s")), "holdfast: conflict: job {job} is cancelled"},
		{"a callback", run, sends(run, callback(store.MessageCallback, "none")), "holdfast: not found: job {job} has no such callback"},
		{
			"a callback", run, sends(run, callback(store.MessageHeartbeat, "answered")),
			"holdfast: conflict: the callback of job {job} is already answered",
		},
		{
			"what is no message", run, sends(run, store.Message{Kind: store.MessageChild}),
			"holdfast: invalid request: job {job}: a message of kind 5 with codec 0 cannot be sent",
		},

		{"an outcome", p.stale.Job, e.tryEnd(&store.Outcome{Lease: p.stale, State: store.Completed}), "holdfast: lease lost: job {job}"},
		{
			"an outcome", run, e.tryEnd(&store.Outcome{Lease: p.running.Lease, State: store.Running}),
			"holdfast: invalid request: job {job}: a run cannot end as running",
		},
		{
			"parking", run, e.tryEnd(&store.Outcome{Lease: p.running.Lease, State: store.Waiting}),
			"holdfast: invalid request: job {job}: a parked run must say what it waits for",
		},
		{
			"continuing", run, e.tryEnd(&store.Outcome{Lease: p.running.Lease, State: store.Failed, Continue: &store.Continue{}}),
			"holdfast: invalid request: job {job}: a run that ends as failed cannot continue as new",
		},
		{"a checkpoint", p.stale.Job, e.tryCheckpoint(p.stale), "holdfast: lease lost: job {job}"},
		{"an append", p.stale.Job, e.tryAppend(&store.Append{Lease: p.stale, Entries: steps(1, 1)}), "holdfast: lease lost: job {job}"},
		{"an append", run, e.tryAppend(&store.Append{Lease: p.running.Lease, Entries: steps(1, 1)}), "holdfast: lease lost: job {job}"},
		{
			"an append", run, e.tryAppend(&store.Append{Lease: p.running.Lease, Entries: []store.Entry{step(3), step(5)}}),
			"holdfast: invalid request: job {job}: entry 5 does not follow the one before it",
		},

		{"Beat", run, second(e.store.Beat(e.ctx, store.BeatParams{Node: 77})), "holdfast: node declared dead: node 77"},
		{"Claim", run, second(e.store.Claim(e.ctx, e.demand(77, 1))), "holdfast: node declared dead: node 77"},
		{"List", run, second(e.store.List(e.ctx, store.ListParams{})), "holdfast: invalid request: the limit 0 is not between 1 and 1000"},
		{
			"List", run, second(e.store.List(e.ctx, store.ListParams{Limit: 1, After: "here"})),
			`holdfast: invalid request: unknown cursor "here"; use the one returned with the previous page`,
		},
		{
			"Entries", run, second(e.store.Entries(e.ctx, store.JournalParams{Job: run, Limit: 2000})),
			"holdfast: invalid request: the limit 2000 is not between 1 and 1000",
		},
		{
			"Messages", run, second(e.store.Messages(e.ctx, store.InboxParams{Job: run})),
			"holdfast: invalid request: the limit 0 is not between 1 and 1000",
		},
		{
			"Pause", run, e.store.Pause(e.ctx, store.PauseParams{Namespace: namespace}),
			`holdfast: invalid request: the queue "" or the namespace "default" is not a valid name`,
		},
	}
	taken := e.add(unique("key"))
	refused := e.job(unique("key"), onConflict(store.Reject))
	e.apply(&store.Batch{Enqueues: []*store.Enqueue{refused}})
	list = append(list, saying{"an enqueue", taken, refused.Err, "holdfast: conflict: its unique key is held by job {job}"})
	child := e.job()
	list = append(list, saying{
		"a child", child.Job.ID, e.tryAppend(&store.Append{
			Lease: p.running.Lease, Entries: []store.Entry{{Seq: 3, Kind: store.EntryChild}}, Enqueues: []*store.Enqueue{child},
		}),
		"holdfast: invalid request: job {job} is not a child of the job that enqueues it",
	})
	for _, s := range list {
		want := strings.ReplaceAll(s.want, "{job}", s.job.String())
		if s.err == nil || s.err.Error() != want {
			e.Errorf("%s of a %s job says\n     %v\nnot  %s", s.what, e.stateOf(s.job), s.err, want)
		}
	}
}

// wordsOfEndedContexts: Reading: what is no refusal names the call. The model, where no call takes
// long, may not.
func wordsOfEndedContexts(e *env) {
	if e.store.Traits().Name == "model" {
		return
	}
	id := e.add()
	ended, end := context.WithCancel(e.ctx)
	end()
	for want, err := range map[string]error{
		"apply":                               e.store.Apply(ended, &store.Batch{Enqueues: []*store.Enqueue{e.job()}}),
		"get job {job}":                       second(e.store.Get(ended, id)),
		"list jobs":                           second(e.store.List(ended, store.ListParams{Limit: 1})),
		"read ended jobs":                     second(e.store.Ended(ended, []store.ID{id})),
		"read journals":                       second(e.store.Journals(ended, []store.ID{id})),
		"read the journal of job {job}":       second(e.store.Entries(ended, store.JournalParams{Job: id, Limit: 1})),
		"read the messages to job {job}":      second(e.store.Messages(ended, store.InboxParams{Job: id, Limit: 1})),
		"list the queues":                     second(e.store.Queues(ended, namespace)),
		"list the nodes":                      second(e.store.Nodes(ended)),
		"cancel":                              second(e.store.Cancel(ended, store.CancelParams{Jobs: []store.ID{id}})),
		"retry":                               second(e.store.Retry(ended, store.RetryParams{Jobs: []store.ID{id}})),
		"pause jobs":                          second(e.store.PauseJobs(ended, store.PauseJobsParams{Jobs: []store.ID{id}})),
		"resume job {job}":                    second(e.store.Resume(ended, resumption(id))),
		"fork job {job}":                      e.store.Fork(ended, store.ForkParams{From: id, Job: e.job().Job}),
		"pause queue mail":                    e.store.Pause(ended, store.PauseParams{Namespace: namespace, Queue: "mail", Paused: true}),
		"claim":                               second(e.store.Claim(ended, e.demand(1, 1))),
		"join":                                second(e.store.Join(ended, store.NodeInfo{Name: "a", Kinds: []string{"send"}, Slots: 1})),
		"beat":                                second(e.store.Beat(ended, store.BeatParams{Node: 1})),
		"leave":                               e.store.Leave(ended, 1),
		"promote":                             second(e.store.Promote(ended, 1)),
		"rescue":                              second(e.store.Rescue(ended, store.RescueParams{Limit: 1})),
		"sweep requests":                      second(e.store.SweepCancels(ended)),
		"close children":                      second(e.store.CloseChildren(ended, 1)),
		"remove old jobs":                     second(e.store.Retain(ended, store.RetainParams{Limit: 1})),
		"wait for a transaction on job {job}": e.store.AwaitTx(ended, id),
	} {
		want = strings.ReplaceAll(want, "{job}", id.String()) + ": context canceled"
		if !errors.Is(err, context.Canceled) || err.Error() != want {
			e.Errorf("it says\n     %v\nnot  %s", err, want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func (e *env) cancelOne(id store.ID, terminate bool) error {
	e.Helper()
	results, err := e.store.Cancel(e.ctx, store.CancelParams{Jobs: []store.ID{id}, Terminate: terminate})
	if err != nil {
		e.Fatal(err)
	}
	return results[0].Err
}

func (e *env) tryResume(params store.ResumeParams) error {
	e.Helper()
	_, err := e.store.Resume(e.ctx, params)
	return err
}

func (e *env) tryFork(params store.ForkParams) error {
	e.Helper()
	params.Job = e.job().Job
	return e.store.Fork(e.ctx, params)
}

func (e *env) tryEnd(o *store.Outcome) error {
	e.Helper()
	e.apply(&store.Batch{Outcomes: []*store.Outcome{o}})
	return o.Err
}

func (e *env) tryCheckpoint(lease store.Lease) error {
	e.Helper()
	c := &store.CheckpointWrite{Lease: lease}
	e.apply(&store.Batch{Checkpoints: []*store.CheckpointWrite{c}})
	return c.Err
}

// stateOf is a job's state, for messages.
func (e *env) stateOf(id store.ID) string {
	r, err := e.store.Get(e.ctx, id)
	if err != nil {
		return "missing"
	}
	return r.State.String()
}

// classes are what errors of stores may be.
var classes = []error{
	store.ErrInvalid, store.ErrNotFound, store.ErrConflict, store.ErrLeaseLost, store.ErrNodeDead, store.ErrUnavailable,
	store.ErrReadOnly, store.ErrFull, store.ErrSchema, store.ErrDatabaseGone, store.ErrClosed,
}

var anyID = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// misspoken tells what is wrong with the words of a store's error; "" if nothing is.
func misspoken(err error) string {
	text := err.Error()
	said := map[string]int{}
	for _, id := range anyID.FindAllString(text, -1) {
		if said[id]++; said[id] > 1 {
			return "it names a job twice"
		}
	}
	for _, class := range classes {
		if n := strings.Count(text, class.Error()); n > 1 {
			return "it says its class twice"
		} else if n == 1 && !strings.HasPrefix(text, class.Error()) {
			return "its class does not come first"
		}
	}
	if strings.Contains(text, "\n") {
		return "it has several lines"
	}
	return ""
}
