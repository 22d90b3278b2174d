package core

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
)

// StoredInfo is what is kept of store.NodeInfo.
type StoredInfo struct {
	Name       string                  `json:"name"`
	Host       string                  `json:"host,omitempty"`
	Version    string                  `json:"version"`
	Engine     string                  `json:"engine,omitempty"`
	Namespace  string                  `json:"namespace,omitempty"`
	Queues     []string                `json:"queues,omitempty"`
	Kinds      []string                `json:"kinds,omitempty"`
	Slots      int                     `json:"slots"`
	QueueSlots map[string]int          `json:"queue_slots,omitempty"`
	DeadAfter  time.Duration           `json:"dead_after_ns,omitempty"`
	Policies   map[string]store.Policy `json:"policies,omitempty"`
	Was        int64                   `json:"-"`
	Mode       store.NodeMode          `json:"-"`
}

// NodeAlive returns the highest claim record of a node, or ErrNodeDead.
func (t *Tx) NodeAlive(node int64) (lastSeq int64, err error) {
	s := t.Stmt("node_alive")
	s.BindInt(node)
	alive, err := s.Next()
	if err != nil {
		return 0, err
	}
	if !alive {
		return 0, refusal.DeadNode(node)
	}
	defer s.Done()
	return s.ReadInt(), nil
}
