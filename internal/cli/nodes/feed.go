package nodes

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/events"
	"github.com/holdfastdev/holdfast/internal/supervise"
)

// feedAgain is after how long it is tried again to switch the feed on.
const feedAgain = time.Minute

// feedOn switches the feed of changes on, which is read through the API, once the node has joined.
// Meanwhile everything else goes on: on PostgreSQL it may have to wait for transactions. It returns
// what ends that.
func feedOn(joined <-chan struct{}, client *holdfast.Client, log *slog.Logger) (end func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	var working sync.WaitGroup
	working.Go(func() {
		select {
		case <-joined:
		case <-ctx.Done():
			return
		}
		for {
			_, err := events.On(ctx, client)
			switch {
			case err == nil, ctx.Err() != nil:
				return
			case !errors.Is(err, holdfast.ErrBusy) && !errors.Is(err, holdfast.ErrUnavailable):
				log.Warn(`the feed of changes stays off, and events cannot be followed: let the database's user own the tables, `+
					`let one who does run "holdfast event on", or start with --feed=false`, "error", err)
				return
			}
			log.Warn("the feed of changes is not switched on yet; it is tried again", "error", err, "after", feedAgain)
			supervise.Sleep(ctx, feedAgain)
		}
	})
	return func(context.Context) error {
		cancel()
		working.Wait()
		return nil
	}
}
