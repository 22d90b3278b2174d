// Package joblogs tests what is kept of what runs log: that it is there, in order, bounded, and
// goes with its job.
package joblogs

import "github.com/holdfastdev/holdfast/store/storetest/env"

// Groups are the tests of this package, by what they are about.
var Groups = env.Groups{
	"Logs": logTests,
}
