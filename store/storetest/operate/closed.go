package operate

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var closedTests = env.Tests{
	"a_closed_store_says_so":     closedSays,
	"closing_twice_does_nothing": closedTwice,
}

func closedTwice(e *env.Env) {
	for range 3 {
		e.NoError("Close", e.Store.Close())
	}
}

// closedSays: every operation that needs the database fails with ErrClosed.
func closedSays(e *env.Env) {
	run := e.Durable(1)
	e.NoError("Close", e.Store.Close())
	all := operations(e, run)
	for m := range reflect.TypeFor[store.Store]().Methods() {
		asks := m.Type.NumIn() > 0 && m.Type.In(0) == reflect.TypeFor[context.Context]()
		if _, known := all[m.Name]; asks && !known && !slices.Contains(inTransactions, m.Name) {
			e.Errorf("%s is forgotten here", m.Name)
		}
	}
	for name, o := range all {
		if err := o.call(e.Ctx); !errors.Is(err, store.ErrClosed) {
			e.Errorf("%s of a closed store: %v", name, err)
		}
	}
	for what, batch := range map[string]*store.Batch{
		"an outcome":   {Outcomes: []*store.Outcome{env.Outcome(run, store.Completed)}},
		"an append":    {Appends: []*store.Append{{Lease: run.Lease, Entries: env.Steps(2, 2)}}},
		"a send":       {Sends: []*store.Send{{Job: run.Job.ID, Message: env.Signal("s")}}},
		"a checkpoint": {Checkpoints: []*store.CheckpointWrite{{Lease: run.Lease}}},
	} {
		e.WantErr(what, e.Store.Apply(e.Ctx, batch), store.ErrClosed)
	}
	// These methods do not use the database, so they work after Close.
	e.Store.Notify(store.Wake{Kind: store.WakeAll})
	if e.Store.Traits().Name == "" || e.Store.Now().IsZero() {
		e.Error("a closed store has forgotten what it is")
	}
}

// inTransactions are what needs more than a context: a transaction of a caller, or a
// function to call.
var inTransactions = []string{"EnqueueTx", "SendTx", "AppendTx", "CancelTx", "RetryTx", "FinishTx", "Watch"}

// operation is an operation of a store. Its words are what an error calls it; {job} stands for the
// job that it is about.
type operation struct {
	words string
	call  func(ctx context.Context) error
}

