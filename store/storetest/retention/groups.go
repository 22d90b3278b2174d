// Package retention tests the classes of retention that queues name: that jobs are kept as their
// classes say, no shorter, and that what is removed is counted.
package retention

import "github.com/holdfastdev/holdfast/store/storetest/env"

// Groups are the tests of this package, by what they are about.
var Groups = env.Groups{
	"RetentionClasses": classTests,
	"RetentionOfJobs":  jobTests,
	"RetentionExpired": expiredTests,
	"RetentionStubs":   stubTests,
	"RaceRetention":    raceTests,
}
