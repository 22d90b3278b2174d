package tries

import (
	"context"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/internal/heartbeat"
)

// Keeper is what a run has of its host for steps that have to report progress.
type Keeper interface {
	Catch(part string)
	GiveUpLater(giveUp func() bool) (stop func())
}

// ExpectBeats returns a context for the function of a step, which ends when the function makes no
// progress for a limit of time, and what is told of its progress. A function that ignores the end
// holds up its strand: giveUp is called then, so that the attempt ends as that of a stuck handler.
// done is called when the function has returned.
func ExpectBeats(
	ctx context.Context, limit time.Duration, k Keeper, giveUp func(),
) (watched context.Context, w *heartbeat.Watch, done func()) {
	watched, end := context.WithCancelCause(ctx)
	var mu sync.Mutex
	returned, unstick := false, func() {}
	w = heartbeat.Begin(limit, func() {
		defer k.Catch("the heartbeat of a step")
		end(SilentError{})
		mu.Lock()
		defer mu.Unlock()
		if !returned {
			unstick = k.GiveUpLater(func() bool {
				mu.Lock()
				defer mu.Unlock()
				if !returned {
					giveUp()
				}
				return false
			})
		}
	})
	return watched, w, func() {
		w.Stop()
		mu.Lock()
		defer mu.Unlock()
		returned = true
		unstick()
		end(nil)
	}
}
