// Package hookqueue tells hooks of events, apart from what makes them happen: nothing that happens
// waits for a hook.
//
// Of ours, it imports hooks, store, and internal/logs and usercode.
package hookqueue

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/hooks"
	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// Queue has the events that hooks are to be told of. A nil Queue takes none.
type Queue struct {
	hooks  []hooks.Hooks
	lines  *logs.Limiter
	store  store.Store
	events chan func(*hooks.Hooks)

	letters chan func() hooks.Finished // what may be dead letters, of which the store is asked first
	asked   chan struct{}              // closed: no more of them become events
	known   known                      // has the goroutine that asks
	dropped atomic.Int64
	mu      sync.Mutex
	saidAt  time.Time // when the log told of dropped events
	said    int64     // how many had been dropped then

	stop    chan struct{} // closed: tell what is there, then end
	done    chan struct{} // closed: it has ended
	life    context.Context
	die     context.CancelFunc
	reading sync.RWMutex // held while the store is asked
}

const (
	// sayDropped is the least time between two lines about dropped events.
	sayDropped = 30 * time.Second
	// lastWait is how long Close waits for hooks.
	lastWait = time.Second
	// readTimeout bounds the reading of a job that has ended without a run.
	readTimeout = 5 * time.Second
)

// New begins to tell hooks of events; without hooks it returns nil.
func New(list []hooks.Hooks, st store.Store, lines *logs.Limiter) *Queue {
	if len(list) == 0 {
		return nil
	}
	q := &Queue{
		hooks: list, lines: lines, store: st, events: make(chan func(*hooks.Hooks), hooks.QueueSize), known: known{},
		stop: make(chan struct{}), done: make(chan struct{}), asked: make(chan struct{}),
	}
	q.life, q.die = context.WithCancel(context.Background())
	q.beginToAsk()
	go q.run()
	return q
}

// Dropped is how many events were dropped.
func (q *Queue) Dropped() int64 {
	if q == nil {
		return 0
	}
	return q.dropped.Load()
}

// Close tells what is left, for a second at most. Nothing is put from then on.
func (q *Queue) Close() {
	if q == nil {
		return
	}
	close(q.stop)
	late := time.NewTimer(lastWait)
	defer late.Stop()
	select {
	case <-q.done:
	case <-late.C:
		q.dropped.Add(int64(len(q.events) + len(q.letters)))
	}
	q.die()
	q.reading.Lock() // no more is read from here on, and what was being read has ended
	defer q.reading.Unlock()
	q.sayDropped(true)
}

// put adds an event for the hooks that want it.
func put[E any](q *Queue, of func(*hooks.Hooks) func(E), e E) {
	if !wants(q, of) {
		return
	}
	q.add(func(h *hooks.Hooks) {
		if f := of(h); f != nil {
			f(e)
		}
	})
}

// add adds what is to be called with each of the hooks. It does not block.
func (q *Queue) add(tell func(*hooks.Hooks)) {
	select {
	case q.events <- tell:
	default:
		q.drop()
	}
}

func (q *Queue) drop() {
	q.dropped.Add(1)
	q.sayDropped(false)
}

// wants reports whether a hook is to be told of events of a sort.
func wants[E any](q *Queue, of func(*hooks.Hooks) func(E)) bool {
	if q == nil {
		return false
	}
	for i := range q.hooks {
		if of(&q.hooks[i]) != nil {
			return true
		}
	}
	return false
}

// sayDropped logs how many events were dropped since the last line, if that was long ago or is the
// last one.
func (q *Queue) sayDropped(last bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	more := q.dropped.Load() - q.said
	if more == 0 || !last && !q.saidAt.IsZero() && now.Sub(q.saidAt) < sayDropped {
		return
	}
	q.saidAt, q.said = now, q.said+more
	q.lines.SayLater(slog.LevelWarn, logs.About{}, "hooks are slow, or one does not return: events were dropped",
		slog.Int64(logs.KeyEvents, more))
}

// run tells hooks of events until the queue is closed. A hook that ends its goroutine ends this
// one, and the next takes over.
func (q *Queue) run() {
	ended := false
	defer func() {
		if !ended {
			go q.run()
		}
	}()
	for {
		select {
		case tell := <-q.events:
			q.tell(tell)
		case <-q.stop:
			q.tellRest()
			ended = true
			close(q.done)
			return
		}
	}
}

// tellRest tells what is left when the queue is closed, and what the one that asks adds to it.
func (q *Queue) tellRest() {
	for over := false; q.life.Err() == nil; {
		select {
		case tell := <-q.events:
			q.tell(tell)
			continue
		default:
		}
		if over {
			return
		}
		select {
		case tell := <-q.events:
			q.tell(tell)
		case <-q.asked:
			over = true
		case <-q.life.Done():
		}
	}
}

func (q *Queue) tell(tell func(*hooks.Hooks)) {
	for i := range q.hooks {
		q.call(func() { tell(&q.hooks[i]) })
	}
}

// call calls a hook, and logs how it has failed to return.
func (q *Queue) call(hook func()) {
	returned := false
	defer func() {
		if returned {
			return
		}
		text, stack := usercode.ErrGoexit.Error(), ""
		if p := recover(); p != nil {
			panicked := usercode.PanicOf(p)
			text, stack = usercode.ErrorText(panicked), usercode.CutTrace(panicked.Stack)
		}
		q.lines.Say(slog.LevelError, logs.About{}, "a hook panicked, or ended its goroutine",
			slog.String(logs.KeyError, text), slog.String(logs.KeyStack, stack))
	}()
	hook()
	returned = true
}
