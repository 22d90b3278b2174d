package env

import (
	"github.com/holdfastdev/holdfast/store"
)

// Edits changes a job.
func Edits(id store.ID, change store.Edit) store.EditParams {
	return store.EditParams{Job: id, Edit: change, Reason: "it has to be", Actor: "ada"}
}

// TryEdit asks to change a job, and returns what the store made of it.
func (e *Env) TryEdit(params store.EditParams) (store.State, error) {
	e.Helper()
	state, wakes, err := e.Store.Edit(e.Ctx, params)
	e.told.Store(&wakes)
	return state, err
}

// Edit changes a job, which must lead to the given state.
func (e *Env) Edit(id store.ID, change store.Edit, want store.State) store.Record {
	e.Helper()
	state, err := e.TryEdit(Edits(id, change))
	if err != nil || state != want {
		e.Fatalf("Edit: %v, %v; want %v", state, err, want)
	}
	e.WantState(id, want)
	return e.Get(id)
}

// WantNoEdit checks that a job cannot be changed like this, and stays as it is.
func (e *Env) WantNoEdit(id store.ID, change store.Edit, class error) {
	e.Helper()
	before := e.Get(id)
	_, err := e.TryEdit(Edits(id, change))
	e.WantErr("Edit of a "+before.State.String()+" job", err, class)
	e.Equal("record after the Edit", e.Get(id), before)
}

// TryDelete asks to remove jobs.
func (e *Env) TryDelete(ids ...store.ID) []store.Result {
	e.Helper()
	results, _, err := e.Store.Delete(e.Ctx, store.DeleteParams{Jobs: ids, Reason: "a test", Actor: "ada"})
	if err != nil || len(results) != len(ids) {
		e.Fatalf("Delete: %+v, %v", results, err)
	}
	for i, r := range results {
		if r.Job != ids[i] {
			e.Fatalf("answer %d of Delete is about %v, want %v", i, r.Job, ids[i])
		}
	}
	return results
}

// Delete removes a finished job.
func (e *Env) Delete(id store.ID) {
	e.Helper()
	before := e.Get(id).State
	if r := e.TryDelete(id)[0]; r.Err != nil || r.State != before {
		e.Fatalf("Delete of a %v job: %+v", before, r)
	}
	e.WantGone(id)
}

// Count counts jobs, over as many parts as it takes.
func (e *Env) Count(filter store.Filter) (n int) {
	e.Helper()
	params := store.CountParams{Filter: filter}
	for range 10_000 {
		counted, err := e.Store.Count(e.Ctx, params)
		e.NoError("Count", err)
		if n += counted.N; counted.Next == "" {
			return n
		}
		params.After = counted.Next
	}
	e.Fatal("Count never ends")
	return 0
}

// Sorted returns the ids of all jobs that match, in an order, over as many pages as it takes.
func (e *Env) Sorted(sort store.Sort, filter store.Filter, limit int) []store.ID {
	e.Helper()
	var ids []store.ID
	params := store.ListParams{Filter: filter, Sort: sort, Limit: limit}
	for range 10_000 {
		page, err := e.Store.List(e.Ctx, params)
		e.NoError("List", err)
		for i := range page.Jobs {
			ids = append(ids, page.Jobs[i].ID)
		}
		if page.Next == "" {
			return ids
		}
		params.After = page.Next
	}
	e.Fatal("List never ends")
	return nil
}