// operations are all operations by their names, but for those in transactions of callers.
func operations(e *env.Env, run store.Claimed) map[string]operation {
	s, id, node := e.Store, run.Job.ID, run.Lease.Node
	these := []store.ID{id}
	type c = context.Context
	return env.Merged(closedQueues(e), map[string]operation{ // of nodes and leaders
		"Apply":         {"apply", func(ctx c) error { return s.Apply(ctx, &store.Batch{Enqueues: []*store.Enqueue{e.Job()}}) }},
		"Claim":         {"claim", func(ctx c) error { return second(s.Claim(ctx, e.Demand(node, 1))) }},
		"Join":          {"join", func(ctx c) error { return second(s.Join(ctx, store.NodeInfo{Name: "n"})) }},
		"Beat":          {"beat", func(ctx c) error { return second(s.Beat(ctx, store.BeatParams{Node: node})) }},
		"Leave":         {"leave", func(ctx c) error { return second(s.Leave(ctx, node)) }},
		"Nodes":         {"list the nodes", func(ctx c) error { return second(s.Nodes(ctx)) }},
		"AskNode":       {fmt.Sprintf("ask node %d", node), func(ctx c) error { return s.AskNode(ctx, store.AskNodeParams{Node: node}) }},
		"Promote":       {"promote", func(ctx c) error { return second(s.Promote(ctx, 1)) }},
		"Rescue":        {"rescue", func(ctx c) error { return second(s.Rescue(ctx, store.RescueParams{Limit: 1})) }},
		"SweepCancels":  {"sweep requests", func(ctx c) error { return second(s.SweepCancels(ctx)) }},
		"CloseChildren": {"close children", func(ctx c) error { return second(s.CloseChildren(ctx, 1)) }},
		"Retain":        {"remove old jobs", func(ctx c) error { return second(s.Retain(ctx, store.Retention{Completed: time.Hour})) }},
		"Retain, lanes": {"remove old jobs", func(ctx c) error { return second(s.Retain(ctx, store.Retention{Limit: 1})) }},
		"AwaitTx":       {"wait for a transaction on job {job}", func(ctx c) error { return s.AwaitTx(ctx, id) }},
	}, map[string]operation{ // of people
		"Cancel": {"cancel", func(ctx c) error { return third(s.Cancel(ctx, store.CancelParams{Jobs: these})) }},
		"Retry":  {"retry", func(ctx c) error { return third(s.Retry(ctx, store.RetryParams{Jobs: these})) }},
		"Finish": {"finish jobs", func(ctx c) error {
			return third(s.Finish(ctx, store.FinishParams{Ends: []store.End{env.CompletedBy(id)}}))
		}},
		"PauseJobs":    {"pause jobs", func(ctx c) error { return third(s.PauseJobs(ctx, store.PauseJobsParams{Jobs: these})) }},
		"Resume":       {"resume job {job}", func(ctx c) error { return third(s.Resume(ctx, env.Resumption(id))) }},
		"Fork":         {"fork job {job}", func(ctx c) error { return second(s.Fork(ctx, store.ForkParams{From: id, Job: e.Job().Job})) }},
		"ForgetUpdate": {"forget an update of job {job}", func(ctx c) error { return s.ForgetUpdate(ctx, "", id, "k") }},
		"Depend":       {"let job {job} wait", func(ctx c) error { return third(s.Depend(ctx, store.DependParams{Job: id})) }},
		"Edit":         {"edit job {job}", func(ctx c) error { return third(s.Edit(ctx, env.Edits(id, store.Edit{AddTags: []string{"x"}}))) }},
		"Delete":       {"delete", func(ctx c) error { return third(s.Delete(ctx, store.DeleteParams{Jobs: these})) }},
	}, map[string]operation{ // that only look
		"Get":       {"get job {job}", func(ctx c) error { return second(s.Get(ctx, "", id)) }},
		"Obstacles": {"look up what blocks job {job}", func(ctx c) error { return second(s.Obstacles(ctx, "", id)) }},
		"List":      {"list jobs", func(ctx c) error { return second(s.List(ctx, store.ListParams{Limit: 1})) }},
		"Count":     {"count jobs", func(ctx c) error { return second(s.Count(ctx, store.CountParams{})) }},
		"WaitingOfKeys": {"count the jobs of keys", func(ctx c) error {
			return second(s.WaitingOfKeys(ctx, store.WaitingOfKeysParams{
				Namespace: env.Namespace, Queue: "mail", Most: 1, Keys: []store.KeyOfLimit{{Limit: "l", Key: "k"}},
			}))
		}},
		"Queues": {"list the queues", func(ctx c) error { return second(s.Queues(ctx, env.Namespace)) }},
		"Find": {"find a job by its key", func(ctx c) error {
			return second(s.Find(ctx, store.JobKey{Namespace: env.Namespace, Kind: "send", Key: "order-42"}))
		}},
		"Unserved": {"look for unserved jobs", func(ctx c) error { return second(s.Unserved(ctx, 1)) }},
		"Journals": {"read journals", func(ctx c) error { return second(s.Journals(ctx, "", these)) }},
		"Entries": {"read the journal of job {job}", func(ctx c) error {
			return second(s.Entries(ctx, store.JournalParams{Job: id, Limit: 1}))
		}},
		"Messages": {"read the messages to job {job}", func(ctx c) error {
			return second(s.Messages(ctx, store.InboxParams{Job: id, Limit: 1}))
		}},
		"OpenUpdates": {"read updates", func(ctx c) error { return second(s.OpenUpdates(ctx, env.AllOf(id))) }},
		"GetUpdate":   {"read an update of job {job}", func(ctx c) error { return second(s.GetUpdate(ctx, "", id, "k")) }},
		"Ended":       {"read ended jobs", func(ctx c) error { return second(s.Ended(ctx, "", these)) }},
	}, ofSchedules(e), ofLogs(e, run), ofFeed(e), ofFacts(e), ofRetentions(e), ofAccess(e), ofAttributes(e))
}

