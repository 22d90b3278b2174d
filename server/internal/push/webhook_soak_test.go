//go:build soak

package push_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/holdfastdev/holdfast/endpoint"
	"github.com/holdfastdev/holdfast/store"
)

// TestSlowReceivers: webhooks whose receivers do not answer have their own slots, also if they are
// more than a server has for jobs, and another one is told of everything meanwhile.
func TestSlowReceivers(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, source store.Source) {
		t.Helper()
		const jobs, hanging = 25, 6 // together more than a server has slots for jobs
		s := serve(t, source, loopback)
		released := make(chan struct{})
		var release sync.Once
		var mu sync.Mutex
		busy, most := [hanging]int{}, 0
		var slow [hanging]*receiver
		for i := range slow {
			slow[i] = receive(t, func(http.ResponseWriter, *http.Request) {
				mu.Lock()
				busy[i]++
				most = max(most, busy[i])
				mu.Unlock()
				<-released
				mu.Lock()
				busy[i]--
				mu.Unlock()
			})
			never := at(slow[i].URL, endpoint.Filter{})
			never.Timeout = endpoint.MostTimeout // else a request that was given up counts, and its repeat
			s.webhook(fmt.Sprint("slow ", i), never)
		}
		quick := receive(t, says(200, ""))
		t.Cleanup(func() { release.Do(func() { close(released) }) }) // before the receivers end
		s.webhook("quick", at(quick.URL, endpoint.Filter{}))
		ids := s.cancelled("mail", jobs)
		s.wantTold(quick, ids)
		s.until("all that hang have their slots", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return !slices.ContainsFunc(busy[:], func(n int) bool { return n < endpoint.MostAtOnce })
		})
		mu.Lock()
		if most > endpoint.MostAtOnce {
			t.Errorf("%d requests to a slow receiver at once", most)
		}
		mu.Unlock()
		release.Do(func() { close(released) })
		for _, r := range slow {
			s.wantTold(r, ids)
		}
	})
}
