// Package operate tests what people and leaders ask of a store besides running jobs: queues, lists
// and records, what is removed when it is old, what is told to those who watch, and in which words
// things are refused.
package operate

import "github.com/holdfastdev/holdfast/store/storetest/env"

// Groups are the tests of this package, by what they are about.
var Groups = env.Groups{
	"Queues":       queuesTests,
	"DeleteQueue":  deleteQueueTests,
	"Unserved":     unservedTests,
	"Busy":         busyTests,
	"Namespace":    namespaceTests,
	"Retain":       retainTests,
	"RetainQueues": retainQueuesTests,
	"Read":         readTests,
	"Obstacles":    obstaclesTests,
	"Rest":         restTests,
	"SetQueue":     setQueueTests,
	"Closed":       closedTests,
	"Action":       actionTests,
	"Words":        wordsTests,
	"Told":         toldTests,
}