// closedQueues are the operations on queues.
func closedQueues(e *env.Env) map[string]operation {
	s := e.Store
	return map[string]operation{
		"Pause": {"pause queue mail", func(ctx context.Context) error {
			return s.Pause(ctx, store.PauseParams{Namespace: env.Namespace, Queue: "mail", Paused: true})
		}},
		"Rest": {"let queue mail rest", func(ctx context.Context) error {
			return second(s.Rest(ctx, store.RestParams{Namespace: env.Namespace, Queue: "mail"}))
		}},
		"SetQueue": {"set queue mail", func(ctx context.Context) error {
			return second(s.SetQueue(ctx, store.SetQueueParams{Namespace: env.Namespace, Queue: "mail", Unset: store.SettingTimeout}))
		}},
		"DeadGroups": {"group dead letters", func(ctx context.Context) error {
			return second(s.DeadGroups(ctx, store.DeadParams{Filter: store.Filter{Namespace: env.Namespace}, Limit: 1}))
		}},
		"StuckKeys": {"list the stuck keys of queue mail", func(ctx context.Context) error {
			return second(s.StuckKeys(ctx, store.StuckKeysParams{Namespace: env.Namespace, Queue: "mail"}))
		}},
		"Busy": {"look which queues have jobs", func(ctx context.Context) error { return second(s.Busy(ctx, env.Namespace)) }},
		"AttemptsOfQueues": {"see what is set of queues", func(ctx context.Context) error {
			return second(s.AttemptsOfQueues(ctx, env.Namespace))
		}},
		"DeleteQueue": {"delete queue mail", func(ctx context.Context) error {
			return s.DeleteQueue(ctx, store.DeleteQueueParams{Namespace: env.Namespace, Queue: "mail"})
		}},
	}
}

func ofSchedules(e *env.Env) map[string]operation {
	s, id := e.Store, e.IDs.Next()
	type c = context.Context
	return map[string]operation{
		"SaveLimit": {`save limit "partner"`, func(ctx c) error { return second(s.SaveLimit(ctx, env.Limit("partner", 5), 0, "")) }},
		"DeleteLimit": {`delete limit "partner"`, func(ctx c) error {
			return s.DeleteLimit(ctx, env.Namespace, "partner", false, "")
		}},
		"NextOf": {"look at the rate of a key", func(ctx c) error {
			return second(s.NextOf(ctx, env.Namespace, "tenant", "acme"))
		}},
		"RunningOf": {"look who runs under a limit", func(ctx c) error {
			return second(s.RunningOf(ctx, env.Namespace, "tenant", "acme", 0))
		}},
		"Limits":      {"list limits", func(ctx c) error { return second(s.Limits(ctx, "", "")) }},
		"Grant":       {"ask for slots of limits", func(ctx c) error { return second(s.Grant(ctx, store.GrantParams{Node: 1, Call: 1})) }},
		"TakePermits": {"ask for permits of limits", func(ctx c) error { return second(s.TakePermits(ctx, []store.PermitAsk{{Limit: 1}})) }},
		"Drain":       {`drain limit "partner"`, func(ctx c) error { return s.Drain(ctx, env.Namespace, "partner", time.Now(), "") }},
		"ResumeLimit": {`resume limit "partner"`, func(ctx c) error {
			return s.ResumeLimit(ctx, store.ResumeLimitParams{Namespace: env.Namespace, Name: "partner"})
		}},
		"Reserve": {`reserve a permit of limit "partner"`, func(ctx c) error {
			return s.Reserve(ctx, &store.Reservation{Namespace: env.Namespace, Name: "partner", Append: &store.Append{}})
		}},
		"CreateBatch": {"create batch " + id.String(), func(ctx c) error {
			return s.CreateBatch(ctx, nil, store.JobBatch{ID: id, Namespace: env.Namespace})
		}},
		"CloseBatch": {"close batch " + id.String(), func(ctx c) error { return s.CloseBatch(ctx, nil, env.Namespace, id) }},
		"Batches":    {"list batches", func(ctx c) error { return second(s.Batches(ctx, store.BatchFilter{Limit: 1})) }},
		"CountBatches": {"count members of batches", func(ctx c) error {
			return second(s.CountBatches(ctx, store.CountBatchesParams{Limit: 1}))
		}},
		"SaveSchedule": {`save schedule "nightly"`, func(ctx c) error { return second(s.SaveSchedule(ctx, env.Schedule("nightly"), 0, "")) }},
		"DeleteSchedule": {`delete schedule "nightly"`, func(ctx c) error {
			return s.DeleteSchedule(ctx, env.Namespace, "nightly", 0, "")
		}},
		"Schedules": {"list schedules", func(ctx c) error { return second(s.Schedules(ctx, store.ScheduleFilter{Limit: 1})) }},
		"DueSchedules": {"look for due schedules", func(ctx c) error {
			_, _, err := s.DueSchedules(ctx, 1)
			return err
		}},
		"ScheduleRuns": {`read the runs of schedule "nightly"`, func(ctx c) error {
			return second(s.ScheduleRuns(ctx, store.ScheduleRunParams{Namespace: env.Namespace, Name: "nightly", Limit: 1}))
		}},
	}
}

