package server_test

import (
	"errors"
	"testing"

	"github.com/holdfastdev/holdfast/server"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/store"
)

// TestRateOptions: what is no rate is refused.
func TestRateOptions(t *testing.T) {
	t.Parallel()
	nan := 0.0
	nan /= nan
	for _, o := range []server.Options{
		{RateBurst: 1},
		{RateLimit: -1},
		{RateLimit: 1e6},
		{RateLimit: nan},
		{RateLimit: 1, RateBurst: -1},
		{RateLimit: 1, RateBurst: 1e6},
		{RateLimit: 1e-9},
	} {
		o.Authenticate = access.Anyone("anyone")
		if _, err := server.Handler(nil, o); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%v a second, %d at once: %v", o.RateLimit, o.RateBurst, err)
		}
	}
}
