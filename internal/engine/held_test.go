package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// TestLeaseThatNobodyWorksOnIsGivenUp: a leaked lease is given up, whatever the cause.
func TestLeaseThatNobodyWorksOnIsGivenUp(t *testing.T) {
	for name, lose := range map[string]func(b *bed){
		// A claim that is lost and not repeated, after a permanent error.
		"claimed": func(b *bed) {
			var once atomic.Bool
			b.st.hook(func(p *probe) {
				p.onClaim = func(_ store.ClaimParams, jobs []store.Claimed, err error) ([]store.Claimed, error) {
					if len(jobs) > 0 && once.CompareAndSwap(false, true) {
						return nil, fmt.Errorf("%w: of its own making", store.ErrInvalid)
					}
					return jobs, err
				}
			})
		},
		// An outcome whose batch is refused as a whole.
		"ended": func(b *bed) {
			var once atomic.Bool
			b.st.hook(func(p *probe) {
				p.onApply = func(batch *store.Batch) error {
					if len(batch.Outcomes) > 0 && once.CompareAndSwap(false, true) {
						return fmt.Errorf("%w: of its own making", store.ErrInvalid)
					}
					return nil
				}
			})
		},
		"panicked in the store": func(b *bed) {
			var times atomic.Int64
			b.st.hook(func(p *probe) {
				p.onApply = func(batch *store.Batch) error {
					if len(batch.Outcomes) > 0 && times.Add(1) == 1 {
						panic("a bug")
					}
					return nil
				}
			})
		},
		// The store wrongly reports a lost lease.
		"denied": func(b *bed) {
			var once atomic.Bool
			b.st.hook(func(p *probe) {
				p.onApply = func(batch *store.Batch) error {
					if len(batch.Outcomes) > 0 && once.CompareAndSwap(false, true) {
						for _, o := range batch.Outcomes {
							o.Lease.Number++
						}
					}
					return nil
				}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBed(t, Config{}, func(b *bed) {
				var runs atomic.Int64
				b.handle("k", func(context.Context, Attempt) ([]byte, error) { runs.Add(1); return []byte(`1`), nil })
				id := b.enqueue(b.job("k"))
				lose(b)
				began := time.Now()
				b.run()
				b.expect(b.wait(id), store.Completed, "")
				if took := time.Since(began); took > 15*time.Second {
					t.Errorf("it took %v to notice", took)
				}
				rec := b.get(id)
				if len(rec.Attempts) != 1 || rec.Attempts[0].Reason != store.ReasonNodeLost || runs.Load() > 2 {
					t.Errorf("%d runs, attempts %+v", runs.Load(), rec.Attempts)
				}
			})
		})
	}
}

// TestRunThatTheDatabaseDoesNotHave: it is told that its lease is lost, though nothing else tells
// the node.
func TestRunThatTheDatabaseDoesNotHave(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		begun, causes := make(chan store.Lease, 2), make(chan error, 2)
		b.handle("k", func(ctx context.Context, a Attempt) ([]byte, error) {
			begun <- a.Lease()
			if a.Lease().Number > 1 {
				return nil, nil
			}
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return nil, ctx.Err()
		})
		id := b.enqueue(b.job("k"))
		b.run()
		if _, err := b.st.Rescue(t.Context(), store.RescueParams{Lost: []store.Lease{<-begun}}); err != nil {
			t.Fatal(err)
		}
		since := time.Now()
		if cause := <-causes; !errors.Is(cause, store.ErrLeaseLost) {
			t.Errorf("its context ended with %v", cause)
		}
		if took := time.Since(since); took > 15*time.Second {
			t.Errorf("it took %v to notice", took)
		}
		b.expect(b.wait(id), store.Completed, "")
	})
}

