//go:build soak

package faulttest

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
)

// TestHeldFamily keeps a transaction open for half a minute that ends a parent with children, while
// a child of it ends, which has to tell it. Nobody else waits, and afterwards the family is as the
// transaction says.
func TestHeldFamily(t *testing.T) {
	t.Parallel()
	for name, e := range endings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whileHeld(t, func() story {
				var f *family
				home := &house{}
				return story{
					lasts: 30 * time.Second,
					register: func(h *held) {
						home.t, home.db, home.hf, home.tx = h.t, h.db, h.producer, h.db.sqlDB(h.t)
						home.wrap = wrapOf(h.db)
						home.handlers(h.hf)
					},
					open: func(h *held) {
						f = home.found(e.how)
						if err := e.verb(h.t.Context(), h.producer, h.tx, f.parent); err != nil {
							h.t.Fatal(err)
						}
						f.goesOn = true
						if _, err := familyNote.Send(h.t.Context(), h.producer, f.children["abandoned"], 1); err != nil {
							h.t.Fatal(err)
						}
						h.waits("the end of a child", func(ctx context.Context) error {
							return h.producer.Wait(ctx, f.children["abandoned"])
						})
					},
					after: func(h *held, committed bool) {
						if !committed {
							f.do(h.producer, e, (*sql.Tx).Commit)
						}
						f.wantEnd(e.state, e.told)
					},
				}
			})
		})
	}
}

// TestHeldRetry keeps a RetryTx open of jobs that have failed, with and without a journal.
func TestHeldRetry(t *testing.T) {
	t.Parallel()
	whileHeld(t, func() story {
		fails := holdfast.NewKind[bool, int]("fails at first", holdfast.MaxAttempts(1))
		var jobs []*holdfast.Job[int]
		return story{
			lasts: 30 * time.Second,
			register: func(h *held) {
				register(h.t, h.hf, fails, func(run *holdfast.Run, durable bool) (int, error) {
					if durable {
						if _, err := holdfast.Step(run, "one", func(context.Context) (int, error) { return 1, nil }); err != nil {
							return 0, err
						}
					}
					if run.Lease().Number == 1 {
						return 0, holdfast.Fail(errFamily)
					}
					return 7, nil
				})
			},
			open: func(h *held) {
				for _, durable := range []bool{false, true} {
					job := enqueue(h.t, h.producer, fails, durable)
					eventually(h.t, "it has failed", func() bool { return get(h.t, h.producer, job.ID).State.Finished() })
					jobs = append(jobs, job)
					results, err := h.producer.RetryTx(h.t.Context(), h.tx, "once more", job.ID)
					if err != nil || results[0].Err != nil {
						h.t.Fatal(results, err)
					}
				}
			},
			after: func(h *held, committed bool) {
				for _, job := range jobs {
					if !committed {
						if r := get(h.t, h.producer, job.ID); r.Lease.Number != 1 || len(r.Actions) != 0 || !r.State.Finished() {
							h.t.Errorf("rolled back: %s", told(r))
						}
						if _, err := h.producer.Retry(h.t.Context(), "", job.ID); err != nil {
							h.t.Fatal(err)
						}
					}
					endsAs(h, job, 7)
				}
			},
		}
	})
}
