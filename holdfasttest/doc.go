// Package holdfasttest is for tests of handlers: a Holdfast in memory, in virtual time.
//
//	func TestFulfil(t *testing.T) {
//		holdfasttest.Run(t, func(env *holdfasttest.Env) {
//			t := env.T
//			Fulfil.Handle(env.Client, fulfil)
//			env.Start()
//			job, _ := Fulfil.Enqueue(t.Context(), env.Client, order)
//			env.After(48*time.Hour, func() { Approved.Send(t.Context(), env.Client, job.ID, Approval{By: "ada"}) })
//			receipt, err := job.Wait(t.Context()) // returns at once: nobody waits for two days
//			…
//			env.RequireJournal(job.ID, "step charge", "timer approved", "received approved", "step ship")
//		})
//	}
//
// # Virtual time
//
// Run calls the test in a bubble of testing/synctest: time passes only while every goroutine of the test waits, and
// then all at once. So a handler must not wait for anything outside of the bubble, such as a network; what it calls is
// to be replaced, as in any test.
//
// # Replaying journals
//
// A journal that a run has left, in a test (Env.SaveJournal) or in production (holdfast job journal ID --output json),
// is replayed against the code of today by Replay. It executes no step and writes nothing; it fails if the code no
// longer fits.
//
// # Imports
//
// The root package, the store contract and its model in memory. Programs do not import it.
package holdfasttest
