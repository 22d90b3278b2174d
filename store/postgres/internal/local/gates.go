package local

import "sync"

// Gates are the namespaces in which jobs count in limits per key, as this process knows: their
// claims have more to do. A claim that does not know of such jobs leaves them alone, and learns of
// them. So it is with jobs that have fair keys, of which a process knows apart (Store.Fair).
type Gates struct{ in sync.Map }

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
