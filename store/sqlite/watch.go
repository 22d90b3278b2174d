package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// watchAgain is the pause after a look that failed, and between those that are not for other
// processes.
const watchAgain = time.Second

// Watch implements store.Store. It looks at the version of the data as the write connection sees
// it, which own commits do not change, and calls wake with WakeAll when another process, another
// Store or a caller's transaction has committed. It also reports what came between Open and Watch,
// and what this Store made available without an answer that says so. And it notices when the
// database is gone while nobody uses it.
func (s *Store) Watch(ctx context.Context, wake func(store.Wake)) error {
	poll := s.config.Poll
	if poll < 0 {
		poll = watchAgain
	}
	seen := s.firstVersion
	for {
		version, err := s.dataVersion(ctx)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the end of ctx is the end of the watch, not a failure of it
		case errors.Is(err, store.ErrClosed), errors.Is(err, store.ErrDatabaseGone):
			return classify("watch", err)
		case err != nil:
			// Whatever it is, somebody's next write will report it; a watcher can only look again.
			_ = pause(ctx, watchAgain)
			continue
		}
		if version != seen && s.config.Poll > 0 {
			seen = version
			wake(store.Wake{Kind: store.WakeAll})
		}
		s.pauseWatch(ctx, poll, wake) // the end of ctx is found above
	}
}

// pauseWatch waits for d, or until ctx ends, and tells what is untold meanwhile.
func (s *Store) pauseWatch(ctx context.Context, d time.Duration, wake func(store.Wake)) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-s.wakes.more:
			for _, w := range s.wakes.take() {
				wake(w)
			}
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (s *Store) dataVersion(ctx context.Context) (version int64, err error) {
	c, err := s.takeWriter(ctx)
	if err != nil {
		return 0, err
	}
	defer s.giveWriter(c)
	if err := s.place.look(); err != nil {
		return 0, err
	}
	err = patient(ctx, func() error {
		version, err = c.dataVersion()
		return err
	})
	return version, s.orGone(err)
}

// Notify implements store.Store. There is nothing to do: the commit is what others see.
func (s *Store) Notify(...store.Wake) {}

// maxUntold is how many of them are remembered: in a process without a node nobody asks for them.
const maxUntold = 1000

func (u *untold) add(wakes []store.Wake) {
	if len(wakes) == 0 {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, w := range wakes {
		if len(u.wakes) < maxUntold {
			u.wakes = addWake(u.wakes, w)
		}
	}
	select {
	case u.more <- struct{}{}:
	default:
	}
}

// take returns them, and forgets them.
func (u *untold) take() []store.Wake {
	u.mu.Lock()
	defer u.mu.Unlock()
	wakes := u.wakes
	u.wakes = nil
	return wakes
}
