package write

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/keys"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// enqueueEach enqueues what the batch enqueues itself, as much of it together as can be. Keys come
// last, and in their order, as everybody takes them.
func (s *Store) enqueueEach(ctx context.Context, t pg.Session, b *batch) error {
	if slices.ContainsFunc(b.entries, func(e *Entry) bool { return len(e.After) > 0 }) {
		return s.enqueueInOrder(ctx, t, b)
	}
	contested := slices.DeleteFunc(slices.Clone(b.entries), func(e *Entry) bool { return !e.MayWait() })
	others := slices.DeleteFunc(slices.Clone(b.entries), (*Entry).MayWait)
	if err := s.enqueueParts(ctx, t, b, others, len(others)); err != nil {
		return err
	}
	if err := s.enqueueParts(ctx, t, b, inOrder(contested), len(contested)); err != nil {
		return err
	}
	return s.noteQueues(ctx, t, b)
}

// enqueueInOrder enqueues in the order given, as some jobs come after others. What it may wait for
// it waits for too briefly to be in another's way for long.
func (s *Store) enqueueInOrder(ctx context.Context, t pg.Session, b *batch) error {
	for left := b.entries; len(left) > 0; {
		mayWait := left[0].MayWait()
		n := slices.IndexFunc(left, func(e *Entry) bool { return e.MayWait() != mayWait })
		if n < 0 {
			n = len(left)
		}
		if err := s.enqueueParts(ctx, t, b, left[:n:n], n); err != nil {
			return err
		}
		left = left[n:]
	}
	return s.noteQueues(ctx, t, b)
}

// noteQueues notes of the queues of the batch that they have had a job.
func (s *Store) noteQueues(ctx context.Context, t pg.Session, b *batch) error {
	return pg.Together(ctx, t, append([]pg.Statement{pg.WaitAtMost(Briefly)}, s.Beside(b.entries, b.now)...)...)
}

// inOrder sorts enqueues by their keys: business keys, which are taken before the others, and then
// unique keys.
func inOrder(entries []*Entry) []*Entry {
	slices.SortStableFunc(entries, func(a, b *Entry) int {
		switch {
		case a.isNamed() && b.isNamed():
			return keys.Compare(a.Job.Key(), b.Job.Key())
		case a.isNamed():
			return -1
		case b.isNamed():
			return 1
		}
		return bytes.Compare(a.Job.UniqueKey, b.Job.UniqueKey)
	})
	return entries
}

// enqueueParts enqueues as many at a time as go through: half as many after a failure, twice as
// many after a success. Of those that may have to wait for another transaction, what is left when
// the patience of the batch is over is put aside untried: others wait behind it.
func (s *Store) enqueueParts(ctx context.Context, t pg.Session, b *batch, left []*Entry, size int) error {
	for len(left) > 0 {
		size = min(size, len(left))
		part := left[:size]
		if part[0].MayWait() && b.patience.isOver() {
			s.Blocked.suspectKeys(left)
			putAside(left)
			return nil
		}
		held, err := s.enqueuePart(ctx, t, b, part)
		switch {
		case err == nil:
			left, size = left[size:], 2*size
		case !held && !pg.IsData(err):
			return err
		case size > 1:
			size /= 2
		case held:
			key := part[0].key()
			s.Blocked.addKeys(b.patience, key)
			left = slices.DeleteFunc(slices.Clone(left), func(e *Entry) bool {
				same := e.key() == key
				if same {
					putAside([]*Entry{e})
				}
				return same
			})
		default:
			e := part[0]
			e.Result, e.Err = store.EnqueueResult{}, pg.Classify(ctx, "enqueue job "+e.Job.ID.String(), err)
			left = left[1:]
		}
	}
	return nil
}

