package workers_test

import (
	"context"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/internal/pgtest/ready"
	"github.com/holdfastdev/holdfast/server/internal/apitest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// slowly is a database whose first claims that find something take longer than a permit lives.
type slowly struct {
	store.Source

	left atomic.Int32
}

func (s *slowly) Open(ctx context.Context) (store.Store, error) {
	st, err := s.Source.Open(ctx)
	return &slowStore{st, s}, err
}

type slowStore struct {
	store.Store

	of *slowly
}

func (s *slowStore) Claim(ctx context.Context, p store.ClaimParams) ([]store.Claimed, error) {
	jobs, err := s.Store.Claim(ctx, p)
	if len(jobs) > 0 && s.of.left.Add(-1) >= 0 {
		time.Sleep(200 * time.Millisecond) //nolint:forbidigo // the slow answer itself
	}
	return jobs, err
}

// TestLateClaim: a job whose claim took longer than its permit lives is not handed out, and the
// poll claims it with the next permit.
func TestLateClaim(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]func(*testing.T) store.Source{
		"sqlite":   func(t *testing.T) store.Source { t.Helper(); return sqlite.File(filepath.Join(t.TempDir(), "api.db")) },
		"postgres": func(t *testing.T) store.Source { pgtest.InSoak(t); return postgres.URL(ready.Database(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lateClaim(t, &slowly{Source: source(t)})
		})
	}
}

func lateClaim(t *testing.T, db *slowly) {
	t.Helper()
	s := apitest.On(t, db)
	s.OK(201, http.MethodPut, "/limits/r", `{"rate":"2/s","burst":2,"kinds":{"mail":1}}`)
	w := register(s, three)
	db.left.Store(2)
	s.OK(201, post, "/jobs", job{"kind": "mail"})
	var jobs []job
	for polls := 0; len(jobs) == 0 && polls < 10; polls++ { // on a busy machine all claims of one may be late
		jobs = w.poll(1, "9s")
	}
	if len(jobs) != 1 || db.left.Load() >= 0 {
		t.Errorf("after late claims, of which %d are left, the poll gets %v", db.left.Load(), jobs)
	}
}
