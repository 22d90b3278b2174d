// Package jobs tests jobs from their enqueue to their end: who may claim them, in which order, what
// an outcome leads to, and what a request or an outcome does that comes twice or too late.
package jobs

import "github.com/holdfastdev/holdfast/store/storetest/env"

// Groups are the tests of this package, by what they are about.
var Groups = env.Groups{
	"Enqueue":     enqueueTests,
	"Invalid":     invalidTests,
	"Unique":      uniqueTests,
	"Claim":       claimTests,
	"Order":       orderTests,
	"Place":       placeTests,
	"Outcome":     outcomeTests,
	"Fence":       fenceTests,
	"Retry":       retryTests,
	"Promote":     promoteTests,
	"Repeat":      repeatTests,
	"OrderingKey": orderingKeyTests,
	"TurnTold":    turnToldTests,
	"Sequence":    sequenceTests,
	"Checkpoint":  checkpointTests,
	"Transitions": transitionTests,
	"Cancel":      cancelTests,

	"RaceSequence": {"Order_a_job_that_people_act_on_at_once": sequenceContested},
}
