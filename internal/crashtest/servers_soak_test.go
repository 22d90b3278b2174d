//go:build soak

package crashtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/crashtest/process"
)

// servers are processes that serve the database of a cluster behind one address.
type servers struct {
	c        *cluster
	url      string
	listener net.Listener
	places   []*worker
	sockets  []string

	mu     sync.Mutex
	random *rand.Rand
}

// serve starts servers of a database, which end with the test.
func serve(t *testing.T, config workerConfig, count int, random *rand.Rand) *servers {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &servers{url: "http://" + listener.Addr().String(), listener: listener, random: random}
	var open sync.WaitGroup
	life, end := context.WithCancel(context.Background())
	open.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			open.Go(func() { s.pass(life, conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		end()
		open.Wait()
	})
	s.c = prepare(t, config)
	dir, err := os.MkdirTemp("", "servers") //nolint:usetesting // that of the test is too long for the name of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for i := range count {
		s.places = append(s.places, &worker{})
		s.sockets = append(s.sockets, filepath.Join(dir, strconv.Itoa(i)))
		s.start(i)
	}
	t.Cleanup(func() {
		for _, w := range s.places {
			if err := w.kill(); err != nil {
				t.Error(err)
			}
		}
	})
	s.serves()
	return s
}

// start puts a new process into a place.
func (s *servers) start(place int) {
	s.c.t.Helper()
	w := s.places[place]
	w.lives++
	w.name = fmt.Sprintf("s%d.%d", place, w.lives)
	_ = os.Remove(s.sockets[place]) // of the one before
	config, err := json.Marshal(serverConfig{
		Name: w.name, Database: s.c.config.Database, Socket: s.sockets[place], Beat: s.c.config.Beat, Dead: s.c.config.Dead,
	})
	if err != nil {
		s.c.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serverEnv+"="+string(config))
	cmd.Stdout, cmd.Stderr = s.c.logs, s.c.logs
	if w.Process, err = process.Start(cmd); err != nil {
		s.c.t.Fatal(err)
	}
	w.killed = false
}

// kill kills the process at a place.
func (s *servers) kill(c *cluster, place int) {
	s.c.t.Helper()
	c.killed[s.places[place].name] = true
	if err := s.places[place].kill(); err != nil {
		s.c.t.Fatal(err)
	}
}

// pass passes a connection on to a server that is there, whichever that is.
func (s *servers) pass(life context.Context, conn net.Conn) {
	defer conn.Close()
	s.mu.Lock()
	order := s.random.Perm(len(s.sockets))
	s.mu.Unlock()
	for _, place := range order {
		to, err := (&net.Dialer{}).DialContext(life, "unix", s.sockets[place])
		if err != nil {
			continue
		}
		defer to.Close()
		stop := context.AfterFunc(life, func() { _ = conn.Close(); _ = to.Close() })
		defer stop()
		var both sync.WaitGroup
		for _, way := range [][2]net.Conn{{conn, to}, {to, conn}} {
			both.Go(func() {
				_, _ = io.Copy(way[0], way[1])
				_ = conn.Close()
				_ = to.Close()
			})
		}
		both.Wait()
		return
	}
}

// TestServersDie kills servers and workers again and again while the workers, and those who
// enqueue, know nothing but the one address of two servers.
func TestServersDie(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, database string) {
		const count = 2
		random := newRandom(t)
		config := workerConfig{Database: database, Slots: 8, Beat: 500 * time.Millisecond, Dead: 4 * time.Second, Outages: true}
		s := serve(t, config, count, random())
		config.Server = s.url
		victims := random()
		outlive(t, config, 10, func(c *cluster, n int) {
			place := victims.IntN(count)
			s.kill(c, place)
			if n%3 == 1 { // no server is there for a while
				s.kill(c, 1-place)
				_ = spend(t.Context(), time.Duration(victims.Int64N(int64(time.Second))))
				s.start(1 - place)
			}
			if n%3 == 2 {
				worker := victims.IntN(len(c.workers))
				c.end(worker)
				c.start(worker)
			}
			s.start(place)
			s.serves()
		})
	})
}

// serves waits until all servers answer.
func (s *servers) serves() {
	s.c.t.Helper()
	for _, socket := range s.sockets {
		s.c.until("the servers answer", func() bool {
			conn, err := (&net.Dialer{}).DialContext(s.c.t.Context(), "unix", socket)
			if err != nil {
				return false
			}
			return conn.Close() == nil
		})
	}
}
