package feed

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

const (
	// lockWait is how long switching waits for those who write. All others wait behind it, so it
	// is short, and there is time for them until the next try.
	lockWait  = 50 * time.Millisecond
	lockAgain = 250 * time.Millisecond
	// forgetParts is how many parts of the order are removed at once, each of at most a thousand
	// statements.
	forgetParts = 10
)

// Store is the feed.
type Store struct{ *local.Store }

// SetFeed is that of store.Feed, without the class of its error.
func (s *Store) SetFeed(ctx context.Context, on bool, actor string) (status store.FeedStatus, err error) {
	if _, ends := ctx.Deadline(); !ends {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, store.CallTimeout)
		defer cancel()
	}
	for tried := false; ; {
		status, err = s.FeedStatus(ctx)
		if err != nil || status.On == on {
			return status, err
		}
		err = s.InTx(ctx, pg.BeginBulk, func(t pg.Session) error { return s.set(ctx, t, on, actor) })
		switch {
		case err == nil:
			continue
		case ctx.Err() != nil && tried, ctx.Err() == nil && (pg.IsLockTimeout(err) || pg.IsCollision(err)):
			tried = true
		default:
			return status, err
		}
		select {
		case <-time.After(lockAgain):
		case <-ctx.Done():
			return status, fmt.Errorf("%w that the feed needs: one that uses the tables of jobs, if only to read them, "+
				"or a VACUUM of them; end it, and try again (holdfast doctor tells of what has been open for long)", store.ErrBusy)
		}
	}
}

// lockAll keeps all others away from the tables of jobs and of the feed, or fails soon.
func lockAll(ctx context.Context, t pg.Session) error {
	return t.RunAll(ctx, []pg.Statement{
		{Name: "feed_lock_within", Args: []any{fmt.Sprintf("%dms", lockWait.Milliseconds())}},
		{Name: "feed_lock"},
		{Name: "feed_lock_within", Args: []any{"0"}},
	})
}

// set switches the feed, unless another process has done so meanwhile.
func (s *Store) set(ctx context.Context, t pg.Session, on bool, actor string) error {
	if err := lockAll(ctx, t); err != nil {
		return err
	}
	isOn := false
	err := t.Run(ctx, "feed_status", func(pg.Row) error {
		isOn = true
		return nil
	})
	if err != nil || isOn == on {
		return err
	}
	if err := local.Record(ctx, t, s.Micros(), audited.FeedSet(on, actor)); err != nil {
		return err
	}
	if err := t.Exec(ctx, s.Text("feed_end")); err != nil {
		return err
	}
	if err := t.Run(ctx, "feed_empty", nil); err != nil || !on {
		return err
	}
	if err := t.Exec(ctx, s.Text("feed_begin")); err != nil {
		return err
	}
	return t.Run(ctx, "feed_live", nil, s.Injected())
}

// FeedStatus is that of store.Feed, without the class of its error.
func (s *Store) FeedStatus(ctx context.Context) (status store.FeedStatus, err error) {
	return status, s.Read(ctx, statusTo(&status))
}

func statusTo(status *store.FeedStatus) pg.Statement {
	return pg.Statement{Name: "feed_status", Each: func(r pg.Row) error {
		var life, oldest, newest int64
		err := r.Scan(&life, &oldest, &newest)
		*status = store.FeedStatus{
			On: true, Since: pg.TimeOf(life),
			Oldest: store.FeedPosition{Life: life, Count: oldest}, Newest: store.FeedPosition{Life: life, Count: newest},
		}
		return err
	}}
}

// OrderFeed is that of store.Feed, without the class of its error.
func (s *Store) OrderFeed(ctx context.Context) error {
	strange := false
	err := s.Send(ctx,
		pg.Statement{Name: "feed_strange", Each: func(pg.Row) error {
			strange = true
			return nil
		}},
		pg.Statement{Name: "feed_order", Args: []any{s.Injected()}})
	switch {
	case pg.CodeOf(err) == pg.CodeUnique: // another process has just done it
		return nil
	case err != nil || !strange:
		return err
	}
	return s.InTx(ctx, pg.BeginBulk, func(t pg.Session) error { return s.renew(ctx, t) })
}

// renew begins a new life of a feed that came from another server.
func (s *Store) renew(ctx context.Context, t pg.Session) error {
	if err := lockAll(ctx, t); err != nil {
		return err
	}
	strange := false
	err := t.Run(ctx, "feed_strange", func(pg.Row) error {
		strange = true
		return nil
	})
	if err != nil || !strange {
		return err
	}
	if err := t.Run(ctx, "feed_empty", nil); err != nil {
		return err
	}
	return t.Run(ctx, "feed_live", nil, s.Injected())
}

// ReadFeed is that of store.Feed, without the class of its error.
func (s *Store) ReadFeed(ctx context.Context, params store.FeedParams) (page store.FeedPage, err error) {
	if err := params.Check(); err != nil {
		return page, err
	}
	after := int64(-1)
	if !params.After.IsZero() {
		after = min(params.After.Count, math.MaxInt64-int64(params.Limit)-1) // which is behind all, too
	}
	var status store.FeedStatus
	var lanes []int32
	err = s.Read(ctx, statusTo(&status), pg.Statement{
		Name: "feed_page", Args: []any{after, int32(params.Limit)},
		Each: func(r pg.Row) error {
			c, lane, err := scanChange(r)
			page.Changes, lanes = append(page.Changes, c), append(lanes, lane)
			return err
		},
	})
	if err == nil {
		err = status.CheckFeed(params.After)
	}
	if err == nil {
		err = s.name(ctx, page.Changes, lanes)
	}
	if err != nil {
		return store.FeedPage{}, err
	}
	return status.Page(params.After, page.Changes), nil
}

func scanChange(r pg.Row) (c store.Change, lane int32, err error) {
	var at int64
	var state int32
	var reason *string
	var id pgtype.UUID
	var in *int32
	var fingerprint *int64
	err = r.Scan(&c.Position.Count, &at, &state, &reason, &id, &in, &fingerprint)
	c.Fingerprint = pg.OptInt(fingerprint)
	c.At, c.State, c.Job, c.Reason = pg.TimeOf(at), store.State(state), id.Bytes, store.Reason(pg.TextOf(reason))
	return c, pg.OptInt(in), err
}

// name says of changes in which lanes their jobs are; 0: they are gone.
func (s *Store) name(ctx context.Context, changes []store.Change, lanes []int32) error {
	known := slices.Compact(slices.Sorted(slices.Values(lanes)))
	if len(known) > 0 && known[0] == 0 {
		known = known[1:]
	}
	if err := s.KnowLanes(ctx, known); err != nil {
		return err
	}
	for i := range changes {
		if l, ok := s.Lanes.Get(lanes[i]); ok {
			c := &changes[i]
			c.Namespace, c.Queue, c.Kind = l.Namespace, l.Queue, store.ParseLaneName(l.Kind()).Kind
		}
	}
	return nil
}

// Forget gives positions to all that has none, and removes what was given one too long ago, if it
// is not kept for ever.
func Forget(ctx context.Context, s *local.Store, keep time.Duration, now time.Time) (more bool, err error) {
	if err := (&Store{s}).OrderFeed(ctx); err != nil || keep <= 0 {
		return false, err
	}
	gone := 0
	err = s.Send(ctx, pg.Statement{
		Name: "feed_forget", Args: []any{now.Add(-keep).UnixMicro(), now.Add(keep).UnixMicro(), int32(forgetParts)},
		Each: func(r pg.Row) error { return r.Scan(&gone) },
	})
	return gone == forgetParts, err
}
