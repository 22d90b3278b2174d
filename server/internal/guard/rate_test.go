package guard

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/server/access"
)

// limited is a guard that lets each caller make a request a second, and three at once. Who makes a
// request is in a header; without it nobody needs to say.
func limited(t *testing.T) http.Handler {
	t.Helper()
	h, err := Around(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }), Config{
		Authenticate: func(r *http.Request) (access.Principal, error) {
			if r.Header.Get("Who") == "stranger" {
				return access.Principal{}, access.ErrUnauthenticated
			}
			return access.Everything(r.Header.Get("Who")), nil
		},
		Public:  func(r *http.Request) bool { return r.Header.Get("Who") == "" },
		Rate:    Rate{Period: time.Second, Burst: 3},
		MaxBody: 1000, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// asks makes requests and returns how many were let in, and when the last may come again.
func asks(h http.Handler, n int, who, from string) (let int, after string) {
	for range n {
		r := httptest.NewRequest(http.MethodGet, "http://localhost/api/v1/jobs", http.NoBody)
		r.RemoteAddr = from
		if who != "" {
			r.Header.Set("Who", who)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		switch w.Code {
		case http.StatusOK:
			let++
		case http.StatusTooManyRequests:
			after = w.Header().Get("Retry-After")
		default:
			after = w.Result().Status
		}
	}
	return let, after
}

// TestRate: each caller has a burst, and what comes in the time after; others are not in its way.
// Those who need not say who they are count by their networks.
func TestRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := limited(t)
		for _, step := range []struct {
			wait      time.Duration
			who, from string
			asks, let int
			after     string
		}{
			{0, "ann", "192.0.2.1:1", 5, 3, "1"},
			{0, "bob", "192.0.2.1:2", 2, 2, ""},
			{0, "ann", "192.0.2.9:1", 1, 0, "1"}, // from elsewhere
			{2500 * time.Millisecond, "ann", "192.0.2.1:1", 4, 2, "1"},
			{500 * time.Millisecond, "ann", "192.0.2.1:1", 1, 1, ""},
			{time.Hour, "ann", "192.0.2.1:1", 5, 3, "1"},
			{0, "", "192.0.2.1:1", 4, 3, "1"},
			{0, "", "192.0.2.2:1", 1, 1, ""},
			{0, "", "[2001:db8::1]:1", 3, 3, ""},
			{0, "", "[2001:db8::2]:1", 1, 0, "1"}, // of the same network
			{0, "", "[2001:db8:1::1]:1", 1, 1, ""},
			{0, "network 192.0.2.2", "192.0.2.2:1", 3, 3, ""}, // a name is no network
			{0, "stranger", "192.0.2.3:1", 5, 0, "401 Unauthorized"},
		} {
			time.Sleep(step.wait) //nolint:forbidigo // virtual time
			let, after := asks(h, step.asks, step.who, step.from)
			if let != step.let || after != step.after {
				t.Errorf("%+v: %d were let in, and the next may come in %q", step, let, after)
			}
		}
	})
}

// TestRateForgets: however many callers there are, few are remembered, and those who go on coming
// are not forgotten.
func TestRateForgets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := rates{Rate: Rate{Period: time.Hour, Burst: 2}}
		r.take("ann")
		for i := range 5 * maxCallers {
			if wait := r.take(strconv.Itoa(i)); wait != 0 {
				t.Fatalf("%d waits %v", i, wait)
			}
			if i == maxCallers/2 { // its generation is old after as many others
				r.take("ann")
			}
			if i == maxCallers+maxCallers/2 && r.take("ann") == 0 {
				t.Error("a caller who goes on coming was forgotten")
			}
		}
		if n := len(r.young) + len(r.older); n > 2*maxCallers {
			t.Errorf("%d callers are remembered", n)
		}
		if r.take("ann") != 0 {
			t.Error("a caller who has long been away was not forgotten")
		}
	})
}
