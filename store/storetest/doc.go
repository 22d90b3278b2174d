// Package storetest is the conformance suite of the store contract: a store is done when Run passes on it.
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
// One file per concern, with tests whose names say what must hold. The invariants of the design (docs/architecture.md,
// "What must always hold") appear by name where they are tested: NoLoss, OneOwner, FinishedIsFinal, UniqueIsUnique,
// EveryDueThingHappens, Order, CancelArrives, AtomicTransitions. Remembered is remembered (the journal) and limits hold
// (the limits of a claim, but not rate limits) are tested by the packages that add them to the contract.
//
// property.go draws random sequences of operations and compares the store with package model, a plain implementation
// of the same contract in memory, after each; lossy.go does the same while package faults loses requests and answers;
// race.go lets goroutines compete and counts.
//
// # What it does not decide
//
// Where the contract leaves room, a test says which reading it takes in a comment that starts with "Reading:". What a
// store may choose freely (how jobs are packed into claim records, when exactly a free ordering key is handed on) is
// compared only after both sides had the chance to settle.
//
// # Time and ids
//
// Every test has a virtual Clock; nothing sleeps. Ids are UUIDv7 made from that clock and a counter, so that they
// sort by the order in which a test made them, as those of one real client do.
package storetest
