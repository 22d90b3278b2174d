// Package storetest is the conformance suite of the store contract: a store is done when Run passes
// on it.
//
//	func TestConformance(t *testing.T) {
//		storetest.Run(t, func(t *testing.T, clock *storetest.Clock) store.Store {
//			s := open(t.TempDir(), clock.Now)
//			t.Cleanup(func() { s.Close() })
//			return s
//		})
//	}
//
// # What it holds
//
// Stories by what they are about: packages jobs, starts, durable, updates, family, nodes and
// operate, each with a file for a concern and tests whose names say what must hold. The invariants
// of the design (docs/architecture.md, "What must always hold") appear by name where they are
// tested: NoLoss, OneOwner, FinishedIsFinal, UniqueIsUnique, Remembered, LimitsHold (of a claim),
// EveryDueThingHappens, Order, CancelArrives, AtomicTransitions. Rate limits are tested by what
// adds them to the contract. All are told in the words of package env, which gives each test a
// store and a clock of its own.
//
// Package race lets goroutines compete, and counts. Package machine draws random sequences of
// operations, does them on the store and on package model, a plain implementation of the contract
// in memory, and compares the two after each. It does so again while package faults loses requests
// and answers, and a caller repeats them by the rules of the contract.
//
// RunTx, from package tx, is about EnqueueTx, SendTx, AppendTx and AwaitTx, for each kind of
// transaction that a store takes, and about what does not wait for such a transaction; where there
// is one writer, for whom all wait, that is left to the store.
//
// The property tests draw 3 sequences each, the same ones in each run, and 15 others in each round
// of a soak; go test -rapid.checks=1000 -rapid.seed=7 draws more. A failing one is kept in
// testdata/rapid and tried again first.
//
// # What it does not decide
//
// Where the contract leaves room, a test says which reading it takes in a comment that starts with
// "Reading:". What a store may choose freely (how jobs are packed into claim records, when exactly
// a free ordering key is handed on) is compared only after both sides had the chance to settle.
//
// # Time and ids
//
// Every test has a virtual Clock; nothing sleeps. Ids are UUIDv7 made from that clock and a
// counter, so that they sort by the order in which a test made them, as those of one real client
// do.
package storetest
