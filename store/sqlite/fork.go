package sqlite

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// copyPause is how long whoever copies may be silent before somebody else removes what was copied.
const copyPause = time.Minute

// Fork implements store.Operators. What the fork remembers is copied before the fork is there, a few
// thousand rows in one transaction, if there are that many. If the beginning of the original's
// journal is another one then, or somebody else makes the same fork, all is done at once instead.
func (v tendVerbs) Fork(ctx context.Context, params store.ForkParams) error {
	if err := params.Check(); err != nil {
		return err
	}
	c, err := copyAhead(ctx, v.d, params)
	if err != nil {
		return err
	}
	return v.d.write(ctx, "fork job "+params.From.String(), func(t *tx) error { return t.fork(params, c) })
}

// copying is what a fork copies, and how far it is.
type copying struct {
	from, to store.ID
	original original
	maker    int64 // who copies; 0: nobody before the fork is made
	kept     int64 // the Seq of the last entry of earlier generations that is copied, if it is one that stays
	entries  int64 // the Seq of the last entry that is copied
	messages int64 // the last row of the inbox of which those that are not signals are copied
}

// original is the beginning of a journal. As long as it is the same, nothing of it has changed: who
// takes entries away and writes others does so under a later lease.
type original struct {
	generation
	last  int64 // the Seq of the last entry that is copied
	lease int64 // under which that was written
}

// start is a copying of which nothing is done. A fork that remembers nothing of a generation knows
// nothing of those before, either: it begins with its own first entry.
func (o original) start(params store.ForkParams) *copying {
	before := max(o.first-1, 0)
	c := &copying{from: params.From, to: params.Job.ID, original: o, entries: before, messages: o.sent}
	if o.last == 0 {
		c.kept = before
	}
	return c
}

// original looks at the beginning of a journal, up to an entry.
func (t *tx) original(id store.ID, keep int64) (o original, err error) {
	if o.generation, err = t.generation(id); err != nil {
		return o, err
	}
	s := t.stmt("journal_up_to")
	bindID(s, id)
	s.bindInt(o.first)
	s.bindInt(keep)
	found, err := s.next()
	if err != nil || !found {
		return o, err
	}
	defer s.done()
	o.last, o.lease = s.readInt(), s.readInt()
	return o, nil
}

// copyAhead copies what a fork will remember, if that is much: all but what may come meanwhile.
func copyAhead(ctx context.Context, d *database, params store.ForkParams) (c *copying, err error) {
	var newest, kept int64
	err = d.read(ctx, "fork job "+params.From.String(), func(t *tx) error {
		if own, err := t.isIn(params.Namespace, params.From); err == nil && !own {
			return store.NoJob(params.From)
		} else if err != nil {
			return err
		}
		o, err := t.original(params.From, params.Keep)
		if err != nil {
			return err
		}
		c = o.start(params)
		if _, kept, err = t.lookAt(c.from, c.kept, o.first-1, d.portion); err == nil {
			newest, err = t.newestMessage(params.From, o.generation)
		}
		return err
	})
	if err != nil || kept < d.portion && c.original.last-c.entries <= d.portion && newest-c.messages <= d.portion {
		return nil, err
	}
	maker := 1 + rand.Int64N(1<<53)
	for c.kept < c.original.first-1 || c.entries < c.original.last || newest-c.messages > d.portion {
		ours := false
		next := *c
		err := d.write(ctx, "fork job "+params.From.String(), func(t *tx) (err error) {
			next = *c
			if ours, err = t.keepCopying(&next, params.Keep, maker); err != nil || !ours {
				return err
			}
			return t.copyRows(&next, d.portion)
		})
		if err != nil || !ours {
			return nil, err
		}
		*c = next
	}
	return c, nil
}

// keepCopying reports whether whoever copies may go on.
func (t *tx) keepCopying(c *copying, keep, maker int64) (ours bool, err error) {
	if made, err := t.isThere(c.to); err != nil || made {
		return false, err
	}
	if now, err := t.original(c.from, keep); err != nil || now != c.original {
		return false, err
	}
	due := t.now + copyPause.Microseconds()
	if c.maker == 0 {
		c.maker = maker
		s := t.stmt("leftover_begin")
		bindID(s, c.to)
		s.bindInt(due)
		s.bindInt(maker)
		n, err := s.exec()
		return n > 0, err
	}
	s := t.stmt("leftover_keep")
	s.bindInt(due)
	bindID(s, c.to)
	s.bindInt(c.maker)
	n, err := s.exec()
	return n > 0, err
}

