// Package holdfasttest tests handlers with a Holdfast in memory, in virtual time.
//
//	func TestFulfil(t *testing.T) {
//		holdfasttest.Run(t, func(env *holdfasttest.Env) {
//			t := env.T
//			Fulfil.Handle(env.Client, fulfil)
//			env.Start()
//			job, _ := Fulfil.Enqueue(t.Context(), env.Client, order)
//			env.After(48*time.Hour, func() { Approved.Send(t.Context(), env.Client, job.ID, Approval{By: "ada"}) })
//			receipt, err := job.Wait(t.Context()) // returns at once: two days are virtual
//			…
//			env.RequireJournal(job.ID, "step charge", "timer approved", "received approved", "step ship")
//		})
//	}
//
// # Virtual time
//
// Run calls the test in a bubble of testing/synctest: time stands still while a goroutine of the
// test runs, and jumps to the next timer when all of them wait. So a handler must not wait for
// anything outside of the bubble, such as a network; replace what it calls, as in any test.
//
// # Replaying journals
//
// Replay replays a journal against the current code. The journal is from a run in a test
// (Env.SaveJournal) or in production (holdfast job journal ID --output json). Replay executes no
// step and writes nothing; it fails if the code no longer fits the journal.
//
// # Imports
//
// This package imports the root package, the store contract and its in-memory model. Programs do
// not import it.
package holdfasttest
