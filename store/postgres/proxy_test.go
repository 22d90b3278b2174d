package postgres_test

import (
	"encoding/binary"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
)

// proxy stands between pgx and a server, and misbehaves as it is told to.
type proxy struct {
	t        *testing.T
	target   string // the server's socket
	listener net.Listener
	url      string

	dropNotifications atomic.Bool
	deaf              atomic.Int32 // connections that ended after a notification of theirs was dropped
	refuseParameters  atomic.Bool
	frozen            atomic.Bool // nothing passes, and who connects is not answered
	// cut, when set, lets the next request that contains the text reach the server, and closes the
	// connection in place of its answer.
	cut  atomic.Pointer[string]
	cuts atomic.Int32

	mu    sync.Mutex
	conns map[net.Conn]bool
	done  sync.WaitGroup
}

// newProxy returns a proxy of the server at the url, which must be a socket.
func newProxy(t *testing.T, url string) *proxy {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(config.Host, "/") {
		t.Skip("the proxy of this test speaks to a server on a socket")
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, listener: listener, target: filepath.Join(config.Host, ".s.PGSQL.5432"), conns: map[net.Conn]bool{}}
	p.url = "postgres://" + config.User + "@" + listener.Addr().String() + "/" + config.Database + "?sslmode=disable"
	p.done.Go(p.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		p.closeAll()
		p.done.Wait()
	})
	return p
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.done.Go(func() { p.serve(client) })
	}
}

func (p *proxy) track(c net.Conn) { p.mu.Lock(); p.conns[c] = true; p.mu.Unlock() }

func (p *proxy) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
	clear(p.conns)
}

func (p *proxy) serve(client net.Conn) {
	p.track(client)
	defer client.Close()
	if p.frozen.Load() {
		_, _ = io.Copy(io.Discard, client)
		return
	}
	server, err := net.Dial("unix", p.target)
	if err != nil {
		return
	}
	p.track(server)
	defer server.Close()

	startup := make([]byte, 4)
	if _, err := io.ReadFull(client, startup); err != nil {
		return
	}
	rest := make([]byte, binary.BigEndian.Uint32(startup)-4)
	if _, err := io.ReadFull(client, rest); err != nil {
		return
	}
	if p.refuseParameters.Load() && strings.Contains(string(rest), "enable_seqscan") {
		// What PgBouncer says.
		fields := "SFATAL\x00VFATAL\x00C08P01\x00Munsupported startup parameter: enable_seqscan\x00\x00"
		_, _ = client.Write(append(binary.BigEndian.AppendUint32([]byte{'E'}, uint32(len(fields)+4)), fields...))
		return
	}
	if _, err := server.Write(slices.Concat(startup, rest)); err != nil {
		return
	}

	var armed, dropped atomic.Bool
	var both sync.WaitGroup
	both.Go(func() {
		defer server.Close()
		pass(client, server, func(message []byte) bool {
			// Of a pipeline it is the Sync that commits, so the answer to that is what is cut off.
			if text := p.cut.Load(); text != nil && strings.Contains(string(message), *text) && p.cut.CompareAndSwap(text, nil) {
				armed.Store(true)
			}
			return !p.frozen.Load()
		})
	})
	both.Go(func() {
		defer client.Close()
		pass(server, client, func(message []byte) bool {
			if armed.Load() && message[0] == 'Z' {
				p.cuts.Add(1)
				_ = client.Close()
				_ = server.Close()
				return false
			}
			if message[0] == 'A' && p.dropNotifications.Load() {
				dropped.Store(true)
				return false
			}
			return !armed.Load()
		})
	})
	both.Wait()
	if dropped.Load() {
		p.deaf.Add(1)
	}
}

// pass copies messages for which keep says so.
func pass(from, to net.Conn, keep func([]byte) bool) {
	header := make([]byte, 5)
	for {
		if _, err := io.ReadFull(from, header); err != nil {
			return
		}
		message := append([]byte(nil), header...)
		message = append(message, make([]byte, binary.BigEndian.Uint32(header[1:])-4)...)
		if _, err := io.ReadFull(from, message[5:]); err != nil {
			return
		}
		if !keep(message) {
			continue
		}
		if _, err := to.Write(message); err != nil {
			return
		}
	}
}