func ofFeed(e *env.Env) map[string]operation {
	s := e.Store
	type c = context.Context
	return map[string]operation{
		"SetFeed":    {"switch the feed", func(ctx c) error { return second(s.SetFeed(ctx, true, "")) }},
		"FeedStatus": {"look at the feed", func(ctx c) error { return second(s.FeedStatus(ctx)) }},
		"OrderFeed":  {"order the feed", s.OrderFeed},
		"ReadFeed":   {"read the feed", func(ctx c) error { return second(s.ReadFeed(ctx, store.FeedParams{Limit: 1})) }},
	}
}

func ofFacts(e *env.Env) map[string]operation {
	s := e.Store
	type c = context.Context
	return map[string]operation{
		"KeepFacts":  {"keep facts", func(ctx c) error { return s.KeepFacts(ctx, []store.Fact{e.Fact(1, "x")}) }},
		"Facts":      {"read facts", func(ctx c) error { return second(s.Facts(ctx, store.FactParams{Span: store.FactHour, Limit: 1})) }},
		"MergeFacts": {"merge facts", func(ctx c) error { return s.MergeFacts(ctx, nil, []store.Fact{e.Fact(1, "x")}) }},
		"Measure":    {"measure the database", func(ctx c) error { return second(s.Measure(ctx)) }},
	}
}

func ofAttributes(e *env.Env) map[string]operation {
	s := e.Store
	type c = context.Context
	return map[string]operation{
		"DeclareAttributes": {"declare search attributes", func(ctx c) error {
			return s.DeclareAttributes(ctx, store.DeclareAttributesParams{Namespace: env.Namespace})
		}},
		"DeclaredAttributes": {"list search attributes", func(ctx c) error { return second(s.DeclaredAttributes(ctx, env.Namespace)) }},
		"RemoveAttribute": {"remove the search attribute customer", func(ctx c) error {
			return second(s.RemoveAttribute(ctx, store.RemoveAttributeParams{Namespace: env.Namespace, Name: "customer", Limit: 1}))
		}},
	}
}

