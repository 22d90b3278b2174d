package api_test

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/internal/pgtest/ready"
	"github.com/holdfastdev/holdfast/server/internal/apitest"
	"github.com/holdfastdev/holdfast/store"
)

// tampered is a database whose batches and retries are seen before they are written.
type tampered struct {
	store.Source

	apply func(*store.Batch) error
	retry func(*store.RetryParams) error
}

func (s *tampered) Open(ctx context.Context) (store.Store, error) {
	of, err := s.Source.Open(ctx)
	return &tamperedStore{of, s}, err
}

type tamperedStore struct {
	store.Store

	by *tampered
}

func (s *tamperedStore) Apply(ctx context.Context, b *store.Batch) error {
	if s.by.apply != nil {
		if err := s.by.apply(b); err != nil {
			return err
		}
	}
	return s.Store.Apply(ctx, b)
}

func (s *tamperedStore) Retry(ctx context.Context, p store.RetryParams) ([]store.Result, []store.Wake, error) {
	if s.by.retry != nil {
		if err := s.by.retry(&p); err != nil {
			return nil, nil, err
		}
	}
	return s.Store.Retry(ctx, p)
}

// onTampered runs a test on both stores, each of which is tampered with.
func onTampered(t *testing.T, test func(s *apitest.Server, by *tampered)) {
	t.Helper()
	for name, source := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { t.Helper(); return filepath.Join(t.TempDir(), "api.db") },
		"postgres": func(t *testing.T) string { pgtest.InSoak(t); return ready.Database(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			by := &tampered{Source: sourceOf(source(t))}
			test(apitest.On(t, by), by)
		})
	}
}

// TestABackfillThatFailsMidwayGoesOn: what it has enqueued by then is not enqueued again.
func TestABackfillThatFailsMidwayGoesOn(t *testing.T) {
	t.Parallel()
	onTampered(t, func(s *apitest.Server, by *tampered) {
		s.OK(http.StatusCreated, http.MethodPost, "/schedules", `{"name":"often","every":"60s","overlap":"allow","job":{"kind":"mail"}}`)
		var fires atomic.Int64
		by.apply = func(b *store.Batch) error {
			if len(b.Fires) > 0 && fires.Add(1) == 2 {
				b.Fires[0].Err = store.NoSchedule("default", "often")
			}
			return b.Refusal()
		}
		const times = `{"from":"2026-01-01T00:00:00Z","to":"2026-01-01T10:00:00Z"}` // 600, more than one transaction takes
		s.Refused(http.StatusNotFound, "not_found", http.MethodPost, "/schedules/often/backfill", times, keyHeader, "fill")
		a := same(s, http.StatusOK, "/schedules/often/backfill", times, "fill")
		if a.JSON["times"] != 600.0 || a.JSON["enqueued"] != 100.0 {
			s.Errorf("repeated: %s", a.Text)
		}
		if n := s.OK(http.StatusOK, http.MethodGet, "/jobs/count?kind=mail", nil); n.JSON["count"] != 600.0 {
			s.Errorf("%s jobs", n.Text)
		}
		s.Refused(http.StatusUnprocessableEntity, "idempotency_key_reused", http.MethodPost, "/schedules/often/backfill",
			`{"from":"2026-01-01T00:00:00Z","to":"2026-01-01T05:00:00Z"}`, keyHeader, "fill")
	})
}

// TestARedriveThatFailsMidwayIsNotForgotten: a repeated one would let the first job run again.
func TestARedriveThatFailsMidwayIsNotForgotten(t *testing.T) {
	t.Parallel()
	onTampered(t, func(s *apitest.Server, by *tampered) {
		fails := holdfast.NewKind[string, string]("mail")
		err := fails.Handle(s.Client, func(*holdfast.Run, string) (string, error) { return "", holdfast.Fail(errors.New("no such mailbox")) })
		if err == nil {
			err = s.Client.Start(s.Context())
		}
		for range 2 {
			if err != nil {
				break
			}
			var job *holdfast.Job[string]
			if job, err = fails.Enqueue(s.Context(), s.Client, "ann"); err == nil {
				_, _ = job.Wait(s.Context()) // it has failed
			}
		}
		if err != nil {
			s.Fatal(err)
		}
		var retries atomic.Int64
		by.retry = func(*store.RetryParams) error {
			if retries.Add(1) == 2 {
				return store.ErrBusy
			}
			return nil
		}
		slowly := map[string]any{"all": true, "rate": 10} // one after the other
		s.Refused(http.StatusServiceUnavailable, "busy", http.MethodPost, "/dead/redrive", slowly, keyHeader, "redrive")
		s.Refused(http.StatusConflict, "request_under_way", http.MethodPost, "/dead/redrive", slowly, keyHeader, "redrive")
		if n := retries.Load(); n != 2 {
			s.Errorf("%d retries", n)
		}
		retries.Store(1) // the first one fails
		s.Refused(http.StatusServiceUnavailable, "busy", http.MethodPost, "/dead/redrive", slowly, keyHeader, "nothing was done")
		s.OK(http.StatusOK, http.MethodPost, "/dead/redrive", slowly, keyHeader, "nothing was done")
	})
}
