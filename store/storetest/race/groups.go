// Package race lets goroutines compete for the same jobs, and counts.
package race

import "github.com/holdfastdev/holdfast/store/storetest/env"

// Groups are the tests of this package, by what they are about.
var Groups = env.Groups{
	"Race":        raceTests,
	"RaceContext": raceContextTests,
}

// Calls whose context ends in their middle. Behind a server what such a call does may still happen
// when it has returned.
var raceContextTests = env.Tests{
	"AtomicTransitions_a_context_that_ends_in_the_middle_leaves_all_or_nothing": raceContext,
	"AtomicTransitions_whoever_gives_up_leaves_every_job_in_one_place":          raceContextElsewhere,
}

// Real goroutines that compete for the same jobs. Nothing sleeps; who wins is up to the machine,
// and what is checked holds whichever wins.
var raceTests = env.Merged(env.Tests{
	"OneOwner_NoLoss_many_producers_and_claimers":     raceClaims,
	"UniqueIsUnique_of_many_producers_one_wins":       raceUnique,
	"UniqueIsUnique_of_many_retries_one_wins":         raceRetryUnique,
	"NoLoss_the_same_enqueue_from_many_is_one_job":    raceSameID,
	"NoLoss_readers_see_every_job_while_it_moves":     raceReaders,
	"OneOwner_a_claim_and_its_repetition_at_once":     raceRepeatedClaim,
	"OneOwner_of_many_outcomes_one_is_applied":        raceOutcomes,
	"OneOwner_an_outcome_and_its_repetitions_at_once": raceRepeatedOutcome,
	"NoLoss_queues_are_used_while_they_are_removed":   raceQueues,
	"NoLoss_queues_are_used_while_they_are_deleted":   raceDeletes,
	"NoLoss_settings_of_a_queue_that_are_set_at_once": raceSettings,
}, raceNodesTests, raceGiveUpTests, raceRequestsTests, raceStartTests, raceMixedTests, raceDurableTests, raceUpdatesTests,
	raceChildrenTests, raceKeysTests, raceDependTests)
