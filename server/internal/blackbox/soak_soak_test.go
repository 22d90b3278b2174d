//go:build soak

package blackbox

import (
	"context"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// mostMemory is how much memory the server may take in the soak, and idle, in bytes. In the soak it
// takes less than 200 MiB on a machine that does nothing else. Beside other tests its collector
// gets less of the processors than it asks for, and comes later.
const (
	mostMemory = 230 << 20
	mostIdle   = 80 << 20
)

// TestSoak: with 500 readers of events and 1,000 clients that wait for results, each reader is told
// of the end of each job, each waiter gets its result, and the server stays small.
func TestSoak(t *testing.T) {
	onBoth(t, func(s *server) {
		admin, _ := s.key("admin", "--role", "admin")
		s.client.Transport = &http.Transport{MaxIdleConnsPerHost: 2 * soakWaiters}
		idle := s.memory("VmRSS")
		s.Logf("the idle server has %d MiB of memory", idle>>20)
		if idle > mostIdle {
			s.Errorf("the idle server has %d MiB of memory, and may have %d", idle>>20, mostIdle>>20)
		}
		rounds := soakRounds
		if n, err := strconv.Atoi(os.Getenv("SOAK_ROUNDS")); err == nil {
			rounds = n
		}
		ctx, stop := context.WithCancel(s.Context())
		defer stop()
		ended := make([]atomic.Int64, soakReaders)
		var readers sync.WaitGroup
		ready := make(chan error, 2*soakReaders)
		for i := range ended {
			readers.Go(func() {
				if err := s.read(ctx, admin, &ended[i], ready); err != nil {
					ready <- err
				}
			})
		}
		for range soakReaders {
			if err := <-ready; err != nil {
				s.Fatal(err)
			}
		}
		worker := make(chan struct{})
		go func() {
			defer close(worker)
			if err := s.work(ctx, admin); err != nil {
				s.Errorf("the worker has ended, and what follows comes of that: %v", err)
			}
		}()
		for range rounds {
			s.round(admin)
		}
		want := int64(rounds * soakWaiters)
		for i := range ended {
			for deadline := time.Now().Add(time.Minute); ended[i].Load() < want && time.Now().Before(deadline); {
				time.Sleep(20 * time.Millisecond) //nolint:forbidigo // another process writes to the readers
			}
			if got := ended[i].Load(); got != want {
				s.Fatalf("reader %d was told of the end of %d jobs, not %d", i, got, want)
			}
		}
		s.Logf("the server has had %d MiB of memory at the most", s.memory("VmHWM")>>20)
		if most := s.memory("VmHWM"); most > mostMemory {
			s.Errorf("the server had %d MiB of memory, and may have %d", most>>20, mostMemory>>20)
		}
		stop()
		<-worker
		readers.Wait()
	})
}
