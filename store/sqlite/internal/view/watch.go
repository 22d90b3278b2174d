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
// Store or a caller's transaction has committed. It also reports what came between Open and Watch.
// And it notices when the database is gone while it is not used.
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
		_ = db.Pause(ctx, poll) // the end of ctx is found above
	}
}

// Notify implements store.Store. There is nothing to do: the commit is what others see.
func (v Verbs) Notify(...store.Wake) {}
