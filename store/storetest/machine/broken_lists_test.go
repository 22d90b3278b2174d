package machine

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// TestTheMachineNoticesLists breaks lists and counts, one field of the filter at a time.
func TestTheMachineNoticesLists(t *testing.T) {
	t.Parallel()
	for name, forget := range map[string]func(*store.Filter){
		"states":          func(f *store.Filter) { f.States = nil },
		"queues":          func(f *store.Filter) { f.Queues = nil },
		"kinds":           func(f *store.Filter) { f.Kinds = nil },
		"ids":             func(f *store.Filter) { f.IDs = nil },
		"reasons":         func(f *store.Filter) { f.Reasons = nil },
		"tags":            func(f *store.Filter) { f.Tags = nil },
		"a unique key":    func(f *store.Filter) { f.UniqueKey = nil },
		"a business key":  func(f *store.Filter) { f.Key = "" },
		"a parent":        func(f *store.Filter) { f.Parent = store.ID{} },
		"no parent":       func(f *store.Filter) { f.NoParent = false },
		"a root":          func(f *store.Filter) { f.Root = store.ID{} },
		"a node":          func(f *store.Filter) { f.LostFrom = 0 },
		"creation":        func(f *store.Filter) { f.CreatedAfter = time.Time{} },
		"its end":         func(f *store.Filter) { f.CreatedBefore = time.Time{} },
		"run time":        func(f *store.Filter) { f.RunAfter = time.Time{} },
		"the end of that": func(f *store.Filter) { f.RunBefore = time.Time{} },
		"finish":          func(f *store.Filter) { f.FinishedAfter = time.Time{} },
		"the end of it":   func(f *store.Filter) { f.FinishedBefore = time.Time{} },
		"metadata":        func(f *store.Filter) { f.Metadata = nil },
		"args":            func(f *store.Filter) { f.Args = nil },
	} {
		mode := mode{durable: name == "a parent" || name == "no parent" || name == "a root"}
		notices(t, "a filter that forgets "+name, func(s store.Store) store.Store { return &selects{s, forget} }, mode)
	}
	notices(t, "an order that is another one", func(s store.Store) store.Store { return &sortsBackwards{s} }, mode{})
	notices(t, "a page that loses one", func(s store.Store) store.Store { return &losesOne{s} }, mode{})
	notices(t, "a count that is too low", func(s store.Store) store.Store { return &countsLess{s} }, mode{})
}

// selects changes what is selected.
type selects struct {
	store.Store
	change func(*store.Filter)
}

func (s *selects) List(ctx context.Context, p store.ListParams) (store.Page, error) {
	s.change(&p.Filter)
	return s.Store.List(ctx, p)
}

func (s *selects) Count(ctx context.Context, p store.CountParams) (store.Counted, error) {
	s.change(&p.Filter)
	return s.Store.Count(ctx, p)
}

// sortsBackwards takes the newest first for the oldest first.
type sortsBackwards struct{ store.Store }

func (s *sortsBackwards) List(ctx context.Context, p store.ListParams) (store.Page, error) {
	if p.Sort == store.SortOldest {
		p.Sort = store.SortNewest
	}
	return s.Store.List(ctx, p)
}

// losesOne forgets the last job of a page that is not the last.
type losesOne struct{ store.Store }

func (s *losesOne) List(ctx context.Context, p store.ListParams) (store.Page, error) {
	page, err := s.Store.List(ctx, p)
	if n := len(page.Jobs); page.Next != "" && n > 1 {
		page.Jobs = page.Jobs[:n-1]
	}
	return page, err
}

type countsLess struct{ store.Store }

func (s *countsLess) Count(ctx context.Context, p store.CountParams) (store.Counted, error) {
	counted, err := s.Store.Count(ctx, p)
	counted.N = min(counted.N, 3)
	return counted, err
}

