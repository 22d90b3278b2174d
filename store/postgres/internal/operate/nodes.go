package operate

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
	"github.com/holdfastdev/holdfast/store/postgres/internal/limits"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/read"
	"github.com/holdfastdev/holdfast/store/postgres/internal/write"
)

// Join is that of store.Nodes, without the class of its error.
func (s *Store) Join(ctx context.Context, info store.NodeInfo) (id int64, err error) {
	text, err := json.Marshal(read.NodeInfo{
		Engine: pg.CleanText(info.Engine), Host: info.Host, Namespace: info.Namespace,
		Queues: info.Queues, Kinds: info.Kinds, Slots: info.Slots, QueueSlots: info.QueueSlots,
		DeadAfter: info.DeadAfter, Policies: info.Policies,
	})
	if err != nil {
		return 0, fmt.Errorf("%w: join: %w", store.ErrInvalid, err)
	}
	err = s.Send(ctx, pg.Statement{
		Name: "node_join",
		Args: []any{pg.CleanText(info.Name), pg.CleanText(info.Version), string(text), s.Injected(), info.Was, int16(info.Mode)},
		Each: func(r pg.Row) error { return r.Scan(&id) },
	})
	if err == nil && id == 0 {
		err = refusal.CopyUnfinished()
	}
	return id, err
}

// Beat is that of store.Nodes, without the class of its error.
func (s *Store) Beat(ctx context.Context, params store.BeatParams) (store.Beat, error) {
	var beat store.Beat
	err := pg.RetryOnConflict(ctx, func() (err error) {
		beat, err = s.beat(ctx, params)
		return err
	})
	if err != nil {
		return store.Beat{}, err
	}
	// A failure leaves days without partitions, which costs speed in some days; the next beat tries
	// again.
	_ = s.tables.ExtendPartitions(ctx)
	return beat, nil
}

// beatRow is what is scanned of one.
type beatRow struct {
	sort               int32
	a, b, c            *int64
	id                 pgtype.UUID
	reason, actor      *string
	dead, asked, ended pgtype.Bool
	mode               *int16
}

func (s *Store) beat(ctx context.Context, params store.BeatParams) (beat store.Beat, err error) {
	began := time.Now()
	alive := false
	args := []any{
		params.Node, max(params.LeaderTTL.Microseconds(), 0), s.Injected(), params.Lead,
		params.Held.Claims, params.Held.From, params.Held.To, nil,
	}
	if len(params.Unwell) > 0 {
		text, err := json.Marshal(params.Unwell)
		if err != nil {
			return beat, fmt.Errorf("%w: beat: %w", store.ErrInvalid, err)
		}
		args[len(args)-1] = pg.CleanText(string(text))
	}
	err = s.SendVital(ctx, pg.Statement{Name: "beat", Args: args, Each: func(r pg.Row) error {
		var b beatRow
		if err := r.Scan(&b.sort, &b.a, &b.b, &b.c, &b.id, &b.reason, &b.actor, &b.dead, &b.asked, &b.ended, &b.mode); err != nil {
			return err
		}
		if b.sort == pg.BeatSelf {
			alive = true
			s.NoteClock(pg.Reading{Micros: *b.b, Asked: began, Answered: time.Now()})
		}
		b.addTo(&beat, params.Node)
		return nil
	}})
	if err == nil && !alive {
		err = refusal.DeadNode(params.Node)
	}
	return beat, err
}

