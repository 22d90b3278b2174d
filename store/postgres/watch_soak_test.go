//go:build soak

package postgres_test

import (
	"testing"

	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

func TestWatchSurvivesARestart(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Private(t)
	s := open(t, postgres.Config{URL: cluster.URL(""), MaxConns: 2})
	w := watch(t, s)
	eventually(t, "wake-ups", func() bool { return s.Traits().Wakeups && w.count(isAll) == 1 })
	cluster.Stop(t)
	eventually(t, "the loss is noticed", func() bool { return !s.Traits().Wakeups })
	cluster.Start(t)
	eventually(t, "wake-ups again, and a look at everything", func() bool { return s.Traits().Wakeups && w.count(isAll) == 2 })
}

// TestProbeFindsAPooler: LISTEN is accepted and notifications never arrive, as behind a pooler in
// transaction mode.
func TestProbeFindsAPooler(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	p := newProxy(t, config.URL)
	p.dropNotifications.Store(true)
	config.URL = p.url
	s := open(t, config)
	w := watch(t, s)
	eventually(t, "the probe is given up", func() bool { return p.deaf.Load() > 0 })
	if s.Traits().Wakeups || w.count(func(store.Wake) bool { return true }) != 0 {
		t.Fatalf("wake-ups are promised: %v, %+v", s.Traits(), w.wakes)
	}
}
