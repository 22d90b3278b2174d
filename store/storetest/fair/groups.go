// Package fair tests fair keys: that the jobs of different keys are claimed in turn, however many
// jobs a claim takes, and that neither they nor other jobs are kept from running.
package fair

import "github.com/holdfastdev/holdfast/store/storetest/env"

// Groups are the tests of this package, by what they are about.
var Groups = env.Groups{
	"Fair":      fairTests,
	"FairOrder": orderTests,
	"FairPlace": placeTests,
}
