package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// Removed checks that nothing is left of a job that was removed, by people or by retention, and of
// the schedule that has fired it, which was deleted after it. naming
// returns all tables of the store's that have a column that may name a job, and how many rows name
// that one. kept are those that may go on naming it; before they are removed jobs have been in each
// of the others, so that none is forgotten.
func Removed(t *testing.T, open Factory, naming func(t *testing.T, s store.Store, id store.ID) map[string]int, kept ...string) {
	t.Helper()
	for what, remove := range map[string]func(*env.Env, store.ID){
		"deleted": func(e *env.Env, id store.ID) { e.Delete(id) },
		"retained": func(e *env.Env, _ store.ID) {
			e.Clock.Advance(1000*time.Hour + env.Slack)
			e.Retain(store.Retention{Completed: time.Hour, Failed: time.Hour, Cancelled: time.Hour, Limit: 100})
		},
	} {
		t.Run(what, func(t *testing.T) {
			seen := map[string]bool{}
			for _, named := range []func(*store.Enqueue){env.Unique("u", store.States...), env.Key("k")} {
				e := env.New(t, open)
				id := wholeLife(e, named, func(id store.ID) {
					for table, n := range naming(t, e.Store, id) {
						seen[table] = seen[table] || n > 0
					}
				})
				remove(e, id)
				e.WantGone(id)
				e.Retain(store.Retention{Limit: 100}) // what a large job remembered goes a little later
				if runs := e.RunsOf("nightly"); len(runs) != 1 || runs[0].Job != id {
					t.Errorf("the schedule does not tell any more which job it has fired: %+v", runs)
				}
				e.NoError("DeleteSchedule", e.Store.DeleteSchedule(e.Ctx, env.Namespace, "nightly", 0, ""))
				for table, n := range naming(t, e.Store, id) {
					if n > 0 && !slices.Contains(kept, table) {
						t.Errorf("%s has %d rows of the job that was %s", table, n, what)
					}
				}
			}
			for table, was := range seen {
				if !was && !slices.Contains(kept, table) {
					t.Errorf("no job was ever in %s: let one be there, to see whether it is removed from it", table)
				}
			}
		})
	}
}

// wholeLife lets a job that is named by a key go through all that a job can go through, and calls
// look at each station. In the end it has finished, and nothing else is there.
func wholeLife(e *env.Env, named func(*store.Enqueue), look func(store.ID)) store.ID {
	e.Helper()
	node := e.Join()
	e.SaveLimit(env.Limit("tenant", 1, func(l *store.Limit) { l.PerKey = true }))
	bounded := env.LimitKey("tenant", "acme")
	turn, slot := e.ClaimOne(node, e.Add(env.Ordered("k"))), e.ClaimOne(node, e.Add(bounded))
	e.Declare(map[string]store.AttributeType{"customer": store.AttributeKeyword})
	fire := e.Fire(e.SaveSchedule(env.Schedule("nightly")), e.Clock.Now(), env.Searched("customer", store.KeywordValue("acme")),
		env.Ordered("k"), named, bounded, env.Delay(time.Minute), env.Attempts(100))
	id := fire.Enqueues[0].Job.ID
	fire.Fire.Cancels = id
	e.Apply(env.Batched(fire))
	look(id) // it waits for its time,
	e.Later(node, time.Minute)
	e.WantNothing(node)
	look(id) // for its turn,
	e.End(turn, store.Completed)
	e.Promote()
	look(id) // for a node,
	e.WantNothing(node)
	look(id) // and at the gate of its key.
	e.End(slot, store.Completed)
	run := e.ClaimOne(node, id)
	e.Save(run, store.Checkpoint{Percent: 50})
	e.KeepLogs(env.Logged(run, 1, "half done"))
	e.Cancel(id)
	look(id)
	e.End(run, store.Cancelled)
	e.Retry(id)
	run = e.ClaimOne(node, id)
	e.Write(&run, append(env.Steps(1, 3), env.Entry(4, store.EntryPublished, "v"), env.Entry(5, store.EntryStreamed, "s"))...)
	e.Send(id, env.Signal("approved"))
	e.Ask(id, "request")
	e.PauseJob(id, store.Running)
	look(id)
	e.End(run, store.Available)
	e.Resume(env.Resumption(id), store.Available)
	run = e.ClaimOne(node, id)
	e.NoError("continuing", e.TryEnd(env.Outcome(run, store.Available, env.AsNew(`{"next":1}`))))
	look(id)
	run = e.ClaimOne(node, id)
	run.Durable = true
	child := e.Bear(&run, 1, env.Kind("push"), env.OnParentClose(store.CancelChild))[0]
	successor := e.Add(env.After(id))
	e.End(run, store.Failed, env.WithChildren)
	look(id)
	e.CloseChildren(100)
	e.Delete(successor)
	e.Delete(child)
	e.Delete(turn.Job.ID)
	e.Delete(slot.Job.ID)
	e.Leave(node)
	return id
}
