// Package facts tests what is kept of what nodes have counted and measured: that it is written once
// however often it is told, that pages have all of it, and that hours take the place of minutes.
package facts

import "github.com/holdfastdev/holdfast/store/storetest/env"

// Groups are the tests of this package, by what they are about.
var Groups = env.Groups{
	"Facts": factTests,
}