// copyRows copies the next entries that were kept, the next that came after, with the signals that they
// have received, and the next messages of other kinds, at most limit rows of each.
func (t *tx) copyRows(c *copying, limit int64) error {
	if err := t.copyKept(c, limit); err != nil {
		return err
	}
	first, last := c.entries+1, min(c.entries+limit, c.original.last)
	for _, name := range []string{"journal_copy", "inbox_copy_received"} {
		s := t.stmt(name)
		bindID(s, c.to)
		if name == "inbox_copy_received" {
			s.bindInt(c.original.sent)
		}
		bindID(s, c.from)
		s.bindInt(first)
		s.bindInt(last)
		if err := exec(s); err != nil {
			return err
		}
	}
	until, err := t.newestMessage(c.from, c.original.generation)
	if err != nil {
		return err
	}
	until = min(until, c.messages+limit)
	s := t.stmt("inbox_copy_answers")
	bindID(s, c.to)
	s.bindInt(c.original.sent)
	bindID(s, c.from)
	s.bindInt(c.messages)
	s.bindInt(until)
	c.entries, c.messages = last, until
	return exec(s)
}

// copyKept copies what the original published and streamed before it last continued as new, as far as
// it is among the next limit entries.
func (t *tx) copyKept(c *copying, limit int64) error {
	upTo := c.original.first - 1
	if c.kept >= upTo {
		return nil
	}
	last, looked, err := t.lookAt(c.from, c.kept, upTo, limit)
	if err != nil {
		return err
	}
	if looked < limit {
		last = upTo
	}
	s := t.stmt("journal_copy_kept")
	bindID(s, c.to)
	bindID(s, c.from)
	s.bindInt(c.kept)
	s.bindInt(last)
	s.bindInt(c.original.first)
	c.kept = last
	return exec(s)
}

// fork makes the new job, and copies what is not copied yet.
func (t *tx) fork(params store.ForkParams, ahead *copying) error {
	q := &store.Enqueue{Job: params.Job}
	q.Job.Closing = false
	found, err := t.isThere(params.From)
	if err != nil {
		return err
	}
	if !found {
		return store.NoJob(params.From)
	}
	if known, err := t.known(q); known || err != nil {
		return err
	}
	if err := t.isNext(params); err != nil {
		return err
	}
	c, err := t.takeCopied(params, ahead)
	if err != nil {
		return err
	}
	if err := t.enqueue(q); err != nil {
		return err
	}
	if err := t.copyRows(c, math.MaxInt32); err != nil {
		return err
	}
	if c.original.last > 0 {
		if err := t.writeMarks(&body{Job: q.Job, forked: true}); err != nil {
			return err
		}
	}
	return t.audit(params.Actor, "fork", &q.Job.ID, 0, params.Reason)
}

// isNext returns an error if the entry after those that the fork keeps is not the one that the caller
// has read: then those are not the same, either, or the job has other args by now.
func (t *tx) isNext(params store.ForkParams) error {
	if params.Next == nil {
		return nil
	}
	o, err := t.original(params.From, params.Keep+1)
	if err == nil && (o.last != params.Keep+1 || o.lease != params.Next.LeaseNumber) {
		err = store.JournalRewritten(params.From, params.Keep+1)
	}
	return err
}

// takeCopied returns what was copied ahead for a fork, which is no leftover from now on. If it cannot
// be used it stays one, and is removed when the job is enqueued; nothing is copied then.
func (t *tx) takeCopied(params store.ForkParams, ahead *copying) (*copying, error) {
	if ahead != nil {
		c := *ahead
		ours, err := t.keepCopying(&c, params.Keep, c.maker)
		if err != nil {
			return nil, err
		}
		if ours {
			s := t.stmt("leftover_delete")
			bindID(s, c.to)
			return &c, exec(s)
		}
	}
	o, err := t.original(params.From, params.Keep)
	return o.start(params), err
}
