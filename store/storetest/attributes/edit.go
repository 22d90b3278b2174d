package attributes

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var editTests = env.Tests{
	"a_person_sets_changes_and_removes_them":                edited,
	"an_edit_goes_as_far_as_the_end_of_the_job":             editedStates,
	"an_edit_of_values_and_of_the_place_happens_as_a_whole": editedWhole,
	"an_edit_that_changes_no_value_is_not_recorded":         editedNothing,
	"an_edit_of_a_value_that_is_not_declared_so_drops_it":   editedDropped,
	"an_edit_that_cannot_be_is_refused":                     editedRefused,
	"a_job_of_another_namespace_is_not_edited":              editedElsewhere,
	"what_a_run_says_after_an_edit_counts":                  editedThenSaid,
}

func none(name string) store.Attribute { return store.Attribute{Name: name} }

func values(list ...store.Attribute) store.Edit { return store.Edit{Attributes: list} }

// withCustomer are the jobs that are found by a customer.
func withCustomer(e *env.Env, name string) []store.ID {
	e.Helper()
	return e.ListIDs(matching("customer", store.AttributeIs, store.KeywordValue(name)))
}

func edited(e *env.Env) {
	e.Declare(allTypes)
	id, other := e.Add(), e.Add(acme)
	e.Edit(id, values(customer("acme"), amount(1)), store.Available)
	e.Equal("set", e.Values(id), []string{"amount=1", "customer=acme"})
	e.WantSameIDs("found by it", withCustomer(e, "acme"), id, other)
	e.Edit(id, values(customer("b")), store.Available)
	e.Equal("changed", e.Values(id), []string{"amount=1", "customer=b"})
	e.WantIDs("found by the value before", withCustomer(e, "acme"), other)
	e.WantIDs("found by the new one", withCustomer(e, "b"), id)
	e.Edit(id, values(none("customer"), amount(2), none("paid")), store.Available)
	e.Equal("removed", e.Values(id), []string{"amount=2"})
	e.WantIDs("found by what was removed", withCustomer(e, "b"))
	e.Equal("of the other job", e.Values(other), []string{"customer=acme"})
	run := e.ClaimOne(e.Join(), id)
	e.End(run, store.Completed)
	e.Equal("after its end", e.Values(id), []string{"amount=2"})
}

func editedStates(e *env.Env) {
	e.Declare(allTypes)
	node := e.Join()
	for _, state := range []store.State{store.Completed, store.Failed, store.Cancelled} {
		id := e.Add(acme)
		e.End(e.ClaimOne(node, id), state)
		for _, change := range []store.Edit{
			values(customer("b")), values(none("customer")), values(amount(1)), values(customer("acme")), values(none("undeclared")),
		} {
			e.WantNoEdit(id, change, store.ErrConflict)
		}
		both := values(amount(1))
		both.AddTags = []string{"t"}
		e.WantNoEdit(id, both, store.ErrConflict)
		e.Equal("values", e.Values(id), []string{"customer=acme"})
	}
	retryable, running := e.Add(), e.Add()
	e.End(e.ClaimOne(node, retryable), store.Retryable)
	e.ClaimOne(node, running)
	waiting := e.Add()
	e.PauseJob(waiting, store.Waiting)
	for id, state := range map[store.ID]store.State{
		retryable: store.Retryable, running: store.Running, waiting: store.Waiting, e.Add(): store.Available,
	} {
		before := e.Get(id)
		got := e.Edit(id, values(amount(3)), state)
		e.Equal("values of a "+state.String()+" job", env.ValuesOf(got.Attributes), []string{"amount=3"})
		got.Attributes, got.Actions = before.Attributes, before.Actions
		e.Equal("all else of a "+state.String()+" job", got, before)
	}
}

func editedWhole(e *env.Env) {
	e.Declare(allTypes)
	node := e.Join()
	run := e.ClaimOne(node, e.Add(acme))
	both := values(customer("b"))
	both.Queue = new("b")
	e.WantNoEdit(run.Job.ID, both, store.ErrConflict)
	e.Equal("values of a job that runs", e.Values(run.Job.ID), []string{"customer=acme"})
	id := e.Add(acme)
	got := e.Edit(id, both, store.Available)
	e.Equal("values", env.ValuesOf(got.Attributes), []string{"customer=b"})
	e.Equal("queue", got.Queue, "b")
}

func editedNothing(e *env.Env) {
	e.Declare(allTypes)
	id := e.Add(acme)
	actions := func() int { return len(e.Get(id).Actions) }
	e.Edit(id, values(customer("acme"), none("amount")), store.Available)
	e.Equal("actions after an edit that changes nothing", actions(), 0)
	e.Edit(id, values(customer("b")), store.Available)
	e.Equal("actions after one that changes something", actions(), 1)
	e.Edit(id, values(none("customer")), store.Available)
	e.Equal("actions after one that removes something", actions(), 2)
	last := e.Get(id).Actions[1]
	e.Equal("the last action", []string{string(last.Kind), last.Actor, last.Reason}, []string{string(store.ActionEdit), "ada", "it has to be"})
}

func editedDropped(e *env.Env) {
	e.Declare(map[string]store.AttributeType{"amount": integer})
	id := e.Add(amount7)
	wrong := store.Attribute{Name: "amount", Value: store.KeywordValue("many")}
	e.Edit(id, values(customer("acme"), wrong), store.Available)
	e.Equal("values", e.Values(id), []string{"amount=7"})
	e.Equal("actions", len(e.Get(id).Actions), 0)
	e.Declare(allTypes)
	e.Equal("after it was declared", e.Values(id), []string{"amount=7"})
	e.Add(acme)
	e.Equal("more to remove", remove(e, 1), true)
	e.Edit(id, values(customer("acme")), store.Available) // its name is being removed
	e.Equal("while it is removed", e.Values(id), []string{"amount=7"})
	e.Equal("actions", len(e.Get(id).Actions), 0)
}

func editedRefused(e *env.Env) {
	e.Declare(allTypes)
	id := e.Add(acme)
	e.WantNoEdit(id, values(store.Attribute{Name: "customer", Value: store.KeywordValue("")}), store.ErrInvalid)
	e.WantNoEdit(id, values(store.Attribute{Name: "customer", Value: store.TextValue("acme")}), store.ErrInvalid)
	e.WantNoEdit(id, values(customer("a"), none("customer")), store.ErrInvalid)
	e.WantNoEdit(id, values(none("a b")), store.ErrInvalid)
}

func editedElsewhere(e *env.Env) {
	e.Declare(allTypes)
	id := e.Add(acme)
	params := env.Edits(id, values(customer("b")))
	params.Namespace = env.OtherSpace
	_, err := e.TryEdit(params)
	e.WantErr("an edit in the other namespace", err, store.ErrNotFound)
	e.Equal("values", e.Values(id), []string{"customer=acme"})
	there := e.InOtherSpace().Add()
	e.Edit(there, values(customer("b")), store.Available) // its namespace has not declared it
	e.Equal("values of a job of the other namespace", e.Values(there), nil)
}

func editedThenSaid(e *env.Env) {
	e.Declare(allTypes)
	run := e.Started(acme)
	id := run.Job.ID
	e.Edit(id, values(customer("person"), amount(1)), store.Running)
	e.NoError("append", e.TryAppend(&store.Append{Lease: run.Lease, Entries: env.Steps(1, 1), Meta: sets(customer("run"))}))
	e.Equal("values", e.Values(id), []string{"amount=1", "customer=run"})
	e.WantIDs("found by what a person has set", withCustomer(e, "person"))
	e.WantIDs("found by what the run has set", withCustomer(e, "run"), id)
}
