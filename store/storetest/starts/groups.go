// Package starts tests jobs that run as soon as they are enqueued, and what keeps jobs from it.
package starts

import "github.com/holdfastdev/holdfast/store/storetest/env"

// Groups are the tests of this package, by what they are about.
var Groups = env.Groups{
	"Start": startTests,
}
