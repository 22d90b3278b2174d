package view

import (
	"context"
	"errors"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// watchAgain is the pause after a look that failed, and between those that are not for other
// processes.
const watchAgain = time.Second

// Watch implements store.Store. It looks at the version of the data as the write connection sees
// it, which own commits do not change, and calls wake with WakeAll when another process, another
// Store or a caller's transaction has committed. It also reports what came between Open and Watch.
// And it notices when the database is gone while it is not used.
func (v Verbs) Watch(ctx context.Context, wake func(store.Wake)) error {
	looks := pace{poll: v.poll}
	if v.poll < 0 {
		looks.poll = watchAgain
	}
	seen, asked := v.d.FirstVersion, map[int64]int64{}
	ears := v.listen()
	defer ears.close()
	for {
		version, err := v.d.DataVersion(ctx)
		switch {
		case ctx.Err() != nil:
			return nil // the end of ctx is the end of the watch, not a failure of it
		case errors.Is(err, store.ErrClosed), errors.Is(err, store.ErrDatabaseGone):
			return db.Classify("watch", err)
		case err != nil:
			// Whatever it is, the next write will report it; a watcher can only look again.
			_ = db.Pause(ctx, watchAgain)
			continue
		}
		changed, now := version != seen && v.poll > 0, time.Now()
		seen = version
		if ears.found(changed); changed {
			for _, w := range v.newlyFreed(ctx, now) {
				wake(w)
			}
		}
		if looks.tells(changed, now) {
			wake(store.Wake{Kind: store.WakeAll})
			for _, w := range v.newlyAsked(ctx, asked) {
				wake(w)
			}
		}
		v.rest(ctx, &looks, ears)
	}
}

// rest waits until the next look, or until ctx ends. A write that is heard brings it forward, and
// where all are heard it is far off while there are none.
func (v Verbs) rest(ctx context.Context, looks *pace, ears *ears) {
	now := time.Now()
	wait := looks.next(v.awaited.any(), now)
	if ears.trusted() && looks.quiet(now) {
		ears.far, wait = true, max(wait, watchAgain)
	}
	due := now.Add(wait)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case <-ears.written():
		}
		now := time.Now()
		looks.hears(ears.hear(), now)
		if next := now.Add(looks.next(v.awaited.any(), now)); next.Before(due) {
			due = next
		}
		timer.Reset(time.Until(due))
	}
}

// newlyAsked returns wake-ups for the living nodes of which people want something else than it was
// at the last look, which it updates. A node that misses one hears of it by its next beat.
func (v Verbs) newlyAsked(ctx context.Context, asked map[int64]int64) (wakes []store.Wake) {
	_ = v.d.Read(ctx, "watch", func(t *core.Tx) error {
		wakes = nil
		s := t.Stmt("nodes_asked")
		return db.Each(s, func() error {
			node, mode := s.ReadInt(), s.ReadInt()
			if asked[node] != mode {
				wakes = append(wakes, store.Wake{Kind: store.WakeNode, Node: node})
			}
			asked[node] = mode
			return nil
		})
	})
	return wakes
}

// Notify implements store.Store. Other processes see the commit, and need not be told. What is
// noted is which slots Watch should look for.
func (v Verbs) Notify(wakes ...store.Wake) {
	for _, w := range wakes {
		if w.Kind == store.WakeSlotsWanted {
			v.awaited.want(limitName{w.Namespace, w.Queue}, time.Now())
		}
	}
}
