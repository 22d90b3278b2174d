package feed

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Verbs are those of store.Feed.
type Verbs struct{ d *core.Database }

// New returns the verbs of a database.
func New(d *core.Database) Verbs { return Verbs{d} }

// SetFeed implements store.Feed.
func (v Verbs) SetFeed(ctx context.Context, on bool, actor string) (status store.FeedStatus, err error) {
	err = v.d.Write(ctx, "switch the feed", func(t *core.Tx) (err error) {
		if status, err = t.FeedStatus(); err != nil || status.On == on {
			return err
		}
		if err := db.Exec(t.Stmt("feed_empty")); err != nil {
			return err
		}
		if !on {
			status = store.FeedStatus{}
			if err := db.Exec(t.Stmt("feed_end")); err != nil {
				return err
			}
			return core.AuditChange(t, 0, audited.FeedSet(on, actor))
		}
		s := t.Stmt("feed_live")
		s.BindInt(max(t.Now, 1))
		if err := db.Exec(s); err != nil {
			return err
		}
		if err := core.AuditChange(t, 0, audited.FeedSet(on, actor)); err != nil {
			return err
		}
		status, err = t.FeedStatus()
		return err
	})
	return status, err
}

// FeedStatus implements store.Feed.
func (v Verbs) FeedStatus(ctx context.Context) (status store.FeedStatus, err error) {
	err = v.d.Read(ctx, "look at the feed", func(t *core.Tx) error {
		status, err = t.FeedStatus()
		return err
	})
	return status, err
}

// OrderFeed implements store.Feed: what is written is in its order.
func (v Verbs) OrderFeed(ctx context.Context) error {
	return v.d.Read(ctx, "order the feed", func(t *core.Tx) error {
		_, err := t.FeedStatus()
		return err
	})
}

// ReadFeed implements store.Feed.
func (v Verbs) ReadFeed(ctx context.Context, params store.FeedParams) (page store.FeedPage, err error) {
	if err := params.Check(); err != nil {
		return page, err
	}
	err = v.d.Read(ctx, "read the feed", func(t *core.Tx) error {
		status, err := t.FeedStatus()
		if err != nil {
			return err
		}
		if err := status.CheckFeed(params.After); err != nil {
			return err
		}
		after := max(params.After.Count, status.Oldest.Count)
		changes, err := between(t, after, after+int64(params.Limit))
		if err != nil {
			return err
		}
		for i := range changes {
			if err := name(t, &changes[i]); err != nil {
				return err
			}
		}
		page = status.Page(params.After, changes)
		return nil
	})
	return page, err
}

// between reads the changes after one position up to another one.
func between(t *core.Tx, after, to int64) (changes []store.Change, err error) {
	s := t.Stmt("feed_page")
	s.BindInt(after + 1)
	s.BindInt(to)
	return changes, db.Each(s, func() error {
		first, n, at, states, ids := s.ReadInt(), s.ReadInt(), db.ReadTime(s), s.ReadBlob(), s.ReadBlob()
		var reasons []string
		if text := db.ReadOptText(s); text != "" {
			reasons = strings.Split(text, "\n")
		}
		if int64(len(ids)) != n*int64(len(store.ID{})) ||
			len(states) != 1 && int64(len(states)) != n || reasons != nil && int64(len(reasons)) != n {
			return fmt.Errorf("%w: row %d of the feed, which is of %d changes, has %d bytes of ids, %d states and %d reasons",
				store.ErrSchema, first, n, len(ids), len(states), len(reasons))
		}
		for i := max(after+1-first, 0); i < n && first+i <= to; i++ {
			c := store.Change{
				Position: store.FeedPosition{Count: first + i}, At: at, Job: store.ID(ids[i*int64(len(store.ID{})):][:len(store.ID{})]),
				State: store.State(states[min(i, int64(len(states)-1))]),
			}
			if reasons != nil {
				c.Reason = store.Reason(reasons[i])
			}
			changes = append(changes, c)
		}
		return nil
	})
}

// name says in which lane the job of a change is, if it is still there, and how it failed.
func name(t *core.Tx, c *store.Change) error {
	s := t.Stmt("feed_lane")
	db.BindID(s, c.Job)
	found, err := s.Next()
	if err != nil || !found {
		return err
	}
	lane := s.ReadInt()
	s.Done()
	l, err := t.LaneOf(lane)
	if err != nil {
		return err
	}
	c.Namespace, c.Queue, c.Kind = l.Namespace, l.QueueName, l.Base
	if c.State != store.Failed {
		return nil
	}
	s = t.Stmt("feed_fingerprint")
	db.BindID(s, c.Job)
	if found, err = s.Next(); err != nil || !found {
		return err
	}
	c.Fingerprint = db.ReadOptInt(s)
	s.Done()
	return nil
}