// TestTheMachineNoticesEdits does the same with what people and runs change of jobs.
func TestTheMachineNoticesEdits(t *testing.T) {
	t.Parallel()
	durable := mode{durable: true}
	for name, c := range map[string]struct {
		breaks func(store.Store) store.Store
		mode   mode
	}{
		"an edit that does nothing":           {edits(func(e *store.Edit) { *e = store.Edit{} }), mode{}},
		"a queue that is not changed":         {edits(func(e *store.Edit) { e.Queue = nil }), mode{}},
		"a priority that is not changed":      {edits(func(e *store.Edit) { e.Priority = nil }), mode{}},
		"a run time that is not changed":      {edits(func(e *store.Edit) { e.RunAt = nil }), mode{}},
		"a deadline that is not changed":      {edits(func(e *store.Edit) { e.Deadline = nil }), durable},
		"attempts that are not changed":       {edits(func(e *store.Edit) { e.MaxAttempts = nil }), mode{}},
		"a timeout that is not changed":       {edits(func(e *store.Edit) { e.Timeout = nil }), mode{}},
		"args that are not changed":           {edits(func(e *store.Edit) { e.Args = nil }), mode{}},
		"a key that is not looked at":         {edits(func(e *store.Edit) { e.UniqueKey = []byte("other") }), mode{}},
		"tags that are not dropped":           {edits(func(e *store.Edit) { e.DropTags = nil }), mode{}},
		"attributes that are not changed":     {edits(func(e *store.Edit) { e.Attributes = nil }), mode{searched: true}},
		"attributes that are not taken away":  {edits(keepAttributes), mode{searched: true}},
		"an edit that tells of nothing":       {func(s store.Store) store.Store { return &tellsNoEdit{s} }, mode{}},
		"a delete that does nothing":          {func(s store.Store) store.Store { return &keeps{s} }, mode{}},
		"a delete that cancels before":        {func(s store.Store) store.Store { return &deletesAll{s} }, mode{}},
		"what a checkpoint says and is lost":  {onApply(sayNot(true, false, false), nil), mode{}},
		"what an append says and is lost":     {onApply(sayNot(false, true, false), nil), durable},
		"what an outcome says and is lost":    {onApply(sayNot(false, false, true), nil), mode{}},
		"what is said by a run that was lost": {func(s store.Store) store.Store { return &saysLate{s} }, mode{}},
	} {
		notices(t, name, c.breaks, c.mode)
	}
}

func edits(change func(*store.Edit)) func(store.Store) store.Store {
	return func(s store.Store) store.Store { return &changes{s, change} }
}

// keepAttributes leaves those of a job that the change takes away.
func keepAttributes(e *store.Edit) {
	e.Attributes = slices.DeleteFunc(slices.Clone(e.Attributes), func(a store.Attribute) bool { return a.Value.Type == 0 })
}

type changes struct {
	store.Store
	change func(*store.Edit)
}

func (s *changes) Edit(ctx context.Context, p store.EditParams) (store.State, []store.Wake, error) {
	s.change(&p.Edit)
	return s.Store.Edit(ctx, p)
}

type tellsNoEdit struct{ store.Store }

func (s *tellsNoEdit) Edit(ctx context.Context, p store.EditParams) (store.State, []store.Wake, error) {
	state, _, err := s.Store.Edit(ctx, p)
	return state, nil, err
}

// keeps says that it has removed what it has not.
type keeps struct{ store.Store }

func (s *keeps) Delete(ctx context.Context, p store.DeleteParams) ([]store.Result, []store.Wake, error) {
	results := make([]store.Result, len(p.Jobs))
	for i, id := range p.Jobs {
		results[i].Job = id
		switch r, err := s.Get(ctx, p.Namespace, id); {
		case err != nil:
			results[i].Err = store.NoJob(id)
		case !r.State.Finished():
			results[i].State, results[i].Err = r.State, store.JobIs(id, r.State)
		default:
			results[i].State = r.State
		}
	}
	return results, nil, nil
}

// deletesAll ends jobs that have not finished.
type deletesAll struct{ store.Store }

func (s *deletesAll) Delete(ctx context.Context, p store.DeleteParams) ([]store.Result, []store.Wake, error) {
	if _, _, err := s.Cancel(ctx, store.CancelParams{Jobs: p.Jobs, Terminate: true}); err != nil {
		return nil, nil, err
	}
	return s.Store.Delete(ctx, p)
}

func sayNot(checkpoints, appends, outcomes bool) func(*store.Batch) {
	return func(b *store.Batch) {
		for i, c := range b.Checkpoints {
			if silent := *c; checkpoints {
				silent.Meta = nil
				b.Checkpoints[i] = &silent
			}
		}
		for _, a := range b.Appends {
			if appends {
				a.Meta = nil
			}
		}
		for _, o := range b.Outcomes {
			if outcomes {
				o.Meta = nil
			}
		}
	}
}

// saysLate lets runs say something of their jobs whose lease is lost.
type saysLate struct{ store.Store }

func (s *saysLate) Apply(ctx context.Context, batch *store.Batch) error {
	err := s.Store.Apply(ctx, batch)
	for _, o := range batch.Outcomes {
		if o.Err != nil && !o.Meta.IsEmpty() {
			_, _, _ = s.Edit(ctx, store.EditParams{Job: o.Lease.Job, Edit: store.Edit{Metadata: o.Meta.Metadata, Tags: &o.Meta.Tags}})
		}
	}
	return err
}
