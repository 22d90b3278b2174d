// Package lists tests what lists and counts select, in which order and on which page, and what
// people and runs change of jobs: edits, deletes, and what a run says of its own job.
package lists

import "github.com/holdfastdev/holdfast/store/storetest/env"

// Groups are the tests of this package, by what they are about.
var Groups = env.Groups{
	"Filter":   filterTests,
	"Match":    matchTests,
	"Sort":     sortTests,
	"Count":    countTests,
	"Large":    largeTests,
	"Edit":     env.Merged(editTests, editMovesTests),
	"Delete":   deleteTests,
	"Meta":     metaTests,
	"RaceEdit": raceTests,
}
