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

// listener is one who watches: this process, or a remote client.
type listener struct {
	client string // "": this process
	mu     sync.Mutex
	wake   func(store.Wake)
}

func (l *listener) tell(wakes []store.Wake) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range wakes {
		l.wake(w)
	}
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

// tell tells some of the listeners. Nothing is locked meanwhile but who is told: what hears of a
// wake-up may say something itself.
func (s *Store) tell(whom func(*listener) bool, wakes []store.Wake) {
	if len(wakes) == 0 {
		return
	}
	s.mu.Lock()
	var told []*listener
	for l := range s.listeners {
		if whom(l) {
			told = append(told, l)
		}
	}
	s.mu.Unlock()
	for _, l := range told {
		l.tell(wakes)
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
	l := &listener{client: client, wake: wake}
	s.mu.Lock()
	s.listeners[l] = true
	w, joins := s.watching, true
	if w == nil {
		w, joins = s.begin(ctx), false
	}
	s.mu.Unlock()
	if joins {
		l.tell([]store.Wake{{Kind: store.WakeAll}}) // what the store has told before is not known
	}
	select {
	case <-ctx.Done():
	case <-w.over:
	}
	s.mu.Lock()
	delete(s.listeners, l)
	last := len(s.listeners) == 0 && s.watching == w
	if last {
		s.watching = nil
	}
	s.mu.Unlock()
	if last {
		w.stop()
	}
	// It is waited for: no function is called, and the store is not used, once the last has ended.
	if last {
		<-w.over
	}
	l.mu.Lock() // a call may be under way
	defer l.mu.Unlock()
	l.wake = func(store.Wake) {}
	select {
	case <-w.over:
	default:
		return nil
	}
	switch {
	case w.panicked != nil && client == "":
		panic(w.panicked)
	case w.panicked != nil:
		return fmt.Errorf("%w: the watch has panicked: %v", store.ErrUnavailable, w.panicked)
	case ctx.Err() != nil:
		return nil
	}
	return w.err
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
