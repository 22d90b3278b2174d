package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

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

// Beat implements store.Nodes. The leader lease is one row on the database's clock: it is taken when it has expired, which ends
// the epoch, and prolonged by whoever has it. Two nodes can think that they lead only as long as one of them has not looked at
// its clock. A beat also measures how far the local clock is off, and sees to the partitions of the days to
// come. What it tells a leader of is asked in the same statement, so that an idle one sends nothing else for it.
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
	began := time.Now()
	alive := false
	ttl := max(params.LeaderTTL.Microseconds(), 0)
	deadAfter := max(params.DeadAfter.Microseconds(), 0)
	err = s.send(ctx, statement{name: "beat", args: []any{params.Node, ttl, s.injected(), deadAfter}, each: func(r row) error {
		var (
			at                   int64
			epoch, since         *int64
			silent, asked, ended pgtype.Bool
			id                   pgtype.UUID
			pauses               *bool
			reason, actor        *string
		)
		if err := r.Scan(&at, &epoch, &silent, &asked, &ended, &id, &pauses, &since, &reason, &actor); err != nil {
			return err
		}
		beat.Work = store.Work{Rescue: silent.Bool, SweepCancels: asked.Bool, CloseChildren: ended.Bool}
		if !alive {
			s.noteClock(reading{at, began, time.Now()})
		}
		alive = true
		if epoch != nil {
			beat.Leader, beat.Epoch = true, *epoch
		}
		switch {
		case !id.Valid:
		case pauses != nil && *pauses:
			beat.Pauses = append(beat.Pauses, id.Bytes)
		default:
			beat.Cancels = append(beat.Cancels, store.CancelRequest{
				Job: id.Bytes, At: optTime(since), Reason: textOf(reason), Actor: textOf(actor),
			})
		}
		return nil
	}})
	if err == nil && !alive {
		err = store.ErrNodeDead
	}
	return beat, err
}

// Leave implements store.Nodes.
func (s *Store) Leave(ctx context.Context, node int64) error {
	freed := false
	var w woken
	err := patiently(ctx, func() error {
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
			return t.run(ctx, "leader_leave", nil, node, s.injected())
		})
	})
	if err == nil {
		s.tellWoken(ctx, w)
	}
	if err == nil && freed {
		_ = s.handOnAfterCommit(ctx) // promotion does it otherwise
	}
	return classify(ctx, "leave", err)
}

// giveBack gives back all jobs of a node that can be, and leaves the others to a rescue. It notes whom that woke, and tells whether it
// may have freed ordering keys.
func (s *Store) giveBack(ctx context.Context, t session, node int64, w woken) (freed bool, err error) {
	now := s.now()
	for {
		held, err := s.heldRuns(ctx, t, "claims_of_node", node, int32(claimRecords))
		if err != nil || len(held) == 0 {
			return freed, err
		}
		for _, h := range held {
			h.state, h.reason, h.runAt = store.Available, string(store.ReasonReleased), now
			freed = freed || h.job.OrderingKey != ""
		}
		more, err := s.endHeld(ctx, t, held, now)
		if err != nil {
			return freed, err
		}
		maps.Copy(w, more)
		if !slices.ContainsFunc(held, func(h *heldRun) bool { return h.final != 0 || !h.body }) {
			return freed, nil
		}
	}
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
