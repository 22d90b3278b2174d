package local

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// laneWait is how long it is waited for a lane that another transaction is making: longer than
	// ours take, and too short to be noticed by the batches behind.
	laneWait = 50 * time.Millisecond
	// laneWaitAgain is how long if that has been in vain before.
	laneWaitAgain = 2 * time.Millisecond
	// laneMaking is how long it is remembered that it was.
	laneMaking = time.Second
)

// making remembers the lanes that transactions of callers are making, from SQL, and when it was
// last waited for them in vain.
type making struct {
	mu    sync.Mutex
	lanes map[laneKey]time.Time
}

// has reports whether it was waited for a lane in vain lately.
func (m *making) has(key laneKey) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, ok := m.lanes[key]
	return ok && time.Since(at) < laneMaking
}

// note notes whether it was, just now.
func (m *making) note(key laneKey, held bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !held {
		delete(m.lanes, key)
		return
	}
	if m.lanes == nil {
		m.lanes = map[laneKey]time.Time{}
	}
	maps.DeleteFunc(m.lanes, func(_ laneKey, at time.Time) bool { return time.Since(at) >= laneMaking })
	m.lanes[key] = time.Now()
}

// door admits one caller at a time. If that one finds that there is no connection to be had, those
// that wait behind it get the same answer and do not try again.
type door struct {
	mu     sync.Mutex
	inside *visit
}

// visit is that of one of them.
type visit struct {
	over chan struct{}
	err  error // known when it is over
}

// enter waits for the turn, which ends when leave is called with what came of it.
func (d *door) enter(ctx context.Context) (leave func(error), err error) {
	for {
		d.mu.Lock()
		before := d.inside
		if before == nil {
			mine := &visit{over: make(chan struct{})}
			d.inside = mine
			d.mu.Unlock()
			return func(err error) { d.leave(ctx, mine, err) }, nil
		}
		d.mu.Unlock()
		select {
		case <-before.over:
			if before.err != nil {
				return nil, before.err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (d *door) leave(ctx context.Context, v *visit, err error) {
	if _, away := errors.AsType[*pgconn.ConnectError](err); away && ctx.Err() == nil {
		v.err = err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inside = nil
	close(v.over)
}
