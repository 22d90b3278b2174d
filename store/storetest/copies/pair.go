package copies

import (
	"cmp"
	"slices"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// pair are the store that is copied, and the one into which it is.
type pair struct{ from, to *env.Env }

func facet(e *env.Env) store.Copies {
	c, ok := e.Store.(store.Copies)
	if !ok {
		e.Skip("the store is no database")
	}
	return c
}

func survey(e *env.Env) store.Survey {
	e.Helper()
	s, err := facet(e).Survey(e.Ctx)
	e.NoError("survey", err)
	return s
}

// stop lets all nodes leave.
func stop(e *env.Env) {
	e.Helper()
	for id, n := range e.Nodes() {
		if n.DeadAt.IsZero() {
			e.Leave(id)
		}
	}
}

// page exports a page.
func page(e *env.Env, after store.Place, limit, size int) store.Exported {
	e.Helper()
	exported, err := facet(e).Export(e.Ctx, store.ExportParams{After: after, Limit: limit, Bytes: size})
	e.NoError("export", err)
	return exported
}

func (p *pair) put(params store.ImportParams) {
	p.to.Helper()
	p.to.NoError("import", facet(p.to).Import(p.to.Ctx, params))
}

// importOf is the import of a page.
func importOf(from store.Origin, page store.Exported) store.ImportParams {
	return store.ImportParams{
		From: from, Jobs: page.Jobs, Builds: page.Builds, Keys: page.Keys, Signals: page.Signals,
		Schedules: page.Schedules, Runs: page.Runs, Batches: page.Batches, Stubs: page.Stubs,
		Last: page.Next.Job,
	}
}

// copy copies everything in pages of a size.
func (p *pair) copy(limit, size int) {
	p.to.Helper()
	from := survey(p.from)
	p.put(store.ImportParams{From: from.Origin, Queues: from.Queues, Limits: from.Limits, Classes: from.Classes, Attributes: from.Attributes})
	pages := 0
	for exported := (store.Exported{}); !exported.End; pages++ {
		exported = page(p.from, exported.Next, limit, size)
		p.put(importOf(from.Origin, exported))
		if pages > 10_000 {
			p.to.Fatalf("the pages do not end")
		}
	}
	p.put(store.ImportParams{From: from.Origin, Done: true})
}

// all is everything that can be read of the jobs and schedules of a store.
type all struct {
	Records   []store.Record
	Journals  []store.Journal
	Earlier   [][]store.Entry
	Queues    []store.Queue
	Counts    map[store.State]int64
	Sums      store.ScheduleSums
	Schedules []store.Schedule
	Runs      [][]store.ScheduleRun
	Limits    []store.Limit
	Batches   []store.JobBatch
}

// everything reads it, the records by their ids.
func everything(e *env.Env) (a all) {
	e.Helper()
	found := survey(e)
	a.Counts, a.Sums, a.Limits = found.Counts, found.Schedules, found.Limits
	for _, listed := range e.List(store.Filter{}, 100) {
		record, err := e.Store.Get(e.Ctx, "", listed.ID)
		e.NoError("get", err)
		a.Records = append(a.Records, record)
		journals, err := e.Store.Journals(e.Ctx, "", []store.ID{listed.ID})
		e.NoError("journals", err)
		a.Journals = append(a.Journals, journals...)
		earlier, err := e.Store.Entries(e.Ctx, store.JournalParams{
			Job: listed.ID, Kinds: []store.EntryKind{store.EntryStreamed, store.EntryPublished}, Earlier: true, Limit: 1000,
		})
		e.NoError("entries", err)
		a.Earlier = append(a.Earlier, earlier)
	}
	for _, space := range []string{env.Namespace, env.OtherSpace} {
		queues, err := e.Store.Queues(e.Ctx, space)
		e.NoError("queues", err)
		a.Queues = append(a.Queues, queues...)
	}
	var err error
	a.Schedules, err = e.Store.Schedules(e.Ctx, store.ScheduleFilter{Limit: 1000})
	e.NoError("schedules", err)
	a.Batches, err = e.Store.Batches(e.Ctx, store.BatchFilter{Limit: 1000})
	e.NoError("batches", err)
	for _, s := range a.Schedules {
		runs, err := e.Store.ScheduleRuns(e.Ctx, store.ScheduleRunParams{Namespace: s.Namespace, Name: s.Name, Limit: 1000})
		e.NoError("runs", err)
		a.Runs = append(a.Runs, runs)
	}
	slices.SortFunc(a.Records, func(a, b store.Record) int { return cmp.Compare(a.ID.String(), b.ID.String()) })
	return a
}

// wantAlike checks that both stores tell the same, and would be copied alike.
func (p *pair) wantAlike() {
	p.to.Helper()
	p.to.Equal("the copy", everything(p.to), everything(p.from))
	// Reading: whether a run has seen a request to cancel is told by one of the stores only.
	p.to.Equal("the copy of the copy", wholes(p.to), wholes(p.from), cmpopts.IgnoreFields(store.Request{}, "Seen"))
}

// wholes exports everything as one page of jobs, one of keys, one of signals, one of schedules, and
// one of runs. The numbers of schedules are those of their database.
func wholes(e *env.Env) (all store.Exported) {
	e.Helper()
	for pages := 0; !all.End; pages++ {
		next := page(e, all.Next, 1000, 1<<30)
		all.Jobs, all.Keys, all.Signals = append(all.Jobs, next.Jobs...), append(all.Keys, next.Keys...), append(all.Signals, next.Signals...)
		all.Schedules, all.Runs = append(all.Schedules, next.Schedules...), append(all.Runs, next.Runs...)
		all.Batches, all.Stubs = append(all.Batches, next.Batches...), append(all.Stubs, next.Stubs...)
		if all.Next, all.End = next.Next, next.End; pages > 7 {
			e.Fatalf("%d pages are not all", pages)
		}
	}
	all.Next = store.Place{}
	for i := range all.Runs {
		all.Runs[i].Number = 0
	}
	slices.SortFunc(all.Runs, func(a, b store.CopiedRun) int {
		return cmp.Or(cmp.Compare(a.Schedule.Namespace, b.Schedule.Namespace), cmp.Compare(a.Schedule.Name, b.Schedule.Name),
			a.Nominal.Compare(b.Nominal), cmp.Compare(a.Manual, b.Manual))
	})
	return all
}
