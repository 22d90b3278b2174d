package nodes

import "github.com/holdfastdev/holdfast"

// isAlive reports whether a node does what it can: it beats, or the database does not answer, which
// another start of the process would not change. One that has not begun, or has left, is alive.
func isAlive(h *holdfast.Health) bool {
	return h.Node == 0 || h.BeatAt.IsZero() || h.Silent <= h.DeadAfter || !h.AwaySince.IsZero()
}

// areAlive reports whether all nodes are.
func areAlive(nodes []*holdfast.Client) bool {
	for _, node := range nodes {
		if h := node.Health(); !isAlive(&h) {
			return false
		}
	}
	return true
}
