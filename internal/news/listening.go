package news

import (
	"context"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

// deafAfter is how long listening goes on without users: a client that waits for one job after the
// other should not connect for each.
const deafAfter = 10 * time.Second

// listening passes on the wake-ups of other processes while it has users: a node, or callers that
// wait for jobs of other processes.
type listening struct {
	store  store.Store
	guard  *supervise.Guard
	outage *logs.Outage
	hear   func(store.Wake)
	fatal  func(error) // called with permanent errors
	rarely time.Duration

	ctx    context.Context
	cancel context.CancelFunc
	loops  sync.WaitGroup

	mu    sync.Mutex
	users int
	left  int                // how often the last user has left
	stop  context.CancelFunc // ends the loop; nil: it does not run
}

func newListening(
	st store.Store, g *supervise.Guard, o *logs.Outage, hear func(store.Wake), fatal func(error), rarely time.Duration,
) *listening {
	l := &listening{store: st, guard: g, outage: o, hear: hear, fatal: fatal, rarely: rarely}
	l.ctx, l.cancel = context.WithCancel(context.Background()) //nolint:forbidigo // the root of the listening's own life
	return l
}

// every is the interval of looks for what wake-ups tell.
func (l *listening) every(usual time.Duration) time.Duration { return max(usual, l.rarely) }

// use keeps listening until done is called.
func (l *listening) use() (done func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users++
	if l.stop == nil && l.ctx.Err() == nil {
		ctx, stop := context.WithCancel(l.ctx)
		l.stop = stop
		l.loops.Go(func() { l.guard.Supervise(ctx, "wake-ups of others", l.loop) })
	}
	return sync.OnceFunc(l.leave)
}

// leave ends listening after deafAfter, unless it has a user by then.
func (l *listening) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.users--; l.users > 0 {
		return
	}
	l.left++
	left := l.left
	linger := deafAfter
	if l.rarely > 0 {
		linger = 0 // in memory there is no connection to be made again
	}
	time.AfterFunc(linger, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.users == 0 && l.left == left && l.stop != nil {
			l.stop()
			l.stop = nil
		}
	})
}

// loop passes wake-ups on until ctx ends.
func (l *listening) loop(ctx context.Context) {
	for try := 1; ctx.Err() == nil; try++ {
		if err := l.store.Watch(ctx, l.hear); err != nil && ctx.Err() == nil {
			l.fatal(err)
			l.outage.Stumbled("watch for wake-ups", err)
			supervise.Sleep(ctx, store.Backoff{Base: 100 * time.Millisecond, Cap: 5 * time.Second, Jitter: 0.5}.Delay(try))
		}
	}
}

// close ends the listening for good.
func (l *listening) close() {
	l.mu.Lock()
	l.cancel()
	l.mu.Unlock()
	l.loops.Wait()
}
