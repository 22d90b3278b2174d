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
// Remembered, LimitsHold (of a claim), EveryDueThingHappens, Order, CancelArrives, AtomicTransitions. Rate limits are tested by what
// adds them to the contract. RunTx is about EnqueueTx, SendTx, AppendTx and AwaitTx, for each kind of
// transaction that a store takes, and about what does not wait for such a transaction; where there
// is one writer, for whom all wait, that is left to the store.
//
// race.go and its neighbours let goroutines compete, and count. property.go draws random sequences of operations; the
// machine (machine.go, actions.go and its neighbours) does the same on the store and on package
// model, a plain implementation of the contract in memory, and compares them after each;
// actions_durable.go and actions_journal.go are about jobs that remember, actions_nodes.go is about
// nodes and the clock, which now and then goes back. It does so again while package faults loses
// requests and answers, and a caller repeats them by the rules of the contract.
//
// The property tests draw 15 sequences each; go test -rapid.checks=1000 draws more, and a failing one is kept in
// testdata/rapid and tried again first.
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
