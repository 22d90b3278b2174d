package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// nodesKept is how long a node that ended is told of.
const nodesKept = 24 * time.Hour

// nodeInfo is what the table keeps of a NodeInfo beside its name and version.
type nodeInfo struct {
	Queues []string `json:"queues,omitempty"`
	Kinds  []string `json:"kinds,omitempty"`
	Slots  int      `json:"slots"`
}

// Join implements store.Nodes.
func (s *Store) Join(ctx context.Context, info store.NodeInfo) (id int64, err error) {
	text, err := json.Marshal(nodeInfo{info.Queues, info.Kinds, info.Slots})
	if err != nil {
		return 0, fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	err = s.send(ctx, statement{
		name: "node_join",
		args: []any{cleanText(info.Name), cleanText(info.Version), string(text), s.injected()},
		each: func(r row) error { return r.Scan(&id) },
	})
	return id, classify(ctx, "join", err)
}

// Beat implements store.Nodes. It also measures how far the local clock is off, and sees to the partitions of the days to
// come.
func (s *Store) Beat(ctx context.Context, params store.BeatParams) (store.Beat, error) {
	var beat store.Beat
	err := patiently(ctx, func() (err error) {
		beat, err = s.beat(ctx, params)
		return err
	})
	if err != nil {
		return store.Beat{}, classify(ctx, "beat", err)
	}
	// A failure leaves days without partitions, which costs speed in some days; the next beat tries again.
	_ = s.extendPartitions(ctx)
	return beat, nil
}

func (s *Store) beat(ctx context.Context, params store.BeatParams) (beat store.Beat, err error) {
	asked := time.Now()
	alive := false
	list := []statement{{name: "node_beat", args: []any{params.Node, s.injected()}, each: func(r row) error {
		alive = true
		var micros int64
		if err := r.Scan(&micros); err != nil {
			return err
		}
		s.setOffset(micros, asked, time.Now())
		return nil
	}}}
	list = append(list, s.lead(params, &beat)...)
	list = append(list, statement{name: "node_cancels", args: []any{params.Node}, each: func(r row) error {
		c := store.CancelRequest{}
		var at int64
		var reason, actor *string
		err := r.Scan((*[16]byte)(&c.Job), &at, &reason, &actor)
		c.At, c.Reason, c.Actor = timeOf(at), textOf(reason), textOf(actor)
		beat.Cancels = append(beat.Cancels, c)
		return err
	}})
	if err := s.send(ctx, list...); err != nil {
		return beat, err
	}
	if !alive {
		return beat, store.ErrNodeDead
	}
	return beat, nil
}

// Leave implements store.Nodes.
func (s *Store) Leave(ctx context.Context, node int64) error {
	freed := false
	err := patiently(ctx, func() error {
		return s.inTx(ctx, beginHot, func(t session) error {
			here := false
			if err := t.run(ctx, "node_lock", func(row) error { here = true; return nil }, node); err != nil || !here {
				return err
			}
			now := s.now()
			for {
				held, err := s.heldRuns(ctx, t, "claims_of_node", node, int32(claimRecords))
				if err != nil {
					return err
				}
				if len(held) == 0 {
					break
				}
				for _, h := range held {
					h.state, h.reason, h.runAt = store.Available, string(store.ReasonReleased), now
					freed = freed || h.job.OrderingKey != ""
				}
				if err := s.endHeld(ctx, t, held, now); err != nil {
					return err
				}
			}
			if err := t.run(ctx, "node_end", nil, node, s.injected()); err != nil {
				return err
			}
			return t.run(ctx, "leader_leave", nil, node, s.injected())
		})
	})
	if err == nil && freed {
		_ = s.handOnAfterCommit(ctx) // promotion does it otherwise
	}
	return classify(ctx, "leave", err)
}

// Nodes implements store.Nodes.
func (s *Store) Nodes(ctx context.Context) ([]store.Node, error) {
	var nodes []store.Node
	err := s.send(ctx, statement{name: "nodes", args: []any{s.injected(), nodesKept.Microseconds()}, each: func(r row) error {
		var (
			n                 store.Node
			info              []byte
			startedAt, beatAt int64
			deadAt            *int64
			running           int64
		)
		if err := r.Scan(&n.ID, &n.Info.Name, &n.Info.Version, &info, &startedAt, &beatAt, &deadAt, &running, &n.Leader); err != nil {
			return err
		}
		var kept nodeInfo
		if err := json.Unmarshal(info, &kept); err != nil {
			return err
		}
		n.Info.Queues, n.Info.Kinds, n.Info.Slots = kept.Queues, kept.Kinds, kept.Slots
		n.StartedAt, n.BeatAt, n.DeadAt, n.Running = timeOf(startedAt), timeOf(beatAt), optTime(deadAt), int(running)
		nodes = append(nodes, n)
		return nil
	}})
	return nodes, classify(ctx, "list the nodes", err)
}
