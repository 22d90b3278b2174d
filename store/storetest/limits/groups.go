// Package limits tests what stores keep of limits, that nodes together hold no more slots than
// there are, and that claims keep to what nodes ask for.
package limits

import "github.com/holdfastdev/holdfast/store/storetest/env"

// Groups are the tests of this package, by what they are about.
var Groups = env.Groups{
	"Limit":     limitTests,
	"Demand":    demandTests,
	"Slots":     clusterTests,
	"RaceLimit": raceTests,
	"Rate":      rateTests,
	"Grant":     env.Merged(grantTests, sweepTests, fairTests),
}
