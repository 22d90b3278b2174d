package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
)

// nodesKept is how long a node that ended is told of.
const nodesKept = 24 * time.Hour

// nodeInfo is what the table keeps of a NodeInfo beside its name and version.
type nodeInfo struct {
	Namespace  string                  `json:"namespace,omitempty"`
	Queues     []string                `json:"queues,omitempty"`
	Kinds      []string                `json:"kinds,omitempty"`
	Slots      int                     `json:"slots"`
	QueueSlots map[string]int          `json:"queue_slots,omitempty"`
	DeadAfter  time.Duration           `json:"dead_after_ns,omitempty"`
	Policies   map[string]store.Policy `json:"policies,omitempty"`
}

// readInfo returns what can be read of what a node has written of itself, and leaves out what cannot: a
// later program may say more, or say it otherwise.
func readInfo(text []byte) (info nodeInfo) {
	_ = json.Unmarshal(text, &info) // it goes on behind a value that does not fit
	return info
}

// Join is that of store.Nodes, without the class of its error.
func (s *operateStore) Join(ctx context.Context, info store.NodeInfo) (id int64, err error) {
	text, err := json.Marshal(nodeInfo{
		info.Namespace, info.Queues, info.Kinds, info.Slots, info.QueueSlots, info.DeadAfter, info.Policies,
	})
	if err != nil {
		return 0, fmt.Errorf("%w: join: %w", store.ErrInvalid, err)
	}
	err = s.send(ctx, statement{
		name: "node_join",
		args: []any{cleanText(info.Name), cleanText(info.Version), string(text), s.injected()},
		each: func(r row) error { return r.Scan(&id) },
	})
	return id, err
}

// Beat is that of store.Nodes, without the class of its error.
func (s *operateStore) Beat(ctx context.Context, params store.BeatParams) (store.Beat, error) {
	var beat store.Beat
	err := retryOnConflict(ctx, func() (err error) {
		beat, err = s.beat(ctx, params)
		return err
	})
	if err != nil {
		return store.Beat{}, err
	}
	// A failure leaves days without partitions, which costs speed in some days; the next beat tries again.
	_ = s.tables.extendPartitions(ctx)
	return beat, nil
}

// beatRow is what is scanned of one.
type beatRow struct {
	sort               int32
	a, b, c            *int64
	id                 pgtype.UUID
	reason, actor      *string
	dead, asked, ended pgtype.Bool
}

func (s *operateStore) beat(ctx context.Context, params store.BeatParams) (beat store.Beat, err error) {
	began := time.Now()
	alive := false
	args := []any{
		params.Node, max(params.LeaderTTL.Microseconds(), 0), s.injected(), params.Lead,
		params.Held.Claims, params.Held.From, params.Held.To,
	}
	err = s.sendVital(ctx, statement{name: "beat", args: args, each: func(r row) error {
		var b beatRow
		if err := r.Scan(&b.sort, &b.a, &b.b, &b.c, &b.id, &b.reason, &b.actor, &b.dead, &b.asked, &b.ended); err != nil {
			return err
		}
		if b.sort == beatSelf {
			alive = true
			s.noteClock(reading{*b.b, began, time.Now()})
		}
		b.addTo(&beat, params.Node)
		return nil
	}})
	if err == nil && !alive {
		err = store.DeadNode(params.Node)
	}
	return beat, err
}

func (b *beatRow) addTo(beat *store.Beat, node int64) {
	switch b.sort {
	case beatSelf:
		if b.c != nil {
			beat.Leader, beat.Epoch = true, *b.c
		}
		beat.At = timeOf(*b.a)
		beat.Work = store.Work{Rescue: b.dead.Bool, SweepCancels: b.asked.Bool, CloseChildren: b.ended.Bool}
	case beatCancel:
		beat.Cancels = append(beat.Cancels, store.CancelRequest{
			Job: b.id.Bytes, At: optTime(b.a), Reason: textOf(b.reason), Actor: textOf(b.actor),
		})
	case beatPause:
		beat.Pauses = append(beat.Pauses, b.id.Bytes)
	case beatOther:
		beat.Nodes = append(beat.Nodes, store.NodeBeat{Node: *b.a, At: timeOf(*b.b)})
	case beatHeld:
		beat.Held = append(beat.Held, store.Lease{Job: b.id.Bytes, Number: *b.c, Node: node, Claim: *b.a, Slot: int(*b.b)})
	}
}

// Leave is that of store.Nodes, without the class of its error.
func (s *operateStore) Leave(ctx context.Context, node int64) error {
	freed := false
	var w woken
	err := retryOnConflict(ctx, func() error {
		w = woken{}
		return s.inTx(ctx, beginHot, func(t session) (err error) {
			here := false
			if err := t.run(ctx, "node_lock", func(row) error { here = true; return nil }, node); err != nil || !here {
				return err
			}
			// What is being written to the journals of its jobs comes first.
			if err := t.run(ctx, "fence_out", nil, []int64{node}); err != nil {
				return err
			}
			if freed, err = s.giveBack(ctx, t, node, w); err != nil {
				return err
			}
			if err := t.run(ctx, "node_end", nil, node, s.injected()); err != nil {
				return err
			}
			return t.run(ctx, "leader_leave", nil, node)
		})
	})
	if err == nil {
		s.tellWoken(ctx, w)
	}
	if err == nil && freed {
		_ = s.handOnAfterCommit(ctx) // promotion does it otherwise
	}
	return err
}

// giveBack gives back all jobs of a node that can be, and leaves the others to a rescue. It notes whom that woke, and tells whether it
// may have freed ordering keys.
func (s *operateStore) giveBack(ctx context.Context, t session, node int64, w woken) (freed bool, err error) {
	now := s.micros()
	for after := int64(0); ; {
		held, err := s.heldRuns(ctx, t, "slots_of_node", node, int32(claimRecords), after)
		if err != nil || len(held) == 0 {
			return freed, err
		}
		for _, h := range held {
			h.state, h.reason, h.runAt = store.Available, string(store.ReasonReleased), now
			freed = freed || h.job.OrderingKey != ""
			after = max(after, h.lease.Claim)
		}
		more, err := s.endHeld(ctx, t, held, now)
		if err != nil {
			return freed, err
		}
		maps.Copy(w, more)
	}
}

// Nodes is that of store.Nodes, without the class of its error.
func (s *readStore) Nodes(ctx context.Context) ([]store.Node, error) {
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
		kept := readInfo(info)
		n.Info.Namespace, n.Info.Queues, n.Info.Kinds = kept.Namespace, kept.Queues, kept.Kinds
		n.Info.Slots, n.Info.QueueSlots, n.Info.DeadAfter, n.Info.Policies = kept.Slots, kept.QueueSlots, kept.DeadAfter, kept.Policies
		n.StartedAt, n.BeatAt, n.DeadAt, n.Running = timeOf(startedAt), timeOf(beatAt), optTime(deadAt), int(running)
		nodes = append(nodes, n)
		return nil
	}})
	return nodes, err
}
