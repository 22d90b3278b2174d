package holdfast

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// replaced is what became of the holder of a key, by one of the two.
func (b *sqlBed) replaced(t *testing.T, holder ID, replace func(ctx context.Context, tx pgx.Tx) (ID, bool)) (m made) {
	t.Helper()
	err := b.undone(t.Context(), func(tx pgx.Tx) (err error) {
		id, was := replace(t.Context(), tx)
		if id != holder {
			t.Errorf("the holder is %s, not %s", id, holder)
		}
		call := &enqCall{RunAt: new(time.Unix(1, 0))}
		m, err = b.read(t.Context(), tx, call, holder)
		if !was {
			m.err = "not replaced"
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestReplaceInSQL: the function puts new args and another run time on the same jobs as the
// library, and moves them to the same place.
//
//nolint:tparallel // its parts use one connection
func TestReplaceInSQL(t *testing.T) {
	t.Parallel()
	b := newSQLBed(t)
	ctx := t.Context()
	past, future := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)
	start := func(t *testing.T, id ID) store.Claimed {
		t.Helper()
		node, err := b.client.engine.Store.Join(ctx, store.NodeInfo{Name: "test"})
		if err != nil {
			t.Fatal(err)
		}
		runs, err := b.client.engine.Store.Claim(ctx, store.ClaimParams{
			Node: node, Seq: 1, Namespace: "default", Kinds: []string{t.Name()}, Limit: 10,
		})
		if err != nil || len(runs) != 1 || runs[0].Job.ID != id {
			t.Fatalf("claimed %+v, %v", runs, err)
		}
		return runs[0]
	}
	end := func(t *testing.T, run store.Claimed, o store.Outcome) {
		t.Helper()
		o.Lease, o.HasUnique, o.HasOrdering = run.Lease, true, run.Job.OrderingKey != ""
		if err := store.ApplyEach(ctx, b.client.engine.Store, &store.Batch{Outcomes: []*store.Outcome{&o}}); err != nil || o.Err != nil {
			t.Fatal(err, o.Err)
		}
	}
	for name, prepare := range map[string]func(t *testing.T, holder func(opts ...EnqueueOption) ID) ID{
		"available": func(_ *testing.T, holder func(...EnqueueOption) ID) ID { return holder() },
		"scheduled": func(_ *testing.T, holder func(...EnqueueOption) ID) ID { return holder(RunAt(future)) },
		"in line":   func(_ *testing.T, holder func(...EnqueueOption) ID) ID { return holder(OrderingKey("a")) },
		"scheduled, in line": func(_ *testing.T, holder func(...EnqueueOption) ID) ID {
			return holder(OrderingKey("b"), RunAt(future))
		},
		"in another queue": func(_ *testing.T, holder func(...EnqueueOption) ID) ID { return holder(Queue("other"), Priority(4)) },
		"first of the line": func(t *testing.T, holder func(...EnqueueOption) ID) ID {
			id := holder(OrderingKey("c"))
			if _, err := b.client.engine.Store.Promote(ctx, 10); err != nil {
				t.Fatal(err)
			}
			return id
		},
		"running": func(t *testing.T, holder func(...EnqueueOption) ID) ID {
			id := holder()
			start(t, id)
			return id
		},
		"retryable": func(t *testing.T, holder func(...EnqueueOption) ID) ID {
			id := holder()
			end(t, start(t, id), store.Outcome{State: store.Retryable, Reason: store.ReasonError, Delay: time.Hour})
			return id
		},
		"completed": func(t *testing.T, holder func(...EnqueueOption) ID) ID {
			id := holder()
			end(t, start(t, id), store.Outcome{State: store.Completed})
			return id
		},
		"held": func(t *testing.T, holder func(...EnqueueOption) ID) ID {
			id := holder()
			if _, _, err := b.client.engine.Store.PauseJobs(ctx, store.PauseJobsParams{Jobs: []store.ID{id}}); err != nil {
				t.Fatal(err)
			}
			return id
		},
		"with a fair key": func(_ *testing.T, holder func(...EnqueueOption) ID) ID {
			return holder(access.FairKey("a").(EnqueueOption)) //nolint:errcheck // always one
		},
		"of another kind": func(t *testing.T, _ func(...EnqueueOption) ID) ID {
			job, err := NewKind[int, int]("other").Enqueue(ctx, b.client, 1, Unique{ByKey: t.Name()}, RunAt(future))
			if err != nil {
				t.Fatal(err)
			}
			return job.ID
		},
	} {
		t.Run(name, func(t *testing.T) {
			kind := NewKind[int, int](t.Name())
			unique := Unique{ByKey: t.Name(), While: []store.State{store.Running, store.Retryable, store.Waiting, store.Completed}}
			id := prepare(t, func(opts ...EnqueueOption) ID {
				job, err := kind.Enqueue(ctx, b.client, 1, append(opts, unique)...)
				if err != nil {
					t.Fatal(err)
				}
				return job.ID
			})
			unique.OnConflict = store.Replace
			for _, at := range []time.Time{past, future} {
				byGo := b.replaced(t, id, func(ctx context.Context, tx pgx.Tx) (ID, bool) {
					job, err := kind.EnqueueTx(ctx, b.client, postgres.Tx(tx), 2, unique, RunAt(at), Metadata(map[string]int{"m": 1}))
					if err != nil {
						t.Fatal(err)
					}
					return job.ID, job.Replaced
				})
				bySQL := b.replaced(t, id, func(ctx context.Context, tx pgx.Tx) (ID, bool) {
					var id string
					var existing, replaced bool
					err := tx.QueryRow(ctx, "SELECT id::text, existing, replaced FROM "+b.schema+
						`.enqueue($1, '2', unique_key => $1, unique_while => '{running,retryable,waiting,completed}', on_conflict => 'replace',
						run_at => $2, metadata => '{"m":1}')`, t.Name(), at).Scan(&id, &existing, &replaced)
					if err != nil || !existing {
						t.Fatal(existing, err)
					}
					return uuidOf(id), replaced
				})
				if byGo != bySQL {
					t.Errorf("at %v the library makes\n     %+v\nand SQL\n     %+v", at, byGo, bySQL)
				}
				if byGo.rows == "" {
					t.Error("nothing was read")
				}
			}
		})
	}
}
