package storetest

import (
	"slices"
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

// concern is a file of tests.
type concern struct {
	name  string
	tests []test
}

// suite lists all tests.
var suite = []concern{
	{"Enqueue", enqueueTests},
	{"Invalid", invalidTests},
	{"Unique", uniqueTests},
	{"Claim", claimTests},
	{"Start", startTests},
	{"Order", orderTests},
	{"Outcome", outcomeTests},
	{"Ending", endingTests},
	{"Transitions", transitionTests},
	{"Fence", fenceTests},
	{"OrderingKey", orderingKeyTests},
	{"Cancel", cancelTests},
	{"Retry", retryTests},
	{"Rescue", rescueTests},
	{"Promote", promoteTests},
	{"Queues", queuesTests},
	{"Unserved", unservedTests},
	{"Retain", retainTests},
	{"RetainQueues", retainQueuesTests},
	{"Read", readTests},
	{"Obstacles", obstaclesTests},
	{"Closed", closedTests},
	{"Nodes", nodesTests},
	{"Leader", leaderTests},
	{"Held", heldTests},
	{"TurnTold", turnToldTests},
	{"Told", toldTests},
	{"ClockBack", clockBackTests},
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
	{"Earlier", earlierTests},
	{"Version", versionTests},
	{"Action", actionTests},
	{"Words", wordsTests},
	{"Race", raceTests},
	{"Property", propertyTests},
}

// Run checks that the stores that open returns keep the contract. Concerns that are left out are those that another run on the same kind of
// store has checked and that the difference between the two cannot touch. With -short races and random sequences are left out.
func Run(t *testing.T, open Factory, without ...string) {
	limitChecks()
	for _, name := range without {
		if !slices.ContainsFunc(suite, func(c concern) bool { return c.name == name }) {
			t.Fatalf("there is no concern named %s", name)
		}
	}
	if testing.Short() {
		without = append(slices.Clip(without), "Race", "Property")
	}
	for _, group := range suite {
		if slices.Contains(without, group.name) {
			continue
		}
		t.Run(group.name, func(t *testing.T) {
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
