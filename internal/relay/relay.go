package relay

import (
	"context"
	"fmt"
	"sync"

	"github.com/holdfastdev/holdfast/store"
)

// Store is a store whose wake-ups are passed on. Use Wrap.
type Store struct {
	store.Store

	mu        sync.Mutex
	listeners map[*listener]bool
	watching  *watching // of the store below; nil: there are no listeners
}

// Wrap returns a store whose wake-ups are passed on.
func Wrap(inner store.Store) *Store { return &Store{Store: inner, listeners: map[*listener]bool{}} }

// Unwrap returns the store below.
func (s *Store) Unwrap() store.Store { return s.Store }

// listener is one who watches: this process, or a remote client. It hears in the goroutine that
// watches, so that it may say something, and be told something, while it hears.
type listener struct {
	client string // "": this process
	*Pending
}

// watching is a watch of the store below, which all listeners share.
type watching struct {
	stop context.CancelFunc
	over chan struct{} // closed when it has ended
	err  error         // with which it has
	// panicked is what it has panicked with, which is that of who watches: they are supervised.
	panicked any
}

// Notify implements store.Store.
func (s *Store) Notify(wakes ...store.Wake) {
	s.Store.Notify(wakes...)
	s.tell(func(l *listener) bool { return l.client != "" }, wakes)
}

// Hear passes on what a remote client has said. It has a name of its own, which is not "".
func (s *Store) Hear(client string, wakes ...store.Wake) {
	s.Store.Notify(wakes...)
	s.tell(func(l *listener) bool { return l.client != client }, wakes)
}

// tell tells some of the listeners. It does not wait until they have heard.
func (s *Store) tell(whom func(*listener) bool, wakes []store.Wake) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.listeners {
		if !whom(l) {
			continue
		}
		for _, w := range wakes {
			l.Add(w)
		}
	}
}

// Watch implements store.Store.
func (s *Store) Watch(ctx context.Context, wake func(store.Wake)) error {
	return s.watch(ctx, "", wake)
}

// Listen is Watch for a remote client.
func (s *Store) Listen(ctx context.Context, client string, wake func(store.Wake)) error {
	return s.watch(ctx, client, wake)
}

func (s *Store) watch(ctx context.Context, client string, wake func(store.Wake)) error {
	l := &listener{client, NewPending()}
	w := s.join(ctx, l)
	defer s.leave(l, w)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.over:
			return w.end(ctx, client)
		case <-l.More:
		}
		for _, one := range l.Take() {
			if ctx.Err() == nil {
				wake(one)
			}
		}
	}
}

// join makes one of the listeners, and begins to watch the store for the first one.
func (s *Store) join(ctx context.Context, l *listener) *watching {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners[l] = true
	if s.watching == nil {
		return s.begin(ctx)
	}
	l.Add(store.Wake{Kind: store.WakeAll}) // what the store has told before is not known
	return s.watching
}

// leave undoes join. The last one waits until the store is not used any more.
func (s *Store) leave(l *listener, w *watching) {
	s.mu.Lock()
	delete(s.listeners, l)
	last := len(s.listeners) == 0 && s.watching == w
	if last {
		s.watching = nil
	}
	s.mu.Unlock()
	if last {
		w.stop()
		<-w.over
	}
}

// end is with what the watch of a listener ends when that of the store has.
func (w *watching) end(ctx context.Context, client string) error {
	switch {
	case w.panicked != nil && client == "":
		panic(w.panicked)
	case w.panicked != nil:
		return fmt.Errorf("%w: the watch has panicked: %v", store.ErrUnavailable, w.panicked)
	case ctx.Err() == nil:
		return w.err
	}
	return nil
}

// begin begins to watch the store. s.mu is held.
func (s *Store) begin(ctx context.Context) *watching {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx)) // it may outlive who began it
	w := &watching{stop: stop, over: make(chan struct{})}
	s.watching = w
	go func() {
		defer func() {
			w.panicked = recover()
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.watching == w {
				s.watching = nil // who watches from now on begins again
			}
			close(w.over)
		}()
		w.err = s.Store.Watch(ctx, func(one store.Wake) {
			s.tell(func(*listener) bool { return true }, []store.Wake{one})
		})
	}()
	return w
}
