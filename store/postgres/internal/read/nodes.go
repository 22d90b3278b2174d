package read

import (
	"context"
	"encoding/json"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// NodesKept is how long a node that ended is told of.
const NodesKept = 24 * time.Hour

// NodeInfo is what the table keeps of a NodeInfo beside its name and version.
type NodeInfo struct {
	Engine     string                  `json:"engine,omitempty"`
	Host       string                  `json:"host,omitempty"`
	Namespace  string                  `json:"namespace,omitempty"`
	Queues     []string                `json:"queues,omitempty"`
	Kinds      []string                `json:"kinds,omitempty"`
	Slots      int                     `json:"slots"`
	QueueSlots map[string]int          `json:"queue_slots,omitempty"`
	DeadAfter  time.Duration           `json:"dead_after_ns,omitempty"`
	Policies   map[string]store.Policy `json:"policies,omitempty"`
}

// NodeInfoOf returns what can be read of what a node has written of itself, and leaves out what
// cannot: a later program may say more, or say it otherwise.
func NodeInfoOf(text []byte) (info NodeInfo) {
	_ = json.Unmarshal(text, &info) // it goes on behind a value that does not fit
	return info
}

// Nodes is that of store.Nodes, without the class of its error.
func (s *Store) Nodes(ctx context.Context) ([]store.Node, error) {
	var nodes []store.Node
	err := s.Send(ctx, pg.Statement{Name: "nodes", Args: []any{s.Injected(), NodesKept.Microseconds()}, Each: func(r pg.Row) error {
		var (
			n                 store.Node
			info              []byte
			startedAt, beatAt int64
			deadAt            *int64
			running           int64
			ended, mode       int16
			modeAt            *int64
			modeBy, unwell    *string
		)
		err := r.Scan(&n.ID, &n.Info.Name, &n.Info.Version, &info, &startedAt, &beatAt, &deadAt, &ended, &mode, &modeAt, &modeBy, &unwell,
			&running, &n.Leader)
		if err != nil {
			return err
		}
		n.Ended = store.NodeEnd(ended)
		n.Mode, n.ModeAt, n.ModeBy, n.Unwell = store.NodeMode(mode), pg.OptTime(modeAt), pg.TextOf(modeBy), store.UnwellOf(pg.TextOf(unwell))
		kept := NodeInfoOf(info)
		n.Info.Engine = kept.Engine
		n.Info.Host, n.Info.Namespace, n.Info.Queues, n.Info.Kinds = kept.Host, kept.Namespace, kept.Queues, kept.Kinds
		n.Info.Slots, n.Info.QueueSlots, n.Info.DeadAfter, n.Info.Policies = kept.Slots, kept.QueueSlots, kept.DeadAfter, kept.Policies
		n.StartedAt, n.BeatAt, n.DeadAt, n.Running = pg.TimeOf(startedAt), pg.TimeOf(beatAt), pg.OptTime(deadAt), int(running)
		nodes = append(nodes, n)
		return nil
	}})
	return nodes, err
}
