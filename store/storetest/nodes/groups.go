// Package nodes tests nodes: signs of life, leaders, what a node holds and gives up, and what is
// saved from those that are dead.
package nodes

import "github.com/holdfastdev/holdfast/store/storetest/env"

// Groups are the tests of this package, by what they are about.
var Groups = env.Groups{
	"Nodes":     nodesTests,
	"Leader":    leaderTests,
	"Held":      heldTests,
	"Builds":    buildTests,
	"NodeMode":  modeTests,
	"ClockBack": clockBackTests,
	"Rescue":    rescueTests,
}
