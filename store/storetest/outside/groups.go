// Package outside tests jobs that are handed over, and finished from outside.
package outside

import "github.com/holdfastdev/holdfast/store/storetest/env"

// Groups are the tests of this package, by what they are about.
var Groups = env.Groups{
	"Outside": env.Merged(finishTests, peopleTests),
}
