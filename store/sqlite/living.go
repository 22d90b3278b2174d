package sqlite

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// storedInfo is what is kept of store.NodeInfo.
type storedInfo struct {
	Name       string                  `json:"name"`
	Version    string                  `json:"version"`
	Namespace  string                  `json:"namespace,omitempty"`
	Queues     []string                `json:"queues,omitempty"`
	Kinds      []string                `json:"kinds,omitempty"`
	Slots      int                     `json:"slots"`
	QueueSlots map[string]int          `json:"queue_slots,omitempty"`
	DeadAfter  time.Duration           `json:"dead_after_ns,omitempty"`
	Policies   map[string]store.Policy `json:"policies,omitempty"`
}

// nodeAlive returns the highest claim record of a node, or ErrNodeDead.
func (t *tx) nodeAlive(node int64) (lastSeq int64, err error) {
	s := t.stmt("node_alive")
	s.bindInt(node)
	alive, err := s.next()
	if err != nil {
		return 0, err
	}
	if !alive {
		return 0, store.DeadNode(node)
	}
	defer s.done()
	return s.readInt(), nil
}
