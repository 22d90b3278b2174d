package server

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/apikey"
	internal "github.com/holdfastdev/holdfast/internal/access"
)

// notesEvery is how often it is written which API keys were used.
const notesEvery = time.Minute

// APIKeys are the API keys of the database of a client, for access.Keys. Which of them were used is
// written once a minute, and when the function that is returned is called, in the end; its error is
// that of the last time.
func APIKeys(client *holdfast.Client) (keys *apikey.Cache, end func(context.Context) error) {
	e, _ := internal.Engine(client)
	keys = apikey.NewCache(e.Store, e.Store.Now)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(notesEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				_ = keys.Flush(ctx) // what is not written is kept for the next time
			}
		}
	}()
	return keys, func(ctx context.Context) error {
		stop()
		<-ended
		return keys.Flush(ctx)
	}
}
