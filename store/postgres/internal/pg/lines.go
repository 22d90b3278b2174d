package pg

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// closePatience is how long the end of a pool waits for its connections to end in good order. A
// call that was given up asks the server to cancel it, for up to 15 seconds; a server that is
// frozen takes all of them.
const closePatience = time.Second

// lines are the network connections of a pool, to end them when the server does not help.
type lines struct {
	mu   sync.Mutex
	open map[*line]struct{}
	over bool
}

// line is one of them, which is forgotten when it is closed.
type line struct {
	net.Conn

	of *lines
}

// Close implements net.Conn.
func (l *line) Close() error {
	l.of.mu.Lock()
	delete(l.of.open, l)
	l.of.mu.Unlock()
	return l.Conn.Close()
}

// through makes a pool dial its connections through the lines.
func (ls *lines) through(config *pgxpool.Config) {
	ls.open = map[*line]struct{}{}
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = pgconn.DialFunc(func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		l := &line{conn, ls}
		ls.mu.Lock()
		defer ls.mu.Unlock()
		if ls.over {
			_ = conn.Close() // what it was for has ended
			return nil, net.ErrClosed
		}
		ls.open[l] = struct{}{}
		return l, nil
	})
}

// cut ends all, and lets no other begin.
func (ls *lines) cut() {
	ls.mu.Lock()
	ls.over = true
	var all []*line
	for l := range ls.open {
		all = append(all, l)
	}
	ls.mu.Unlock()
	for _, l := range all {
		_ = l.Close() // whatever it says, it is over
	}
}

// closePool closes the pool. What has not ended after a while is ended by force.
func (d *DB) closePool() {
	cutting := time.AfterFunc(closePatience, d.lines.cut)
	defer cutting.Stop()
	var ended sync.WaitGroup
	for _, kind := range d.all() {
		ended.Go(kind.end)
	}
	d.Conns.Close() // gives up connections that are being made, for which a kind may wait
	ended.Wait()
}
