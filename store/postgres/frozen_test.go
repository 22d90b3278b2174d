package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store/postgres"
)

// TestCloseBesideAFrozenServer: calls that were given up ask the server to cancel them, which
// answers nothing. The end does not wait for that.
func TestCloseBesideAFrozenServer(t *testing.T) {
	t.Parallel()
	direct := used(t, nil)
	p := newProxy(t, direct.URL)
	config := postgres.Config{URL: p.url, SchemaName: direct.SchemaName}
	s := open(t, config)
	p.frozen.Store(true)
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if _, err := s.Queues(ctx, "default"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call to a frozen server: %v", err)
		}
		cancel()
	}
	began := time.Now()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 10*time.Second { // the driver gives such connections 15 s
		t.Errorf("the end took %v", took)
	}
}