func ofAccess(e *env.Env) map[string]operation {
	s := e.Store
	type c = context.Context
	endpoint := store.EndpointName{Namespace: env.Namespace, Purpose: store.EndpointPush, Name: "mail"}
	return map[string]operation{
		"Namespaces": {"list namespaces", func(ctx c) error { return second(s.Namespaces(ctx, store.NamespaceParams{Limit: 1})) }},
		"CreateNamespace": {"create namespace n", func(ctx c) error {
			return second(s.CreateNamespace(ctx, store.CreateNamespaceParams{Name: "n"}))
		}},
		"DeleteNamespace": {"delete namespace n", func(ctx c) error {
			return s.DeleteNamespace(ctx, store.DeleteNamespaceParams{Name: "n"})
		}},
		"CreateAPIKey": {"create API key k", func(ctx c) error {
			return second(s.CreateAPIKey(ctx, store.APIKey{ID: "k", Hash: make([]byte, 32), Name: "k", Role: "viewer"}))
		}},
		"APIKey":       {"look up API key k", func(ctx c) error { return second(s.APIKey(ctx, "k")) }},
		"APIKeys":      {"list API keys", func(ctx c) error { return second(s.APIKeys(ctx, store.APIKeyParams{Limit: 1})) }},
		"RevokeAPIKey": {"revoke API key k", func(ctx c) error { return second(s.RevokeAPIKey(ctx, store.RevokeAPIKeyParams{ID: "k"})) }},
		"Endpoints": {"list endpoints", func(ctx c) error {
			return second(s.Endpoints(ctx, store.EndpointParams{Purpose: store.EndpointPush, Limit: 1}))
		}},
		"SetEndpoint": {"set endpoint mail", func(ctx c) error {
			return second(s.SetEndpoint(ctx, store.SetEndpointParams{EndpointName: endpoint, Data: []byte("{}")}))
		}},
		"DeleteEndpoint": {"delete endpoint mail", func(ctx c) error {
			return s.DeleteEndpoint(ctx, store.DeleteEndpointParams{EndpointName: endpoint})
		}},
		"ListAudit":  {"list what people did", func(ctx c) error { return second(s.ListAudit(ctx, store.AuditParams{Limit: 1})) }},
		"UseAPIKeys": {"note the use of API keys", func(ctx c) error { return s.UseAPIKeys(ctx, []store.APIKeyUse{{ID: "k"}}) }},
	}
}

func ofRetentions(e *env.Env) map[string]operation {
	s := e.Store
	type c = context.Context
	class := store.RetentionClass{Name: "short", Completed: time.Hour}
	return map[string]operation{
		"Describe": {"describe", func(ctx c) error {
			return second(s.Describe(ctx, []store.Descriptor{{Namespace: "n", Subject: store.SubjectKind, Name: "k", Data: []byte("{}")}}, ""))
		}},
		"Descriptors":      {"list descriptors", func(ctx c) error { return second(s.Descriptors(ctx, store.DescriptorParams{Limit: 1})) }},
		"SetRetention":     {"set retention class short", func(ctx c) error { return second(s.SetRetention(ctx, class)) }},
		"RetentionClasses": {"list retention classes", func(ctx c) error { return second(s.RetentionClasses(ctx)) }},
		"DeleteRetention":  {"delete retention class short", func(ctx c) error { return s.DeleteRetention(ctx, class) }},
		"Expired": {"look for old jobs", func(ctx c) error {
			_, _, err := s.Expired(ctx, env.Briefly)
			return err
		}},
		"RemoveExpired": {"remove old jobs", func(ctx c) error {
			return second(s.RemoveExpired(ctx, []store.EndedJob{{State: store.Completed, FinishedAt: time.Unix(1, 0)}}))
		}},
		"Removed": {"read what was removed", func(ctx c) error {
			return second(s.Removed(ctx, store.RemovedParams{Namespace: env.Namespace, Limit: 1}))
		}},
	}
}

func ofLogs(e *env.Env, run store.Claimed) map[string]operation {
	s, id := e.Store, run.Job.ID
	type c = context.Context
	return map[string]operation{
		"KeepLogs": {"keep logs", func(ctx c) error { return s.KeepLogs(ctx, []store.LogChunk{env.Logged(run, 1, "x")}) }},
		"Logs":     {"read the logs of job {job}", func(ctx c) error { return second(s.Logs(ctx, store.LogParams{Job: id, Limit: 1})) }},
	}
}
