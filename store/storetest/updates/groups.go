// Package updates tests requests to runs: how they come, wake, are answered once, and go.
package updates

import "github.com/holdfastdev/holdfast/store/storetest/env"

// Groups are the tests of this package, by what they are about.
var Groups = env.Groups{
	"Update":     updateTests,
	"UpdateEnds": endTests,
}
