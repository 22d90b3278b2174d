// Package holdfasttest tests handlers with a Holdfast in memory, in virtual time.
//
//	func TestFulfil(t *testing.T) {
//		holdfasttest.Run(t, func(env *holdfasttest.Env) {
//			t := env.T
//			Fulfil.Handle(env.Client, fulfil)
//			holdfasttest.Stub(env, "charge", func(context.Context) (string, error) { return "charge-1", nil })
//			env.Start()
//			job, _ := Fulfil.Enqueue(t.Context(), env.Client, order)
//			env.After(48*time.Hour, func() { Approved.Send(t.Context(), env.Client, job.ID, Approval{By: "ada"}) })
//			receipt, err := job.Wait(t.Context()) // returns at once: two days are virtual
//			…
//			env.RequireJournal(job.ID, "step charge", "timer approved", "received approved", "step ship")
//			holdfasttest.RequireEnqueued(env, Ship, order)
//		})
//	}
//
// docs/testing.md is the guide.
//
// # Virtual time
//
// Run calls the test in a bubble of testing/synctest: time stands still while a goroutine of the
// test runs, and jumps to the next timer when all of them wait. So a handler must not wait for
// anything outside of the bubble, such as a network; replace what it calls, as in any test. Time
// passes while the test waits, as in Job.Wait, and by Advance. A virtual month costs some
// milliseconds.
//
// # Working jobs
//
// After Start a node works the jobs, as in production. WorkOne works one job of a kind instead,
// without a node, and returns when its run has ended or parked.
//
// # Steps and jobs
//
// Stub replaces a step by its name. RequireEnqueued, RequireNotEnqueued and Enqueued tell what was
// enqueued. What takes a kind takes a holdfast.Kind or a holdfast.Task.
//
// # Replaying journals
//
// Replay replays a journal against the current code. The journal is from a run in a test
// (Env.SaveJournal) or in production (holdfast job journal ID --output json). Replay executes no
// step and writes nothing; it fails if the code no longer fits the journal.
//
// # Imports
//
// This package imports the root package, the store contract and its in-memory model, and reaches
// the engine through internal/access. Programs do not import it.
package holdfasttest
