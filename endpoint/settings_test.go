package endpoint

import (
	"errors"
	"maps"
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// TestHeaders: each header is there once, however it is spelled.
func TestHeaders(t *testing.T) {
	t.Parallel()
	p := Push{Target: Target{URL: "https://example.com", Headers: map[string]string{"authorization": "a", "X-b": "c"}}}
	if err := p.Check(); err != nil || !maps.Equal(p.Headers, map[string]string{"Authorization": "a", "X-B": "c"}) {
		t.Errorf("%v, %v", p.Headers, err)
	}
	p.Headers = map[string]string{"authorization": "a", "AUTHORIZATION": "b"}
	if err := p.Check(); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("twice the same header: %v", err)
	}
}
