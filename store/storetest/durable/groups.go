// Package durable tests jobs that remember: their journals and messages, waits, pauses and
// resumptions, and every end of a run under every request.
package durable

import "github.com/holdfastdev/holdfast/store/storetest/env"

// Groups are the tests of this package, by what they are about.
var Groups = env.Groups{
	"Journal":       journalTests,
	"Message":       messageTests,
	"Wait":          waitTests,
	"Hold":          holdTests,
	"Resume":        resumeTests,
	"CancelDurable": cancelDurableTests,
	"Terminate":     terminateTests,
	"Version":       versionTests,
	"Ending":        endingTests,
	"Unit":          unitTests,
}
