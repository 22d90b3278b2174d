// Package gates tests limits per key: that never more jobs of a key run than its limit lets, that
// none is left waiting, and that those which wait are there for whatever else is done to jobs.
package gates

import "github.com/holdfastdev/holdfast/store/storetest/env"

// Groups are the tests of this package, by what they are about.
var Groups = env.Groups{
	"Gate":        gateTests,
	"GatePlace":   placeTests,
	"GatePortion": portionTests,
	"GateRate":    rateTests,
	"GateShare":   sharingTests,
	"RaceGate":    raceTests,
	"RaceRate":    {"LimitsHold_over_nodes_and_whatever_ends_runs": rateNodes},
	"GateWaits":   waitsTests,
}
