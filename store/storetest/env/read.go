package env

import (
	"bytes"
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// Get returns the job's record.
func (e *Env) Get(id store.ID) store.Record {
	e.Helper()
	record, err := e.Store.Get(e.Ctx, "", id)
	if err != nil {
		e.Fatalf("Get(%v): %v", id, err)
	}
	return record
}

// WantUnknown checks that there is no such job.
func (e *Env) WantUnknown(id store.ID) {
	e.Helper()
	_, err := e.Store.Get(e.Ctx, "", id)
	e.WantErr("Get of a job that is not there", err, store.ErrNotFound)
}

// WantState checks where a job is.
func (e *Env) WantState(id store.ID, want store.State) {
	e.Helper()
	if got := e.Get(id).State; got != want {
		e.Fatalf("job %v is %v, want %v", id, got, want)
	}
}

// List returns all jobs that match, over as many pages as it takes.
func (e *Env) List(filter store.Filter, limit int) []store.Record {
	e.Helper()
	var records []store.Record
	params := store.ListParams{Filter: filter, Limit: limit}
	for range 10_000 {
		page, err := e.Store.List(e.Ctx, params)
		e.NoError("List", err)
		if len(page.Jobs) > limit {
			e.Fatalf("a page of %d has %d jobs", limit, len(page.Jobs))
		}
		records = append(records, page.Jobs...)
		if page.Next == "" {
			return records
		}
		params.After = page.Next
	}
	e.Fatal("List never ends")
	return nil
}

// ListIDs returns the ids of all jobs that match.
func (e *Env) ListIDs(filter store.Filter) []store.ID {
	e.Helper()
	var ids []store.ID
	for _, r := range e.List(filter, 100) {
		ids = append(ids, r.ID)
	}
	return ids
}

// Queue returns one queue of the usual namespace.
func (e *Env) Queue(name string) store.Queue {
	e.Helper()
	queues, err := e.Store.Queues(e.Ctx, Namespace)
	e.NoError("Queues", err)
	for _, q := range queues {
		if q.Name == name {
			return q
		}
	}
	e.Fatalf("there is no queue %q among %d", name, len(queues))
	return store.Queue{}
}

// QueueNames are the names of all queues, in their order.
func (e *Env) QueueNames() []string {
	e.Helper()
	queues, err := e.Store.Queues(e.Ctx, Namespace)
	e.NoError("Queues", err)
	var names []string
	for _, q := range queues {
		names = append(names, q.Name)
	}
	return names
}

// Ended asks for the outcomes of finished jobs.
func (e *Env) Ended(ids ...store.ID) []store.Ended {
	e.Helper()
	ended, err := e.Store.Ended(e.Ctx, "", ids)
	e.NoError("Ended", err)
	slices.SortFunc(ended, func(a, b store.Ended) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return ended
}

// WantGone checks that nothing is known of a job.
func (e *Env) WantGone(id store.ID) {
	e.Helper()
	_, err := e.Store.Get(e.Ctx, "", id)
	e.WantErr("Get of a removed job", err, store.ErrNotFound)
	e.Equal("ended", e.Ended(id), []store.Ended{{ID: id}})
	for _, listed := range e.ListIDs(store.Filter{}) {
		if listed == id {
			e.Fatalf("the removed job %v is listed", id)
		}
	}
}

// Journal returns what a job remembers.
func (e *Env) Journal(id store.ID) store.Journal {
	e.Helper()
	journals, err := e.Store.Journals(e.Ctx, "", []store.ID{id})
	if err != nil || len(journals) != 1 || journals[0].Job != id {
		e.Fatalf("Journals: %+v, %v", journals, err)
	}
	return journals[0]
}

// WantEntries checks how many entries a journal has, and that they are numbered without gaps.
func (e *Env) WantEntries(id store.ID, n int) []store.Entry {
	e.Helper()
	entries := e.Journal(id).Entries
	if len(entries) != n {
		e.Fatalf("the journal of %v has %d entries, want %d", id, len(entries), n)
	}
	if i := Misnumbered(entries); i >= 0 {
		e.Fatalf("entry %d has the number %d", i+1, entries[i].Seq)
	}
	return entries
}

// Messages returns what was sent to a job.
func (e *Env) Messages(id store.ID) []store.Message {
	e.Helper()
	return e.Journal(id).Messages
}

// Answers are the messages of children that a job has, which must be numbered without gaps among
// the others.
func (e *Env) Answers(id store.ID) []store.Message {
	e.Helper()
	var answers []store.Message
	for i, m := range e.Messages(id) {
		if m.Seq != int64(i+1) {
			e.Fatalf("message %d has the number %d", i+1, m.Seq)
		}
		if m.Kind == store.MessageChild {
			answers = append(answers, m)
		}
	}
	return answers
}
