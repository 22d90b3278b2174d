package copier_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/internal/copier"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest"
)

// watched is a source or a target that calls a function before each call of a copy.
type watched struct {
	store.Store
	store.Copies

	before func(call string)
}

func (w *watched) Survey(ctx context.Context) (store.Survey, error) {
	w.before("survey")
	return w.Copies.Survey(ctx)
}

func (w *watched) Export(ctx context.Context, params store.ExportParams) (store.Exported, error) {
	w.before("export")
	return w.Copies.Export(ctx, params)
}

func (w *watched) Import(ctx context.Context, params store.ImportParams) error {
	w.before("import")
	return w.Copies.Import(ctx, params)
}

// TestAWriterBesideACopy: a client enqueues in the source before each call of the copy, jobs with
// new ids and jobs whose ids the copy has passed by. Whether or not it needs to be repeated, a copy
// that says that it is complete has all jobs of before its last look at the source.
func TestAWriterBesideACopy(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]storetest.Factory{"SQLite": onSQLite, "PostgreSQL": onPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := storetest.NewClock()
			source, target := open(t, clock), onSQLite(t, clock)
			var late []store.ID
			for range 40 {
				late = append(late, uuid.Must(uuid.NewV7()))
			}
			many(t, source, 1200)
			var mu sync.Mutex
			var enqueued, looked []store.ID // so far, and before the last look
			writes := true
			write := func(call string) {
				mu.Lock()
				defer mu.Unlock()
				if call == "survey" {
					looked = append(looked[:0], enqueued...)
				}
				if !writes {
					return
				}
				id := uuid.Must(uuid.NewV7())
				if len(enqueued)%2 == 0 && len(late) > 0 {
					id, late = late[0], late[1:]
				}
				many(t, source, 1, id)
				enqueued = append(enqueued, id)
			}
			from := &watched{Store: source, Copies: facet(source), before: write}
			to := &watched{Store: target, Copies: facet(target), before: func(call string) {
				if call == "import" {
					write(call)
				}
			}}
			tries := 0
			for ; tries < 5; tries++ {
				if writes = tries < 3; !writes { // as people are told
					looked = nil
				}
				_, err := copier.Copy(t.Context(), from, to, quietly)
				if err == nil {
					break
				}
				if !errors.Is(err, store.ErrConflict) {
					t.Fatal(err)
				}
			}
			if tries == 0 || tries == 5 {
				t.Errorf("the copy was tried %d times", tries+1)
			}
			for _, id := range looked {
				if _, err := target.Get(t.Context(), "", id); err != nil {
					t.Errorf("a job that was there before the last look: %v", err)
				}
			}
		})
	}
}

// TestASenderBesideACopy: a client sends a signal to a job of the source before each call of the
// copy, be it copied already or not. A copy that says that it is complete has all signals of before
// its last look at the source.
func TestASenderBesideACopy(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]storetest.Factory{"SQLite": onSQLite, "PostgreSQL": onPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := storetest.NewClock()
			source := open(t, clock)
			jobs := []store.ID{uuid.Must(uuid.NewV7())}
			many(t, source, 1, jobs...)
			many(t, source, 1200)
			jobs = append(jobs, uuid.Must(uuid.NewV7()))
			many(t, source, 1, jobs[1])
			sent, sends := 0, true
			send := func(string) {
				if sends {
					signal(t, source, jobs[sent%2])
					sent++
				}
			}
			copied := func(target store.Store) error {
				from := &watched{Store: source, Copies: facet(source), before: send}
				_, err := copier.Copy(t.Context(), from, &watched{Store: target, Copies: facet(target), before: send}, quietly)
				return err
			}
			first := onSQLite(t, clock)
			if err := copied(first); !errors.Is(err, store.ErrConflict) || sent < 5 {
				t.Errorf("beside a client that has sent %d signals: %v", sent, err)
			}
			sends = false
			if err := copied(first); !errors.Is(err, store.ErrConflict) {
				t.Errorf("into a target of before: %v", err)
			}
			target := onSQLite(t, clock)
			if err := copied(target); err != nil {
				t.Fatal(err)
			}
			got := 0
			for _, id := range jobs {
				record, err := target.Get(t.Context(), "", id)
				if err != nil {
					t.Fatal(err)
				}
				got += int(record.Messages)
			}
			if got != sent {
				t.Errorf("%d signals were copied of %d", got, sent)
			}
			signal(t, source, jobs[0])
			if err := copied(target); !errors.Is(err, store.ErrConflict) {
				t.Errorf("after a signal that came later: %v", err)
			}
		})
	}
}

// signal sends one.
func signal(t *testing.T, s store.Store, job store.ID) {
	t.Helper()
	q := &store.Send{Job: job, Message: store.Message{Kind: store.MessageSignal, Name: "paid", Data: []byte(`7`)}}
	if err := store.ApplyEach(t.Context(), s, &store.Batch{Sends: []*store.Send{q}}); err != nil || q.Err != nil {
		t.Fatal(err, q.Err)
	}
}

// TestOneTooFewAndOneTooMany: a job comes to the source whose id the copy has passed by, and
// another one to the target: the counts are the same, and the jobs are not.
func TestOneTooFewAndOneTooMany(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]storetest.Factory{"SQLite": onSQLite, "PostgreSQL": onPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := storetest.NewClock()
			source, target := onSQLite(t, clock), open(t, clock)
			late := uuid.Must(uuid.NewV7())
			many(t, source, 900)
			_, err := copier.Copy(t.Context(), source, between(target, func() {
				many(t, source, 1, late)
				many(t, target, 1)
			}), quietly)
			if !errors.Is(err, store.ErrConflict) {
				t.Errorf("the copy returned %v", err)
			}
			if _, err := copier.Copy(t.Context(), source, target, quietly); !errors.Is(err, store.ErrConflict) {
				t.Errorf("the second copy returned %v", err)
			}
		})
	}
}
