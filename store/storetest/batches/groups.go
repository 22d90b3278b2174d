// Package batches tests that a batch is called back once, when all of its members have ended.
package batches

import "github.com/holdfastdev/holdfast/store/storetest/env"

// Groups are the tests of this package, by what they are about.
var Groups = env.Groups{
	"Batch": env.Merged(batchTests, countTests, againTests),
}
