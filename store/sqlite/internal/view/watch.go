package view

import (
	"context"
	"errors"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// watchAgain is the pause after a look that failed, and between those that are not for other
// processes.
const watchAgain = time.Second

// Watch implements store.Store. It looks at the version of the data as the write connection sees
// it, which own commits do not change, and calls wake with WakeAll when another process, another
// Store or a caller's transaction has committed. It also reports what came between Open and Watch,
// and what this Store made available without an answer that says so. And it notices when the
// database is gone while it is not used.
func (v Verbs) Watch(ctx context.Context, wake func(store.Wake)) error {
	poll := v.poll
	if poll < 0 {
		poll = watchAgain
	}
	seen := v.d.FirstVersion
	for {
		version, err := v.d.DataVersion(ctx)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the end of ctx is the end of the watch, not a failure of it
		case errors.Is(err, store.ErrClosed), errors.Is(err, store.ErrDatabaseGone):
			return db.Classify("watch", err)
		case err != nil:
			// Whatever it is, the next write will report it; a watcher can only look again.
			_ = db.Pause(ctx, watchAgain)
			continue
		}
		if version != seen && v.poll > 0 {
			seen = version
			wake(store.Wake{Kind: store.WakeAll})
		}
		v.pauseWatch(ctx, poll, wake) // the end of ctx is found above
	}
}

// pauseWatch waits for d, or until ctx ends, and tells what is untold meanwhile.
func (v Verbs) pauseWatch(ctx context.Context, d time.Duration, wake func(store.Wake)) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-v.d.Wakes.More:
			for _, w := range v.d.Wakes.Take() {
				wake(w)
			}
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Notify implements store.Store. There is nothing to do: the commit is what others see.
func (v Verbs) Notify(...store.Wake) {}
