package remote

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/internal/wire"
	"github.com/holdfastdev/holdfast/store"
)

const (
	// reconnectFirst and reconnectLast bound the wait before a stream is opened again.
	reconnectFirst = 50 * time.Millisecond
	reconnectLast  = 5 * time.Second
	// silence is after how long a stream counts as broken on which nothing comes.
	silence = 3 * wire.Heartbeat
	// maxEvent is how large an event may be, in bytes.
	maxEvent = 64 << 20
)

// Watch implements store.Store. The wake-ups come in a stream, which is opened again when it
// breaks; while there is one, and the server hears of other processes, Traits().Wakeups is true.
func (s *Store) Watch(ctx context.Context, wake func(store.Wake)) error {
	if s.closed.Load() {
		return store.ErrClosed
	}
	delay := reconnectFirst
	for ctx.Err() == nil {
		worked, err := s.listen(ctx, wake)
		s.hears.Store(false)
		switch {
		case errors.Is(err, store.ErrDatabaseGone):
			return err
		case worked:
			delay = reconnectFirst
		default:
			delay = min(2*delay, reconnectLast)
		}
		sleep(ctx, delay/2+rand.N(delay))
	}
	return nil
}

// listen passes on what a stream tells until it breaks. It tells whether it ever worked.
func (s *Store) listen(ctx context.Context, wake func(store.Wake)) (worked bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	alive := time.AfterFunc(silence, cancel)
	defer alive.Stop()
	r, err := s.request(ctx, http.MethodGet, wire.WatchPath, http.NoBody)
	if err != nil {
		return false, err
	}
	answer, err := s.http.Do(r)
	if err != nil {
		return false, s.lost(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		data, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<16)) // what has come of it
		return false, s.refused(answer, data)
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, maxEvent)
	for lines.Scan() {
		alive.Reset(silence)
		var e wire.Event
		if err := wire.Decode(lines.Bytes(), &e); err != nil {
			return worked, err
		}
		if e.Err != nil {
			return worked, e.Err
		}
		if e.Traits.Name != "" {
			s.traits.Store(&e.Traits)
		}
		if !worked {
			worked = true
			s.hears.Store(true)
			wake(store.Wake{Kind: store.WakeAll}) // what was told until now may have been lost
		}
		for _, w := range e.Wakes {
			wake(w)
		}
	}
	return worked, s.lost(fmt.Errorf("the stream of wake-ups ended: %w", errors.Join(io.EOF, lines.Err())))
}

const (
	// maxNotes is how many wake-ups wait to be sent.
	maxNotes = 4096
	// notesEvery is how long is waited between two requests, so that one has many.
	notesEvery = 2 * time.Millisecond
	// noteTimeout is how long one may take.
	noteTimeout = 5 * time.Second
)

// notes are wake-ups on their way to the server.
type notes struct {
	more chan struct{} // has a value if there are some

	mu      sync.Mutex
	pending []store.Wake
	begun   bool // there is a goroutine
}

// Notify implements store.Store. What is said while a request is under way is sent with the next
// one; of more than can wait it is only said that there was something.
func (s *Store) Notify(wakes ...store.Wake) {
	n := &s.notes
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(wakes) == 0 || s.closed.Load() {
		return
	}
	for _, w := range wakes {
		switch {
		case len(n.pending) >= maxNotes:
			n.pending = []store.Wake{{Kind: store.WakeAll}}
		case w.Kind == store.WakeReady || w.Kind == store.WakeDeferred:
			n.pending = store.AddWake(n.pending, w)
		default:
			n.pending = append(n.pending, w)
		}
	}
	if !n.begun {
		n.begun = s.begin(s.sendNotes)
	}
	select {
	case n.more <- struct{}{}:
	default:
	}
}

// sendNotes sends notes until the store is closed, and then what is left.
func (s *Store) sendNotes() {
	for {
		select {
		case <-s.notes.more:
			s.sendPending()
			sleep(s.life, notesEvery)
		case <-s.life.Done():
			s.sendPending()
			return
		}
	}
}

// sendPending sends what waits. What cannot be sent is lost.
func (s *Store) sendPending() {
	n := &s.notes
	n.mu.Lock()
	pending := n.pending
	n.pending = nil
	n.mu.Unlock()
	if len(pending) == 0 {
		return
	}
	body, err := wire.Encode(with(pending))
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(s.sending, noteTimeout)
	defer cancel()
	_, _ = s.post(ctx, wire.NotifyPath, body)
}