// enqueuePart enqueues all or none. A locked table is not the matter of one enqueue: where none of
// them may have to wait, a timeout is an error, and all of the batch is repeated.
func (s *Store) enqueuePart(ctx context.Context, t pg.Session, b *batch, part []*Entry) (held bool, err error) {
	for _, e := range part {
		e.Result, e.Err = store.EnqueueResult{}, nil
	}
	enqueue := func(t pg.Session) error {
		woken, err := enqueueAndSend(ctx, t, part, b.now, func(left []*Entry) error {
			return s.enqueueAdmitted(ctx, t, left, b.now, true, func(left []*Entry) error { return s.EnqueueCarefully(ctx, t, left, b.now) })
		})
		maps.Copy(b.woken, woken)
		return err
	}
	if !part[0].MayWait() {
		return false, t.Try(ctx, Briefly, enqueue)
	}
	held, err = b.contend(ctx, t, enqueue)
	return held || errors.Is(err, keys.ErrSentMeanwhile), err
}

// putAside makes enqueues such that a caller's transaction is in the way of, as far as is known.
func putAside(entries []*Entry) {
	for _, e := range entries {
		e.Result, e.Err = store.EnqueueResult{}, e.blocked()
	}
}

// recheckAtOnce is how many keys that were found held are tried again in one go.
const recheckAtOnce = 100

// enqueueDoubtful tries the enqueues again whose keys were held: in transactions of their own, for
// the batch is done. So an error of theirs is none of the batch, of which all would be repeated,
// and what it has sent would be sent twice; unless there was nothing else to do.
func (s *Store) enqueueDoubtful(ctx context.Context, b *batch) error {
	if len(b.recheck) == 0 {
		return nil
	}
	// By turns, and not in the order of the keys: none waits for one long enough to be in another's
	// way.
	tried := inOrder(slices.Clone(b.recheck))
	s.Blocked.sortByTry(tried)
	some := min(len(tried), recheckAtOnce)
	putAside(tried[some:])
	tried = tried[:some]
	b.patience.wait = AtOnce
	if b.alone {
		return s.enqueueAlone(ctx, b, tried)
	}
	b.patience.tries = min(b.patience.tries, besideTries)
	if err := s.enqueueApart(ctx, b, tried); err != nil {
		for _, e := range tried {
			e.Result, e.Err = store.EnqueueResult{}, pg.Classify(ctx, "enqueue job "+e.Job.ID.String(), err)
		}
	}
	return nil
}

// enqueueAlone enqueues in a transaction in which nothing else waits, so that the key that has been
// wanted for longest can be queued for.
func (s *Store) enqueueAlone(ctx context.Context, b *batch, entries []*Entry) error {
	oldest, wait := s.Blocked.oldest(entries, time.Now())
	if wait == 0 {
		return s.enqueueApart(ctx, b, entries)
	}
	isOldest := func(e *Entry) bool { return e.key() == oldest }
	queueing := slices.DeleteFunc(slices.Clone(entries), func(e *Entry) bool { return !isOldest(e) })
	if err := s.enqueueApart(ctx, b, slices.DeleteFunc(entries, isOldest)); err != nil {
		return err
	}
	b.patience = patience{wait: wait, tries: 1}
	return s.enqueueApart(ctx, b, queueing)
}

// enqueueApart enqueues in a transaction of its own. What others are in the way of as a whole is
// busy.
func (s *Store) enqueueApart(ctx context.Context, b *batch, entries []*Entry) error {
	if len(entries) == 0 {
		return nil
	}
	err := pg.RetryOnConflict(ctx, func() error {
		return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
			if err := s.enqueueParts(ctx, t, b, entries, 1); err != nil {
				return err
			}
			return t.RunAll(ctx, append([]pg.Statement{pg.WaitAtMost(Briefly)}, s.Beside(entries, b.now)...))
		})
	})
	switch {
	case err == nil:
		s.Blocked.freeKeys(entries)
	case pg.IsLockTimeout(err) || pg.IsCollision(err):
		putAside(entries)
		return nil
	}
	return err
}
