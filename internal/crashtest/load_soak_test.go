//go:build soak

package crashtest

import (
	"math/rand/v2"

	"github.com/holdfastdev/holdfast"
)

func newLoad(c *cluster, random *rand.Rand) *load {
	c.t.Helper()
	l := &load{
		c: c, random: random, plan: map[int]work{}, jobs: map[holdfast.ID]int{}, undone: map[holdfast.ID]int{},
		cancels: map[holdfast.ID]request{}, retries: map[holdfast.ID]request{},
	}
	for i := range l.clients {
		l.clients[i] = openAs(c.t, &c.config)
	}
	var err error
	if l.caller, err = newCaller(c.config.Database); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = l.caller.db.Close() })
	if err := l.caller.createTable(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	return l
}
