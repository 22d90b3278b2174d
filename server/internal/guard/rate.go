package guard

import (
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/internal/gcra"
)

// Rate is how many requests of one caller are let in.
type Rate struct {
	Period time.Duration // after which another one may come; at least a microsecond
	Burst  int           // how many may come at once; at least one
}

// maxCallers is how many callers are remembered in each of two generations.
const maxCallers = 10_000

// rates remembers of each caller when its burst is whole again. There are two generations: when the
// younger one is full it becomes the older one, which is forgotten. So there is a bound on what is
// kept, and who is forgotten has not come while so many others have; it has all of its burst then.
type rates struct {
	Rate

	mu           sync.Mutex
	began        time.Time        // of the first request
	young, older map[string]int64 // in microseconds since then, by a clock that no person sets
}

// take takes a permit of a caller; 0: it was there. Otherwise it comes after that time.
func (r *rates) take(caller string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.began.IsZero() {
		r.began = time.Now()
	}
	// The clock is read here: permits are in the order of their times.
	now, period := time.Since(r.began).Microseconds(), r.Period.Microseconds()
	whole, known := r.young[caller]
	if !known {
		whole = r.older[caller]
	}
	k := gcra.Stand(period, int64(r.Burst), whole, period, 0, now)
	if k.Free() < 1 {
		return time.Duration(k.Wait()) * time.Microsecond
	}
	k.Take(1)
	if !known && len(r.young) >= maxCallers {
		r.older, r.young = r.young, nil
	}
	if r.young == nil {
		r.young = map[string]int64{}
	}
	r.young[caller] = now + k.Ahead
	return 0
}

// caller is who makes a request: the principal, or where none has to say who it is, the network
// that it comes from.
func caller(name string, isAnybody bool, r *http.Request) string {
	if !isAnybody {
		return "principal " + name
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	ip := net.ParseIP(host)
	if ip != nil && ip.To4() == nil {
		ip = ip.Mask(net.CIDRMask(64, 128)) // one has as many addresses as it likes
		host = ip.String()
	}
	return "network " + host
}
