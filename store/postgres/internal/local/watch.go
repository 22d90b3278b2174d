package local

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

const (
	// probeEvery is how often a listening connection is tested. A probe that does not come back
	// within probeTimeout means that it is broken, or that a pooler in transaction mode is in
	// between, which takes LISTEN and loses what comes.
	probeEvery   = 30 * time.Second
	probeTimeout = 3 * time.Second
	// A broken connection is made again at once, and then ever later.
	reconnectFirst = 50 * time.Millisecond
	reconnectLast  = 10 * time.Second
	// Behind a pooler that loses notifications nothing is won by trying often.
	reconnectUnreliable = time.Minute
)

// errProbeLost is the end of a listening connection on which nothing arrives.
var errProbeLost = errors.New("a notification to ourselves did not come back")

// Watch is that of store.Store. It listens on a connection of its own beside the pool. While
// notifications demonstrably arrive Traits().Wakeups is true. Without session features it reports
// nothing.
func (s *Store) Watch(ctx context.Context, wake func(store.Wake)) error {
	if s.IsClosed() {
		return pg.ErrClosed
	}
	if s.NoSession {
		<-ctx.Done()
		return nil
	}
	delay := reconnectFirst
	for ctx.Err() == nil {
		worked, err := s.listen(ctx, wake)
		s.Wakeups.Store(false)
		switch {
		case worked:
			delay = reconnectFirst
		case errors.Is(err, errProbeLost):
			delay = reconnectUnreliable
		default:
			delay = min(2*delay, reconnectLast)
		}
		timer := time.NewTimer(delay/2 + rand.N(delay))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
	return nil
}

// listen passes on notifications until the connection breaks or ctx ends. It tells whether the
// connection ever worked.
func (s *Store) listen(ctx context.Context, wake func(store.Wake)) (worked bool, err error) {
	dial, cancel := context.WithTimeout(ctx, reconnectLast)
	defer cancel()
	conn, err := s.Beside(dial, "holdfast listen")
	if err != nil {
		return false, err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(closing) // it is done with
	}()
	// A statement without parameters is sent by the simple protocol, which leaves nothing prepared.
	if _, err := conn.Exec(dial, "LISTEN "+pgx.Identifier{s.Channel()}.Sanitize()); err != nil {
		return false, err
	}
	for {
		probe := newOrigin()
		if err := s.sendProbe(ctx, probe); err != nil {
			return worked, err
		}
		if err := s.receive(ctx, conn, probe, probeTimeout, wake); err != nil {
			return worked, err
		}
		if !worked {
			worked = true
			s.Wakeups.Store(true)
			// Whatever was sent until now may have been lost.
			s.Cursors.forget()
			wake(store.Wake{Kind: store.WakeAll})
		}
		if err := s.receive(ctx, conn, "", probeEvery, wake); !errors.Is(err, errProbeLost) {
			return worked, err
		}
	}
}

func (s *Store) sendProbe(ctx context.Context, probe string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	text, err := json.Marshal(message{Origin: s.origin, Probe: probe})
	if err != nil {
		return err
	}
	return s.sendNotifications(ctx, []string{string(text)})
}

// receive passes on notifications until the given probe arrives, which returns nil, or the time is
// over, which returns errProbeLost.
func (s *Store) receive(ctx context.Context, conn *pgx.Conn, probe string, limit time.Duration, wake func(store.Wake)) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		n, err := conn.WaitForNotification(limited)
		if err != nil {
			if ctx.Err() == nil && limited.Err() != nil && !conn.IsClosed() {
				return errProbeLost
			}
			return err
		}
		var m message
		switch {
		case json.Unmarshal([]byte(n.Payload), &m) != nil:
			s.Cursors.forget()
			wake(store.Wake{Kind: store.WakeAll}) // of a newer program, or of a person
		case m.Probe != "":
			if m.Probe == probe {
				return nil
			}
		case m.Origin == s.origin:
		case m.Kind == kindLate:
			s.hear(m.Late)
		default:
			w := m.wake()
			s.hear(m.Late)
			s.HearWake(w)
			wake(w)
		}
	}
}
