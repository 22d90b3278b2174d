package tend

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/generations"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/work"
)

// copyPause is how long a copying process may be silent before another one removes what was copied.
const copyPause = time.Minute

// Fork implements store.Operators. What the fork remembers is copied before the fork is there, a
// few thousand rows in one transaction, if there are that many. If the beginning of the original's
// journal is another one then, or another process makes the same fork, all is done at once instead.
func (v Verbs) Fork(ctx context.Context, params store.ForkParams) ([]store.Wake, error) {
	if err := params.Check(); err != nil {
		return nil, err
	}
	c, err := CopyAhead(ctx, v.d, params)
	if err != nil {
		return nil, err
	}
	return v.d.Move(ctx, "fork job "+params.From.String(), nil, func(t *core.Tx) error { return Fork(t, params, c) })
}

// Copying is what a fork copies, and how far it is.
type Copying struct {
	from, to store.ID
	original original
	maker    int64 // which process copies; 0: none before the fork is made
	kept     int64 // the Seq of the last entry of earlier generations that is copied, if it is one that stays
	entries  int64 // the Seq of the last entry that is copied
	messages int64 // the last row of the inbox of which those that are not signals are copied
}

// original is the beginning of a journal. As long as it is the same, nothing of it has changed: who
// takes entries away and writes others does so under a later lease.
type original struct {
	generations.Generation
	last  int64 // the Seq of the last entry that is copied
	lease int64 // under which that was written
}

// start is a copying of which nothing is done. A fork that remembers nothing of a generation knows
// nothing of those before, either: it begins with its own first entry.
func (o original) start(params store.ForkParams) *Copying {
	before := max(o.First-1, 0)
	c := &Copying{from: params.From, to: params.Job.ID, original: o, entries: before, messages: o.Sent}
	if o.last == 0 {
		c.kept = before
	}
	return c
}

// originalOf looks at the beginning of a journal, up to an entry.
func originalOf(t *core.Tx, id store.ID, keep int64) (o original, err error) {
	if o.Generation, err = generations.Of(t, id); err != nil {
		return o, err
	}
	s := t.Stmt("journal_up_to")
	db.BindID(s, id)
	s.BindInt(o.First)
	s.BindInt(keep)
	found, err := s.Next()
	if err != nil || !found {
		return o, err
	}
	defer s.Done()
	o.last, o.lease = s.ReadInt(), s.ReadInt()
	return o, nil
}

// CopyAhead copies what a fork will remember, if that is much: all but what may come meanwhile.
func CopyAhead(ctx context.Context, d *core.Database, params store.ForkParams) (c *Copying, err error) {
	var newest, kept int64
	err = d.Read(ctx, "fork job "+params.From.String(), func(t *core.Tx) error {
		if own, err := t.IsIn(params.Namespace, params.From); err == nil && !own {
			return store.NoJob(params.From)
		} else if err != nil {
			return err
		}
		o, err := originalOf(t, params.From, params.Keep)
		if err != nil {
			return err
		}
		c = o.start(params)
		if _, kept, err = generations.LookAt(t, c.from, c.kept, o.First-1, d.Portion); err == nil {
			newest, err = generations.NewestMessage(t, params.From, o.Generation)
		}
		return err
	})
	if err != nil || kept < d.Portion && c.original.last-c.entries <= d.Portion && newest-c.messages <= d.Portion {
		return nil, err
	}
	maker := 1 + rand.Int64N(1<<53)
	for c.kept < c.original.First-1 || c.entries < c.original.last || newest-c.messages > d.Portion {
		ours := false
		next := *c
		err := d.Write(ctx, "fork job "+params.From.String(), func(t *core.Tx) (err error) {
			next = *c
			if ours, err = keepCopying(t, &next, params.Keep, maker); err != nil || !ours {
				return err
			}
			return copyRows(t, &next, d.Portion)
		})
		if err != nil || !ours {
			return nil, err
		}
		*c = next
	}
	return c, nil
}

// keepCopying reports whether the process that copies may go on.
func keepCopying(t *core.Tx, c *Copying, keep, maker int64) (ours bool, err error) {
	if made, err := t.IsThere(c.to); err != nil || made {
		return false, err
	}
	if now, err := originalOf(t, c.from, keep); err != nil || now != c.original {
		return false, err
	}
	due := t.Now + copyPause.Microseconds()
	if c.maker == 0 {
		c.maker = maker
		s := t.Stmt("leftover_begin")
		db.BindID(s, c.to)
		s.BindInt(due)
		s.BindInt(maker)
		n, err := s.Exec()
		return n > 0, err
	}
	s := t.Stmt("leftover_keep")
	s.BindInt(due)
	db.BindID(s, c.to)
	s.BindInt(c.maker)
	n, err := s.Exec()
	return n > 0, err
}

