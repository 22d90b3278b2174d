package faulttest

import (
	"context"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store/postgres"
)

// proxy is the network between clients and a PostgreSQL server, and fails as networks do.
type proxy struct {
	network, server string // of the server
	listener        net.Listener
	url             string
	life            context.Context
	done            sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]bool
	away   bool // nobody gets through
	silent bool // nothing gets through
	// delay, if set, is how long what was sent, or answered, is on its way.
	delay func(data []byte, sent bool) time.Duration
	// vanish, if set, tells before what is sent the network falls silent.
	vanish func(sent []byte) bool
}

// newProxy returns a proxy in front of the server at the URL.
func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	config, err := pgx.ParseConfig(server)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{network: "tcp", server: net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))), conns: map[net.Conn]bool{}}
	if strings.HasPrefix(config.Host, "/") {
		p.network, p.server = "unix", filepath.Join(config.Host, ".s.PGSQL."+strconv.Itoa(int(config.Port)))
	}
	if p.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	to := url.URL{
		Scheme: "postgres", User: url.UserPassword(config.User, config.Password), Host: p.listener.Addr().String(),
		Path: "/" + config.Database, RawQuery: "sslmode=disable",
	}
	p.url = to.String()
	life, end := context.WithCancel(context.WithoutCancel(t.Context()))
	p.life = life
	p.done.Go(p.accept)
	t.Cleanup(func() {
		end()
		_ = p.listener.Close()
		p.cut()
		p.done.Wait()
	})
	return p
}

// database is the server as it is seen through the proxy.
func (p *proxy) database() *database {
	return &database{source: postgres.URL(p.url), dsn: p.url, url: p.url}
}

// refuse closes all connections and lets nobody in until it is told otherwise.
func (p *proxy) refuse(away bool) {
	p.mu.Lock()
	p.away = away
	p.mu.Unlock()
	if away {
		p.cut()
	}
}

// cut closes all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
	clear(p.conns)
}

// slow sets how long things are on their way.
func (p *proxy) slow(delay func(data []byte, sent bool) time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = delay
}

// vanishBefore lets the machine of the clients vanish before it sends that for which the
// function says so. From then on nothing gets through in either direction, and nothing is
// closed: so it is for the server when the machine has lost its power.
func (p *proxy) vanishBefore(what func(sent []byte) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.vanish = what
}

// vanished reports whether it has.
func (p *proxy) vanished() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.silent
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

// track notes a connection, and refuses it while nobody gets through.
func (p *proxy) track(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away || p.life.Err() != nil {
		_ = c.Close()
		return false
	}
	p.conns[c] = true
	return true
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	if !p.track(client) {
		return
	}
	server, err := (&net.Dialer{}).DialContext(p.life, p.network, p.server)
	if err != nil {
		return
	}
	defer server.Close()
	if !p.track(server) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { p.pass(client, server, true) })
	both.Go(func() { p.pass(server, client, false) })
	both.Wait()
	p.mu.Lock()
	delete(p.conns, client)
	delete(p.conns, server)
	p.mu.Unlock()
}

// pass copies what one side sends. The end of one direction is that of the connection; what was
// sent before arrives all the same.
func (p *proxy) pass(from, to net.Conn, sent bool) {
	defer from.Close()
	defer to.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		silent, delay := p.judge(buffer[:n], sent)
		if silent {
			<-p.life.Done() // nobody learns of anything
			return
		}
		if delay > 0 {
			linger(p.life, delay)
		}
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// judge tells what becomes of data.
func (p *proxy) judge(data []byte, sent bool) (silent bool, delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if sent && p.vanish != nil && !p.silent {
		p.silent = p.vanish(data)
	}
	if p.delay != nil && len(data) > 0 {
		delay = p.delay(data, sent)
	}
	return p.silent, delay
}
