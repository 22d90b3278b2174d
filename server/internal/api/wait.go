package api

import (
	"context"
	"time"
)

// Waiting is a context for what a call waits for. It ends after wait, or when the server begins to
// stop, which then need not wait for the call; but not before least, within which is done what is
// done in any case.
func (c *Call) Waiting(ctx context.Context, least, wait time.Duration) (context.Context, context.CancelFunc) {
	waiting, cancel := context.WithTimeout(ctx, max(wait, least))
	stopping := c.api.stopping
	if stopping == nil {
		return waiting, cancel
	}
	began := time.Now()
	go func() {
		select {
		case <-stopping:
		case <-waiting.Done():
			return
		}
		rest := time.NewTimer(least - time.Since(began))
		defer rest.Stop()
		select {
		case <-rest.C:
			cancel()
		case <-waiting.Done():
		}
	}()
	return waiting, cancel
}

// Stopping is closed when the server begins to stop: what waits or streams ends then. nil: never.
func (a *API) Stopping() <-chan struct{} { return a.stopping }

// IsStopping reports whether the server has begun to stop.
func (a *API) IsStopping() bool {
	select {
	case <-a.stopping:
		return true
	default:
		return false
	}
}

// IsStopping is that of the API.
func (c *Call) IsStopping() bool { return c.api.IsStopping() }
