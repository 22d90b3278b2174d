// Package batches tests that a batch is called back once, when all of its members have ended.
package batches

import "github.com/holdfastdev/holdfast/store/storetest/env"

// Groups are the tests of this package, by what they are about.
var Groups = env.Groups{
	"Batch":     env.Merged(batchTests, countTests, againTests),
	"RaceBatch": raceTests,
}

var raceTests = env.Tests{
	"OneFire_many_calls_at_once":                         callRace,
	"AtomicTransitions_members_and_closers_at_once":      addRace,
	"AtomicTransitions_retries_counts_and_calls_at_once": againRace,
}
