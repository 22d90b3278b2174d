// Package family tests what comes of a job: its children, its forks, and its next generations.
package family

import "github.com/holdfastdev/holdfast/store/storetest/env"

// Groups are the tests of this package, by what they are about.
var Groups = env.Groups{
	"Children":  childrenTests,
	"Close":     closeTests,
	"Fork":      forkTests,
	"Continue":  continueTests,
	"Earlier":   earlierTests,
	"StartOver": startOverTests,

	"RaceEarlier": {"Remembered_who_reads_on_while_the_job_continues_misses_nothing": earlierFollowed},
}
