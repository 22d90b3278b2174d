// Package machine draws random sequences of operations, does them on a store and on package model,
// and compares the two after each.
package machine

import "github.com/holdfastdev/holdfast/store/storetest/env"

// Groups are the tests of this package, by what they are about.
var Groups = env.Groups{
	"Property": propertyTests,
}