// TestAtMostOnceStaysSo: a job with one attempt is not retried because its lease has leaked.
func TestAtMostOnceStaysSo(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		var runs atomic.Int64
		h := b.handle("k", func(context.Context, Attempt) ([]byte, error) { runs.Add(1); return nil, nil })
		h.MaxAttempts = 1
		var once atomic.Bool
		b.st.hook(func(p *probe) {
			p.onApply = func(batch *store.Batch) error {
				if len(batch.Outcomes) > 0 && once.CompareAndSwap(false, true) {
					return fmt.Errorf("%w: of its own making", store.ErrInvalid)
				}
				return nil
			}
		})
		b.run()
		b.expect(b.wait(b.enqueue(b.job("k"))), store.Failed, store.ReasonCrashLoop)
		if runs.Load() != 1 {
			t.Errorf("it ran %d times", runs.Load())
		}
	})
}

// TestLongRunsAreNotGivenUp: nor jobs that wait for their slot or their commit, however often the
// node beats.
func TestLongRunsAreNotGivenUp(t *testing.T) {
	inBed(t, Config{Node: NodeConfig{Slots: 2}}, func(b *bed) {
		b.handle("k", func(context.Context, Attempt) ([]byte, error) { time.Sleep(time.Minute); return nil, nil })
		b.run()
		b.st.hook(func(p *probe) {
			p.onApply = func(batch *store.Batch) error {
				if len(batch.Outcomes) > 0 {
					time.Sleep(25 * time.Second)
				}
				return nil
			}
		})
		var ids []store.ID
		for range 6 {
			ids = append(ids, b.enqueue(b.job("k")))
		}
		for _, id := range ids {
			b.expect(b.wait(id), store.Completed, "")
			if rec := b.get(id); rec.Attempt != 1 {
				t.Errorf("attempt %d: %+v", rec.Attempt, rec.Attempts)
			}
		}
	})
}

// TestLoopThatPanicsBeginsAgain: the node goes on, and logs what happened.
func TestLoopThatPanicsBeginsAgain(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.handle("k", ok)
		var beats, claims atomic.Int64
		b.st.hook(func(p *probe) {
			p.onBeat = func() error {
				if beats.Add(1) == 2 {
					panic("in a beat")
				}
				return nil
			}
			p.onClaim = func(_ store.ClaimParams, jobs []store.Claimed, err error) ([]store.Claimed, error) {
				if claims.Add(1) == 2 {
					panic("in a claim")
				}
				return jobs, err
			}
		})
		b.run()
		id := b.enqueue(b.job("k", func(e *store.Enqueue) { e.Delay = time.Second }))
		b.expect(b.wait(id), store.Completed, "")
		time.Sleep(time.Minute)
		synctest.Wait()
		h := b.runner().Health()
		if len(h.Troubles) != 2 || h.Troubles[0].Part != "claims" || h.Troubles[1].Part != "heartbeat" {
			t.Fatalf("troubles: %+v", h.Troubles)
		}
		for _, trouble := range h.Troubles {
			if trouble.Panics != 1 || trouble.Down {
				t.Errorf("trouble: %+v", trouble)
			}
		}
		if h.Node == 0 || h.Silent > 10*time.Second {
			t.Errorf("health: %+v", h)
		}
	})
}

// TestDatabaseThatIsGoneStopsTheNode: Run returns the error.
func TestDatabaseThatIsGoneStopsTheNode(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		var cause error
		b.handle("k", func(ctx context.Context, _ Attempt) ([]byte, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return nil, cause
		})
		b.run()
		b.enqueue(b.job("k"))
		synctest.Wait()
		gone := fmt.Errorf("%w: somebody removed it", store.ErrDatabaseGone)
		b.st.hook(func(p *probe) { p.onBeat = func() error { return gone } })
		if err := <-b.ran; !errors.Is(err, store.ErrDatabaseGone) {
			t.Errorf("Run returned %v", err)
		}
		if !errors.Is(cause, store.ErrLeaseLost) {
			t.Errorf("the handler's context ended with %v", cause)
		}
		b.stop = nil
	})
}
