// Package attributes tests search attributes: that they are declared, set by enqueues and runs,
// that jobs are found by them, and that they go with their jobs.
package attributes

import "github.com/holdfastdev/holdfast/store/storetest/env"

// Groups are the tests of this package, by what they are about.
var Groups = env.Groups{
	"Attributes":       declareTests,
	"AttributesOfJobs": valueTests,
	"AttributeLists":   listTests,
	"AttributeEdits":   editTests,
}