func (b *beatRow) addTo(beat *store.Beat, node int64) {
	switch b.sort {
	case pg.BeatSelf:
		if b.c != nil {
			beat.Leader, beat.Epoch = true, *b.c
		}
		beat.At, beat.Mode = pg.TimeOf(*b.a), store.NodeMode(*b.mode)
		beat.Work = store.Work{Rescue: b.dead.Bool, SweepCancels: b.asked.Bool, CloseChildren: b.ended.Bool}
	case pg.BeatCancel:
		beat.Cancels = append(beat.Cancels, store.CancelRequest{
			Job: b.id.Bytes, At: pg.OptTime(b.a), Reason: pg.TextOf(b.reason), Actor: pg.TextOf(b.actor),
		})
	case pg.BeatPause:
		beat.Pauses = append(beat.Pauses, b.id.Bytes)
	case pg.BeatOther:
		beat.Nodes = append(beat.Nodes, store.NodeBeat{Node: *b.a, At: pg.TimeOf(*b.b)})
	case pg.BeatHeld:
		beat.Held = append(beat.Held, store.Lease{Job: b.id.Bytes, Number: *b.c, Node: node, Claim: *b.a, Slot: int(*b.b)})
	}
}

// AskNode is that of store.Nodes, without the class of its error.
func (s *Store) AskNode(ctx context.Context, params store.AskNodeParams) error {
	if err := params.Check(); err != nil {
		return err
	}
	args := []any{params.Node, int16(params.Mode), s.Injected(), pg.CleanText(params.Actor), params.Action()}
	for {
		var known, dead, changed bool
		var mode int16
		err := pg.RetryOnConflict(ctx, func() error {
			known = false
			return s.Send(ctx, pg.Statement{Name: "node_ask", Args: args, Each: func(r pg.Row) error {
				known = true
				return r.Scan(&dead, &mode, &changed)
			}})
		})
		switch {
		case err != nil:
			return err
		case changed:
			return nil
		case !known:
			return refusal.NoNode(params.Node)
		case dead:
			return refusal.DeadNode(params.Node)
		case store.NodeMode(mode) == params.Mode:
			return nil
		case store.NodeMode(mode) == store.NodeDrains:
			return refusal.NodeIsDraining(params.Node)
		}
		// Another call has changed it meanwhile; look again.
	}
}

// Leave is that of store.Nodes, without the class of its error.
func (s *Store) Leave(ctx context.Context, node int64) ([]store.Wake, error) {
	freed := false
	var w write.Woken
	var slots []store.Wake
	err := pg.RetryOnConflict(ctx, func() error {
		w, slots = write.Woken{}, nil
		return s.InTx(ctx, pg.BeginHot, func(t pg.Session) (err error) {
			here := false
			if err := t.Run(ctx, "node_lock", func(pg.Row) error { here = true; return nil }, node); err != nil || !here {
				return err
			}
			// What is being written to the journals of its jobs comes first.
			if err := t.Run(ctx, "fence_out", nil, []int64{node}); err != nil {
				return err
			}
			if freed, err = s.giveBack(ctx, t, node, w); err != nil {
				return err
			}
			if err := t.Run(ctx, "node_end", nil, node, s.Injected()); err != nil {
				return err
			}
			return t.Together(ctx, pg.Statement{Name: "leader_leave", Args: []any{node}}, limits.Sweep(&slots))
		})
	})
	if err != nil {
		return nil, err
	}
	return append(s.AfterCommit(ctx, w, freed), slots...), nil
}

// giveBack gives back all jobs of a node that can be, and leaves the others to a rescue. It notes
// whom that woke, and tells whether it may have freed ordering keys.
func (s *Store) giveBack(ctx context.Context, t pg.Session, node int64, w write.Woken) (freed bool, err error) {
	now := s.Micros()
	for after := int64(0); ; {
		held, err := s.heldRuns(ctx, t, "slots_of_node", node, int32(claimRecords), after)
		if err != nil || len(held) == 0 {
			return freed, err
		}
		for _, h := range held {
			h.State, h.Reason, h.RunAt = store.Available, string(store.ReasonReleased), now
			freed = freed || h.job.OrderingKey != ""
			after = max(after, h.Lease.Claim)
		}
		more, err := s.endHeld(ctx, t, held, now)
		if err != nil {
			return freed, err
		}
		maps.Copy(w, more)
	}
}
