package env

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Step is the entry that most tests write.
func Step(seq int64) store.Entry {
	return store.Entry{Seq: seq, Kind: store.EntryStep, Path: "1", Name: "charge", Data: []byte(`{"ok":true}`)}
}

// Steps are entries with the numbers from first to last.
func Steps(first, last int64) []store.Entry {
	var entries []store.Entry
	for seq := first; seq <= last; seq++ {
		entries = append(entries, Step(seq))
	}
	return entries
}

// Entry is an entry of any kind.
func Entry(seq int64, kind store.EntryKind, name string) store.Entry {
	return store.Entry{Seq: seq, Kind: kind, Path: "1", Name: name, Took: time.Duration(seq) * time.Millisecond}
}

// Signal is a signal with a name.
func Signal(name string) store.Message {
	return store.Message{Kind: store.MessageSignal, Name: name, Data: []byte(`"now"`)}
}

// Callback is the answer to a callback, or a sign of life of who works on it.
func Callback(kind store.MessageKind, token string) store.Message {
	return store.Message{Kind: kind, Name: token, Data: []byte(`1`)}
}

// ForSignals waits for any signal, or other kinds if they are given.
func ForSignals(kinds ...store.MessageKind) *store.Wait {
	if len(kinds) == 0 {
		kinds = []store.MessageKind{store.MessageSignal}
	}
	return &store.Wait{Kinds: store.MessagesOf(kinds...), For: []byte(`{"signal":"approved"}`)}
}

// Misnumbered finds an entry that has not the number after the one before it, or the first one if
// it is not 1 and the job did not continue as new; -1 if there is none.
func Misnumbered(entries []store.Entry) int {
	for i, entry := range entries {
		if entry.Seq != entries[0].Seq+int64(i) || i == 0 && entry.Seq != 1 && entry.Kind != store.EntryContinued {
			return i
		}
	}
	return -1
}

// The kinds of entries that people look for.
var (
	Values = []store.EntryKind{store.EntryPublished}
	Items  = []store.EntryKind{store.EntryStreamed}
	Calls  = []store.EntryKind{store.EntryCallback}
	Either = slices.Concat(Values, Items)
)

// Logged is a chunk of lines of a run, from a number on.
func Logged(run store.Claimed, first int64, lines ...string) store.LogChunk {
	return store.LogChunk{
		Job: run.Job.ID, Lease: run.Lease.Number, Attempt: run.Job.Attempt, First: first, Count: len(lines),
		Lines: []byte(strings.Join(lines, "\n") + "\n"),
	}
}

// Opening is a chunk that may be the first of its run.
func Opening(c store.LogChunk) store.LogChunk {
	c.Opens = true
	return c
}

// KeepLogs writes chunks.
func (e *Env) KeepLogs(chunks ...store.LogChunk) {
	e.Helper()
	e.NoError("KeepLogs", e.Store.KeepLogs(e.Ctx, chunks))
}

// Logs returns all that the runs of a job have logged.
func (e *Env) Logs(job store.ID) []store.LogChunk {
	e.Helper()
	chunks, err := e.Store.Logs(e.Ctx, store.LogParams{Job: job, Limit: 1000})
	e.NoError("Logs", err)
	return chunks
}

// WantLogs checks what the runs of a job have logged, as "lease.first: lines".
func (e *Env) WantLogs(job store.ID, want ...string) {
	e.Helper()
	var got []string
	for _, c := range e.Logs(job) {
		got = append(got, fmt.Sprintf("%d.%d: %s", c.Lease, c.First, strings.ReplaceAll(strings.TrimSpace(string(c.Lines)), "\n", ",")))
	}
	e.Equal("the logs", got, want)
}

// Tell switches the feed on or off.
func (e *Env) Tell(on bool) store.FeedStatus {
	e.Helper()
	status, err := e.Store.SetFeed(e.Ctx, on, "")
	e.NoError("SetFeed", err)
	return status
}

// Changes returns all changes after a position, and the position to go on from. It reads them in
// pages.
func (e *Env) Changes(after store.FeedPosition) (all []store.Change, next store.FeedPosition) {
	e.Helper()
	e.NoError("OrderFeed", e.Store.OrderFeed(e.Ctx))
	for {
		page, err := e.Store.ReadFeed(e.Ctx, store.FeedParams{After: after, Limit: 100})
		e.NoError("ReadFeed", err)
		all, after = append(all, page.Changes...), page.Next
		if !page.More {
			return all, after
		}
	}
}

// StatesTold are the states in which the feed says that a job has arrived, without repetitions.
func (e *Env) StatesTold(id store.ID) []store.State {
	e.Helper()
	all, _ := e.Changes(store.FeedPosition{})
	return StatesOf(all, id)
}

// StatesOf are the states in which changes say that a job has arrived, without repetitions.
func StatesOf(changes []store.Change, id store.ID) (states []store.State) {
	for _, c := range changes {
		if c.Job == id {
			states = append(states, c.State)
		}
	}
	return slices.Compact(states)
}

// WantTold checks the states in which the feed says that a job has arrived.
func (e *Env) WantTold(id store.ID, want ...store.State) {
	e.Helper()
	e.Equal("the states that were told of "+id.String(), e.StatesTold(id), want)
}

// WantDense checks that changes have the positions after one, without a hole, and name their jobs.
func (e *Env) WantDense(changes []store.Change, after store.FeedPosition) {
	e.Helper()
	for i, c := range changes {
		if c.Position.Count != after.Count+int64(i)+1 || c.Position.Life == 0 || c.At.IsZero() || c.Job == (store.ID{}) || c.State == 0 {
			e.Fatalf("change %d after %v: %+v", i, after, c)
		}
	}
}

// Fact is what a node has counted in the current minute, as a text.
func (e *Env) Fact(node int64, jobs string) store.Fact {
	return store.Fact{
		FactKey: store.FactKey{
			At: e.Clock.Now().UTC().Truncate(time.Minute), Namespace: Namespace, Node: node, Number: 1, Span: store.FactMinute,
		},
		Jobs: []byte(jobs),
	}
}

// KeepFacts writes facts.
func (e *Env) KeepFacts(facts ...store.Fact) {
	e.Helper()
	e.NoError("KeepFacts", e.Store.KeepFacts(e.Ctx, facts))
}

// Facts returns all facts of a span.
func (e *Env) Facts(span store.FactSpan) []store.Fact {
	e.Helper()
	params := store.FactParams{Span: span, All: true, To: e.Clock.Now().Add(365 * 24 * time.Hour), Limit: store.FactsLimit}
	facts, err := e.Store.Facts(e.Ctx, params)
	e.NoError("Facts", err)
	return facts
}

// WantFacts checks what there is of a span, as "node.number: jobs".
func (e *Env) WantFacts(span store.FactSpan, want ...string) {
	e.Helper()
	var got []string
	for _, f := range e.Facts(span) {
		got = append(got, fmt.Sprintf("%d.%d: %s", f.Node, f.Number, f.Jobs))
	}
	e.Equal("the facts", got, want)
}
