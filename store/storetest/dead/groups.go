// Package dead tests how jobs that have failed for good are found by their fingerprints, and
// grouped.
package dead

import "github.com/holdfastdev/holdfast/store/storetest/env"

// Groups are the tests of this package, by what they are about.
var Groups = env.Groups{
	"DeadFilter": filterTests,
	"DeadGroups": groupTests,
	"DeadAgain":  againTests,
}