// copyRows copies the next entries that were kept, the next that came after, with the signals that
// they have received, and the next messages of other kinds, at most limit rows of each.
func copyRows(t *core.Tx, c *Copying, limit int64) error {
	if err := copyKept(t, c, limit); err != nil {
		return err
	}
	first, last := c.entries+1, min(c.entries+limit, c.original.last)
	for _, name := range []string{"journal_copy", "inbox_copy_received"} {
		s := t.Stmt(name)
		db.BindID(s, c.to)
		if name == "inbox_copy_received" {
			s.BindInt(c.original.Sent)
		}
		db.BindID(s, c.from)
		s.BindInt(first)
		s.BindInt(last)
		if err := db.Exec(s); err != nil {
			return err
		}
	}
	until, err := generations.NewestMessage(t, c.from, c.original.Generation)
	if err != nil {
		return err
	}
	until = min(until, c.messages+limit)
	s := t.Stmt("inbox_copy_answers")
	db.BindID(s, c.to)
	s.BindInt(c.original.Sent)
	db.BindID(s, c.from)
	s.BindInt(c.messages)
	s.BindInt(until)
	c.entries, c.messages = last, until
	return db.Exec(s)
}

// copyKept copies what the original published and streamed before it last continued as new, as far
// as it is among the next limit entries.
func copyKept(t *core.Tx, c *Copying, limit int64) error {
	upTo := c.original.First - 1
	if c.kept >= upTo {
		return nil
	}
	last, looked, err := generations.LookAt(t, c.from, c.kept, upTo, limit)
	if err != nil {
		return err
	}
	if looked < limit {
		last = upTo
	}
	s := t.Stmt("journal_copy_kept")
	db.BindID(s, c.to)
	db.BindID(s, c.from)
	s.BindInt(c.kept)
	s.BindInt(last)
	s.BindInt(c.original.First)
	c.kept = last
	return db.Exec(s)
}

// Fork makes the new job, and copies what is not copied yet.
func Fork(t *core.Tx, params store.ForkParams, ahead *Copying) error {
	q := &store.Enqueue{Job: params.Job}
	q.Job.Closing = false
	found, err := t.IsThere(params.From)
	if err != nil {
		return err
	}
	if !found {
		return store.NoJob(params.From)
	}
	known, err := t.Known(q)
	if err != nil {
		return err
	}
	if known {
		return q.Err
	}
	if err := isNext(t, params); err != nil {
		return err
	}
	c, err := takeCopied(t, params, ahead)
	if err != nil {
		return err
	}
	if err := work.Enqueue(t, q); err != nil {
		return err
	}
	if err := copyRows(t, c, math.MaxInt32); err != nil {
		return err
	}
	if c.original.last > 0 {
		if err := t.WriteMarks(&core.Body{Job: q.Job, Forked: true}); err != nil {
			return err
		}
	}
	return core.AuditJob(t, q.Job.ID, audited.Forked(&params))
}

// isNext returns an error if the entry after those that the fork keeps is not the one that the
// caller has read: then those are not the same, either, or the job has other args by now.
func isNext(t *core.Tx, params store.ForkParams) error {
	if params.Next == nil {
		return nil
	}
	o, err := originalOf(t, params.From, params.Keep+1)
	if err == nil && (o.last != params.Keep+1 || o.lease != params.Next.LeaseNumber) {
		err = refusal.JournalRewritten(params.From, params.Keep+1)
	}
	return err
}

// takeCopied returns what was copied ahead for a fork, which is no leftover from now on. If it
// cannot be used it stays one, and is removed when the job is enqueued; nothing is copied then.
func takeCopied(t *core.Tx, params store.ForkParams, ahead *Copying) (*Copying, error) {
	if ahead != nil {
		c := *ahead
		ours, err := keepCopying(t, &c, params.Keep, c.maker)
		if err != nil {
			return nil, err
		}
		if ours {
			s := t.Stmt("leftover_delete")
			db.BindID(s, c.to)
			return &c, db.Exec(s)
		}
	}
	o, err := originalOf(t, params.From, params.Keep)
	return o.start(params), err
}
