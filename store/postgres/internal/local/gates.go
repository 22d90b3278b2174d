package local

import (
	"sync"
	"sync/atomic"
	"time"
)

// Gates are the namespaces in which jobs count in limits per key, as this process knows: their
// claims have more to do. A claim that does not know of such jobs leaves them alone, and learns of
// them. So it is with jobs that have fair keys, of which a process knows apart (Store.Fair).
type Gates struct {
	in, avoid sync.Map
	behind    atomic.Bool
}

// PutBehind notes that a claim has put jobs behind their gates.
func (g *Gates) PutBehind() { g.behind.Store(true) }

// TookBehind reports whether claims have done so since it was last asked.
func (g *Gates) TookBehind() bool { return g.behind.Load() && g.behind.Swap(false) }

// avoidFor is how long claims leave such jobs alone after one has waited for the rules of their
// limits in vain.
const avoidFor = 500 * time.Millisecond

// Avoid lets claims leave such jobs alone for a while, as a process that has stopped holds the
// rules of their limits. All other jobs are claimed.
func (g *Gates) Avoid(namespace string) { g.avoid.Store(namespace, time.Now().Add(avoidFor)) }

// Avoids reports whether claims leave them alone.
func (g *Gates) Avoids(namespace string) bool {
	until, ok := g.avoid.Load(namespace)
	if !ok {
		return false
	}
	if at, _ := until.(time.Time); time.Now().Before(at) {
		return true
	}
	g.avoid.CompareAndDelete(namespace, until)
	return false
}

// Has reports whether there may be such jobs.
func (g *Gates) Has(namespace string) bool {
	_, yes := g.in.Load(namespace)
	return yes
}

// HasAny reports whether there may be such jobs in any namespace.
func (g *Gates) HasAny() (yes bool) {
	g.in.Range(func(any, any) bool { yes = true; return false })
	return yes
}

// Note says whether there are.
func (g *Gates) Note(namespace string, has bool) {
	switch {
	case !has:
		g.in.Delete(namespace)
	case !g.Has(namespace): // it is said of each job
		g.in.Store(namespace, true)
	}
}
