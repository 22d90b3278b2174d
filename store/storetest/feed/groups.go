// Package feed tests the feed of changes: that each is told, once and in its place, and that a
// reader who missed some is told so.
package feed

import "github.com/holdfastdev/holdfast/store/storetest/env"

// Groups are the tests of this package, by what they are about.
var Groups = env.Groups{
	"Feed":     env.Merged(feedTests, orderTests),
	"RaceFeed": {"two_that_give_positions_at_once_give_each_once": twoSequencers},
}
