package write

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/gating"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// turnsAtOnce is how many ordering keys are looked at in one statement.
const turnsAtOnce = 500

// Promote is that of store.Maintenance, without the class of its error.
func (s *Store) Promote(ctx context.Context, limit int) (store.Promoted, error) {
	var promoted store.Promoted
	err := pg.RetryOnConflict(ctx, func() (err error) {
		promoted, err = s.promote(ctx, limit)
		return err
	})
	if err != nil {
		return store.Promoted{}, err
	}
	return promoted, nil
}

// turnsAgain is when keys are looked at again whose head a caller's transaction has, and due jobs
// that one has.
const turnsAgain = 100 * time.Millisecond

func (s *Store) promote(ctx context.Context, limit int) (promoted store.Promoted, err error) {
	// Nearly always there is nothing to do, and a node without work should cost the database next
	// to nothing.
	look, err := s.lookForDue(ctx, &promoted)
	if err != nil {
		return promoted, err
	}
	moved := local.NewMoved()
	more, err := s.gates.Promote(ctx, s.Store, &look.Look, limit, moved)
	if err != nil {
		return promoted, err
	}
	next := promoted.NextDue
	if promoted, err = s.promoteDue(ctx, limit, moved, look.found); err != nil {
		return promoted, err
	}
	if promoted.More = promoted.More || more; !look.found {
		promoted.NextDue = next
	}
	for _, at := range []time.Time{look.SweepAt, look.KeyAt} {
		if !at.IsZero() && (promoted.NextDue.IsZero() || at.Before(promoted.NextDue)) {
			promoted.NextDue = at
		}
	}
	return promoted, nil
}

// promoteDue moves what is due, if anything was found to be, and says what has moved in all.
func (s *Store) promoteDue(ctx context.Context, limit int, moved local.Moved, found bool) (promoted store.Promoted, err error) {
	if found {
		err = s.moveDue(ctx, max(limit, 0), moved, &promoted)
	}
	if promoted.Jobs = len(moved.Lanes); err != nil || promoted.Jobs == 0 {
		return promoted, err
	}
	s.Hint(moved.Places)
	if promoted.Wakes, err = s.QueuesOf(ctx, moved); err != nil {
		promoted.Wakes = []store.Wake{{Kind: store.WakeAll}} // they are available, whatever their queues are
	}
	return promoted, nil
}

// moveDue moves what is due.
func (s *Store) moveDue(ctx context.Context, limit int, moved local.Moved, promoted *store.Promoted) error {
	due, left := 0, false
	var keys local.Turns
	now := s.Micros()
	err := s.Send(ctx,
		pg.Statement{Name: "promote_due", Args: []any{now, int32(limit)}, Each: func(r pg.Row) error {
			due++
			return moved.Scan(r)
		}},
		pg.Statement{Name: "hand_on_turns", Args: []any{int32(limit)}, Each: func(r pg.Row) error { return keys.Scan(r, moved) }},
		pg.Statement{Name: "next_due", Args: []any{now}, Each: func(r pg.Row) error {
			var at *int64
			err := r.Scan(&left, &at)
			promoted.NextDue = pg.OptTime(at)
			return err
		}})
	if err != nil {
		return err
	}
	promoted.More = limit > 0 && (due >= limit || keys.Looked >= limit && keys.Left < keys.Looked)
	// What is due and was passed over is not asked for again and again until its holder lets it go.
	if again := s.Now().Add(turnsAgain); (left || keys.Left > 0) && (promoted.NextDue.IsZero() || promoted.NextDue.After(again)) {
		promoted.NextDue = again
	}
	return nil
}

// due is what there is to promote.
type due struct {
	found bool // jobs are due, or turns to be handed on
	gating.Look
}

func (s *Store) lookForDue(ctx context.Context, promoted *store.Promoted) (d due, err error) {
	err = s.Send(ctx, pg.Statement{Name: "promote_look", Args: []any{s.Micros()}, Each: func(r pg.Row) error {
		var at, key, asked, goes *int64
		err := r.Scan(&d.found, &at, &d.Checks, &d.Gated, &key, &asked, &goes)
		promoted.NextDue, d.KeyAt, d.Asked, d.GoesAt = pg.OptTime(at), pg.OptTime(key), pg.OptInt(asked), pg.OptTime(goes)
		return err
	}})
	return d, err
}

// turnsAfterCommit hands on turns of ordering keys as soon as they were freed or asked for, so that
// who waits for one need not wait for the next promotion, and returns the wakes for it.
func (s *Store) turnsAfterCommit(ctx context.Context) []store.Wake { return s.orLater(s.handOn(ctx)) }

func (s *Store) orLater(wakes []store.Wake, err error) []store.Wake {
	if err != nil { // promotion does it then
		return []store.Wake{{Kind: store.WakeDeferred, Due: s.Now()}}
	}
	return wakes
}

// handOn hands on turns of ordering keys, and returns a wake for each queue in which a job got one.
func (s *Store) handOn(ctx context.Context) ([]store.Wake, error) {
	var moved local.Moved
	var keys local.Turns
	err := pg.RetryOnConflict(ctx, func() error {
		moved, keys = local.NewMoved(), local.Turns{}
		return s.Send(ctx, pg.Statement{Name: "hand_on_turns", Args: []any{int32(turnsAtOnce)}, Each: func(r pg.Row) error {
			return keys.Scan(r, moved)
		}})
	})
	if err != nil {
		return nil, err
	}
	wakes, err := s.QueuesOf(ctx, moved)
	s.Hint(moved.Places)
	if keys.Left > 0 {
		wakes = append(wakes, store.Wake{Kind: store.WakeDeferred, Due: s.Now().Add(turnsAgain)})
	}
	return wakes, err
}

// GiveUpTurns takes the turns of ordering keys from jobs that have failed and keep them, and
// returns these.
func GiveUpTurns(
	ctx context.Context, t pg.Session, jobs []pgtype.UUID, params *store.CancelParams, now int64,
) (had map[store.ID]bool, err error) {
	action := pg.OptText(string(params.Action()))
	if params.Unrecorded {
		action = nil
	}
	had = map[store.ID]bool{}
	return had, t.Run(ctx, "give_up_turns", func(r pg.Row) error {
		var id pgtype.UUID
		err := r.Scan(&id)
		had[id.Bytes] = true
		return err
	}, jobs, now, pg.CleanText(params.Actor), action, pg.OptText(pg.CleanText(params.Reason)))
}
