//go:build soak

package postgres_test

import (
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// TestExecModes takes a job with everything through its life on a caller's pool in each of pgx's
// modes.
func TestExecModes(t *testing.T) {
	t.Parallel()
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec,
		pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			source := fresh(t)
			config, err := pgxpool.ParseConfig(source.URL)
			if err != nil {
				t.Fatal(err)
			}
			config.ConnConfig.DefaultQueryExecMode = mode
			pool, err := pgxpool.NewWithConfig(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(pool.Close)
			s := open(t, postgres.Config{Pool: pool, SchemaName: source.SchemaName})
			life(t, s)
			durableLife(t, s)
		})
	}
}

// durableLife takes a job with a journal and a child through theirs.
func durableLife(t *testing.T, s store.Store) {
	t.Helper()
	ctx := t.Context()
	node := join(t, s)
	seq := int64(0)
	claim := func(id store.ID, kinds ...string) store.Claimed {
		t.Helper()
		seq++
		params := demand(node, seq, 1)
		params.Kinds = append(params.Kinds, kinds...)
		runs, err := s.Claim(ctx, params)
		if err != nil || len(runs) != 1 || runs[0].Job.ID != id {
			t.Fatalf("claimed %+v, %v", runs, err)
		}
		return runs[0]
	}
	data := []byte("\x00\xff'\\ any bytes")
	parent := newJob(func(q *store.Enqueue) { q.Job.OrderingKey = `d"'\` })
	enqueue(t, s, parent)
	id := parent.Job.ID
	run := claim(id)
	child := newJob(childOf(id), func(q *store.Enqueue) { q.Job.Queue, q.Delay = "children", time.Hour })
	written := &store.Append{Lease: run.Lease, Enqueues: []*store.Enqueue{child}, Entries: []store.Entry{
		{Seq: 1, Kind: store.EntryCallback, Path: `1'"\`, Name: `t'"\`, Data: data, Codec: 2},
		{Seq: 2, Kind: store.EntryPublished, Path: "2", Name: "key", Data: data},
		{Seq: 3, Kind: store.EntryReceived, Path: "3", Ref: 1},
	}}
	send := &store.Send{Job: id, Key: `k'"\`, Message: store.Message{
		Kind: store.MessageCallbackFailed, Name: `t'"\`, Data: data, Codec: 3, Error: `e'"\`,
	}}
	park := parked(run, store.Wait{
		Seen: 1, Kinds: store.MessagesOf(store.MessageSignal), Count: 5, Failures: true,
		Until: time.Now().Add(time.Hour), For: []byte(`{"for":"'\""}`),
	})
	park.Version = `v'"\`
	batch := &store.Batch{Appends: []*store.Append{written}, Sends: []*store.Send{send}, Outcomes: []*store.Outcome{park}}
	err := errors.Join(store.ApplyEach(ctx, s, batch), written.Err, send.Err, park.Err, child.Err)
	if err != nil || park.Final != store.Waiting {
		t.Fatalf("Apply: %v, %v", err, park.Final)
	}
	written.Repeat, park.Repeat = true, true
	if err := errors.Join(store.ApplyEach(ctx, s, batch), written.Err, send.Err, park.Err, child.Err); err != nil || !send.Result.Duplicate {
		t.Fatalf("Apply again: %v, %+v", err, send.Result)
	}
	journals, err := s.Journals(ctx, "", []store.ID{child.Job.ID, id})
	if err != nil || len(journals) != 2 || len(journals[1].Entries) != 3 || len(journals[1].Messages) != 1 {
		t.Fatalf("Journals: %+v, %v", journals, err)
	}
	if e, m := journals[1].Entries[0], journals[1].Messages[0]; string(e.Data) != string(data) || e.Name != `t'"\` || e.Codec != 2 ||
		string(m.Data) != string(data) || m.Error != `e'"\` || m.Codec != 3 || journals[1].Entries[2].Ref != 1 {
		t.Fatalf("Journals: %+v", journals[1])
	}
	for _, params := range []store.JournalParams{
		{},
		{Newest: true},
		{Kinds: []store.EntryKind{store.EntryPublished}, Name: "key"},
		{Kinds: []store.EntryKind{store.EntryPublished}, Name: "key", Newest: true},
	} {
		params.Job, params.Limit = id, 1
		if entries, err := s.Entries(ctx, params); err != nil || len(entries) != 1 {
			t.Fatalf("Entries: %+v, %v", entries, err)
		}
	}
	record, err := s.Get(ctx, "", id)
	if err != nil || record.Wait == nil || string(record.Wait.For) != `{"for":"'\""}` || record.Version != `v'"\` || record.Journal != 3 {
		t.Fatalf("Get: %+v, %v", record, err)
	}
	paused, _, err := s.PauseJobs(ctx, store.PauseJobsParams{Jobs: []store.ID{id}, Reason: "r'", Actor: "a'"})
	if err != nil || paused[0].State != store.Waiting {
		t.Fatalf("PauseJobs: %+v, %v", paused, err)
	}
	state, _, err := s.Resume(ctx, store.ResumeParams{Job: id, Keep: 2, Expect: 3, Reason: "r'", Actor: "a"})
	if err != nil || state != store.Available {
		t.Fatalf("Resume: %v, %v", state, err)
	}
	fork := newJob(func(q *store.Enqueue) { q.Job.Queue, q.Job.Version = "forks", "2" })
	if _, err := s.Fork(ctx, store.ForkParams{From: id, Keep: 2, Job: fork.Job, Reason: "r'", Actor: "a"}); err != nil {
		t.Fatal(err)
	}
	run = claim(id, `send@v'"\`)
	if !run.Durable || run.Job.Version != `v'"\` {
		t.Fatalf("claimed %+v", run)
	}
	anew := &store.Outcome{
		Lease: run.Lease, State: store.Available, Durable: true, Continue: &store.Continue{Args: data, Codec: 4, Data: data},
	}
	if err := errors.Join(store.ApplyEach(ctx, s, &store.Batch{Outcomes: []*store.Outcome{anew}}), anew.Err); err != nil {
		t.Fatal(err)
	}
	run = claim(id, `send@v'"\`)
	if string(run.Job.Args) != string(data) || run.Job.Codec != 4 {
		t.Fatalf("claimed %+v", run)
	}
	end := completed(run)
	end.Durable, end.HasChildren = true, true
	if err := errors.Join(store.ApplyEach(ctx, s, &store.Batch{Outcomes: []*store.Outcome{end}}), end.Err); err != nil {
		t.Fatal(err)
	}
	if closed, err := s.CloseChildren(ctx, 10); err != nil || len(closed.Ended) != 1 || closed.Ended[0] != child.Job.ID {
		t.Fatalf("CloseChildren: %+v, %v", closed, err)
	}
	if run = claim(fork.Job.ID, "send@2"); !run.Durable || run.Job.Attempt != 1 {
		t.Fatalf("claimed the fork: %+v", run)
	}
	cancelled, _, err := s.Cancel(ctx, store.CancelParams{Jobs: []store.ID{fork.Job.ID}, Terminate: true, Reason: "r'"})
	if err != nil || cancelled[0].State != store.Cancelled {
		t.Fatalf("Cancel: %+v, %v", cancelled, err)
	}
	page, err := s.List(ctx, store.ListParams{Limit: 10, Filter: store.Filter{Parent: id, Kinds: []string{"send"}}})
	if err != nil || len(page.Jobs) != 1 || page.Jobs[0].ID != child.Job.ID {
		t.Fatalf("List: %+v, %v", page, err)
	}
}
