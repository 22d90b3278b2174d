package storetest

import (
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// Factory opens a fresh, empty store that reads its time from clock. It registers its own cleanup with t, and fails
// the test if it cannot open one. It is called by many tests at once.
type Factory func(t *testing.T, clock *Clock) store.Store

// test is one conformance test; it gets a store of its own.
type test struct {
	name string
	run  func(*env)
}

// suite lists the tests by concern. A concern is a file.
var suite = []struct {
	concern string
	tests   []test
}{
	{"Enqueue", enqueueTests},
	{"Invalid", invalidTests},
	{"Unique", uniqueTests},
	{"Claim", claimTests},
	{"Start", startTests},
	{"Order", orderTests},
	{"Outcome", outcomeTests},
	{"Transitions", transitionTests},
	{"Fence", fenceTests},
	{"OrderingKey", orderingKeyTests},
	{"Cancel", cancelTests},
	{"Retry", retryTests},
	{"Rescue", rescueTests},
	{"Promote", promoteTests},
	{"Queues", queuesTests},
	{"Retain", retainTests},
	{"Read", readTests},
	{"Closed", closedTests},
	{"Nodes", nodesTests},
	{"Leader", leaderTests},
	{"Repeat", repeatTests},
	{"Checkpoint", checkpointTests},
	{"Journal", journalTests},
	{"Message", messageTests},
	{"Wait", waitTests},
	{"Hold", holdTests},
	{"Resume", resumeTests},
	{"CancelDurable", cancelDurableTests},
	{"Terminate", terminateTests},
	{"Children", childrenTests},
	{"Close", closeTests},
	{"Fork", forkTests},
	{"Continue", continueTests},
	{"Version", versionTests},
	{"Action", actionTests},
	{"Race", raceTests},
	{"Property", propertyTests},
}

// Run checks that the stores that open returns keep the contract.
func Run(t *testing.T, open Factory) {
	limitChecks()
	for _, group := range suite {
		t.Run(group.concern, func(t *testing.T) {
			t.Parallel()
			for _, test := range group.tests {
				t.Run(test.name, func(t *testing.T) {
					t.Parallel()
					test.run(newEnv(t, open))
				})
			}
		})
	}
}
