// Package keys tests business keys: who has one and for how long, the signals that go along with
// enqueues, what retention leaves of keys, and finished jobs that run again.
package keys

import "github.com/holdfastdev/holdfast/store/storetest/env"

// Groups are the tests of this package, by what they are about.
var Groups = env.Groups{
	"Key":          keyTests,
	"KeySend":      sendTests,
	"KeyRetention": retentionTests,
	"KeyAgain":     againTests,
	"KeyChanges":   changesTests,
}
