package pg

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// leastSticky is how many connections a pool must have for calls to keep some of them.
	leastSticky = 6
	// stickyIdle is how long a connection is kept that is not used.
	stickyIdle = 5 * time.Second
	// stickyFor is how long a connection is kept in all, or a tenth of its life if that is less:
	// the pool replaces old ones when it gets them back.
	stickyFor = 5 * time.Minute
)

// Kinds are the kinds of calls that keep a connection each.
type Kinds struct{ Claiming, Granting, Writing Sticky }

func (k *Kinds) all() [3]*Sticky { return [...]*Sticky{&k.Claiming, &k.Granting, &k.Writing} }

// stick lets them keep connections of a pool of ours, if it is large enough.
func (k *Kinds) stick(pool *pgxpool.Pool) {
	config := pool.Config()
	if config.MaxConns < leastSticky {
		return
	}
	most := stickyFor
	if config.MaxConnLifetime > 0 {
		most = min(most, config.MaxConnLifetime/10)
	}
	for _, s := range k.all() {
		s.of, s.pool, s.most = k, pool, most
	}
}

// yield gives back what is kept and not in use, if the pool has no other connection to give.
func (k *Kinds) yield() {
	for _, s := range k.all() {
		if s.pool == nil || !isFull(s.pool) {
			return
		}
		s.lapse()
	}
}

// isFull reports whether all connections that a pool may have are in use, or being made.
func isFull(pool *pgxpool.Pool) bool {
	stat := pool.Stat()
	return stat.IdleConns() == 0 && stat.TotalConns() >= stat.MaxConns()
}

// Sticky is a kind of call that uses the same connection as the one before, while such calls follow
// each other. Each connection parses and plans a statement for itself, and again after tables were
// analyzed, which takes 3 to 20 ms for a claim: calls that go by any connection of the pool meet
// that once for each of them.
//
// Calls at the same time as another one use any connection, and so do all calls where the pool is
// the caller's, or is small. A connection that is kept is given back when the pool has no other.
type Sticky struct {
	of   *Kinds
	pool *pgxpool.Pool // nil: none is kept
	most time.Duration // that one is kept

	mu    sync.Mutex // is held during a call
	kept  *pgxpool.Conn
	since time.Time   // when it was taken from the pool
	idle  *time.Timer // gives it back
	over  bool        // none is kept any more
}

// Keeps reports whether there is a connection that the next call would use. It waits for one that
// is under way.
func (s *Sticky) Keeps() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept != nil
}

// take reports whether the next call may be that of with.
func (s *Sticky) take() bool { return s.pool != nil && s.mu.TryLock() }

// with calls f with the connection that is kept, or with one that is from then on. It ends what
// take began.
func (s *Sticky) with(ctx context.Context, f func(*pgx.Conn) error) error {
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err // as the pool does
	}
	if s.kept == nil {
		s.of.yield()
		conn, err := s.pool.Acquire(ctx)
		if err != nil {
			return err
		}
		s.kept, s.since = conn, time.Now()
	}
	defer s.keep()
	return f(s.kept.Conn())
}

// keep keeps the connection for the next call, unless it is of no use to that, or others wait.
func (s *Sticky) keep() {
	conn := s.kept.Conn()
	state := conn.PgConn()
	if s.over || conn.IsClosed() || state.IsBusy() || state.TxStatus() != 'I' || time.Since(s.since) > s.most || isFull(s.pool) {
		s.release() // which ends one that is of no use
		return
	}
	if s.idle == nil {
		s.idle = time.AfterFunc(stickyIdle, s.lapse)
	} else {
		s.idle.Reset(stickyIdle)
	}
}

// lapse gives back a connection that is not in use.
func (s *Sticky) lapse() {
	if s.mu.TryLock() {
		s.release()
		s.mu.Unlock()
	}
}

// end waits for the call that is under way, and gives back its connection: none is kept any more.
func (s *Sticky) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	if s.idle != nil {
		s.idle.Stop()
	}
	s.release()
}

func (s *Sticky) release() {
	if s.kept != nil {
		s.kept.Release()
		s.kept = nil
	}
}
