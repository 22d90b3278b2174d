// Package schedules tests what stores keep of schedules, and that a nominal time fires once.
package schedules

import "github.com/holdfastdev/holdfast/store/storetest/env"

// Groups are the tests of this package, by what they are about.
var Groups = env.Groups{
	"Schedule": scheduleTests,
	"Fire":     fireTests,
	"RaceFire": {"OneFire_many_at_once": fireRace},
}
