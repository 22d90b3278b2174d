package engine

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

func TestJobRunsAndItsResultArrives(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.handle("k", ok)
		b.run()
		began := time.Now()
		id := b.enqueue(b.job("k"))
		ended := b.wait(id)
		b.expect(ended, store.Completed, "")
		if string(ended.Result) != `"ok"` {
			t.Errorf("result is %s", ended.Result)
		}
		if took := time.Since(began); took > 5*time.Millisecond {
			t.Errorf("an enqueue on the same node waits for something: %v", took)
		}
	})
}

func TestFailingJobIsRetriedWithBackoffUntilExhausted(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		var starts []time.Time
		h := b.handle("k", func(context.Context, Attempt) ([]byte, error) {
			starts = append(starts, time.Now())
			return nil, errBoom
		})
		h.MaxAttempts = 3
		h.BackoffFunc = func(attempt int) time.Duration { return time.Duration(attempt) * time.Minute }
		b.run()
		ended := b.wait(b.enqueue(b.job("k")))
		b.expect(ended, store.Failed, store.ReasonAttemptsExhausted)
		if ended.Error != "boom" {
			t.Errorf("error is %q", ended.Error)
		}
		if len(starts) != 3 {
			t.Fatalf("%d attempts instead of 3", len(starts))
		}
		for i, want := range []time.Duration{time.Minute, 2 * time.Minute} {
			if gap := starts[i+1].Sub(starts[i]); gap < want || gap > want+250*time.Millisecond {
				t.Errorf("retry %d began after %v; its backoff is %v, and it is never later than 250 ms", i+1, gap, want)
			}
		}
		if rec := b.get(ended.ID); len(rec.Attempts) != 3 || rec.Attempts[0].Reason != store.ReasonError {
			t.Errorf("attempts recorded: %+v", rec.Attempts)
		}
	})
}

func TestRetryAfterCountsAndSnoozeDoesNot(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		var attempts []int
		h := b.handle("k", func(_ context.Context, r Attempt) ([]byte, error) {
			attempts = append(attempts, r.Job().Attempt)
			switch len(attempts) {
			case 1, 2:
				return nil, &usercode.SnoozeError{Delay: time.Hour / 10}
			case 3:
				return nil, &usercode.RetryError{Delay: time.Second, Err: errBoom}
			default:
				return nil, &usercode.RetryError{Delay: time.Second}
			}
		})
		h.MaxAttempts = 2
		b.run()
		ended := b.wait(b.enqueue(b.job("k")))
		b.expect(ended, store.Failed, store.ReasonAttemptsExhausted)
		if want := []int{1, 1, 1, 2}; !slices.Equal(attempts, want) {
			t.Errorf("attempts were numbered %v, not %v", attempts, want)
		}
	})
}

func TestTerminalOutcomes(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		state  store.State
		reason store.Reason
	}{
		"Fail":   {&usercode.FailError{Err: errBoom}, store.Failed, store.ReasonTerminal},
		"Cancel": {&usercode.CancelError{Reason: "not needed"}, store.Cancelled, store.ReasonCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			inBed(t, Config{}, func(b *bed) {
				b.handle("k", func(context.Context, Attempt) ([]byte, error) { return nil, c.err })
				b.run()
				b.expect(b.wait(b.enqueue(b.job("k"))), c.state, c.reason)
			})
		})
	}
}

func TestPanicIsAnErrorWithItsStack(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.handle("k", func(context.Context, Attempt) ([]byte, error) { panic("at the disco") }).MaxAttempts = 1
		b.run()
		ended := b.wait(b.enqueue(b.job("k")))
		b.expect(ended, store.Failed, store.ReasonAttemptsExhausted)
		rec := b.get(ended.ID)
		if !strings.Contains(ended.Error, "at the disco") || !strings.Contains(rec.Attempts[0].Trace, "TestPanicIsAnError") {
			t.Errorf("error %q, trace %q", ended.Error, rec.Attempts[0].Trace)
		}
	})
}

func TestGoexitDoesNotCostTheSlot(t *testing.T) {
	inBed(t, Config{Node: NodeConfig{Slots: 1}}, func(b *bed) {
		b.handle("exits", func(context.Context, Attempt) ([]byte, error) { runtime.Goexit(); return nil, nil }).MaxAttempts = 1
		b.handle("k", ok)
		b.run()
		b.expect(b.wait(b.enqueue(b.job("exits"))), store.Failed, store.ReasonAttemptsExhausted)
		b.expect(b.wait(b.enqueue(b.job("k"))), store.Completed, "")
	})
}

func TestCancelArrivesAtARunningHandler(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.handle("k", until)
		b.run()
		id := b.enqueue(b.job("k"))
		synctest.Wait()
		began := time.Now()
		results, err := b.e.Cancel(b.t.Context(), store.CancelParams{Jobs: []store.ID{id}, Reason: "changed my mind", Actor: "me"})
		if err != nil || results[0].State != store.Running {
			t.Fatalf("cancel: %+v, %v", results, err)
		}
		ended := b.wait(id)
		b.expect(ended, store.Cancelled, store.ReasonCancelled)
		if !strings.Contains(ended.Error, "changed my mind") {
			t.Errorf("the reason is lost: %q", ended.Error)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("cancel took %v on the same node", took)
		}
	})
}

// TestCancelMeetsAClaimOnItsWay: the store has claimed the job, and its node does not know that yet
// when it is told of the request.
func TestCancelMeetsAClaimOnItsWay(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.handle("k", until)
		b.st.hook(func(p *probe) {
			p.onClaim = func(_ store.ClaimParams, jobs []store.Claimed, err error) ([]store.Claimed, error) {
				for _, c := range jobs {
					if _, err := b.e.Cancel(b.t.Context(), store.CancelParams{Jobs: []store.ID{c.Job.ID}}); err != nil {
						t.Error(err)
					}
				}
				return jobs, err
			}
		})
		b.run()
		q := b.job("k")
		q.Delay = time.Hour + time.Second // so that it is claimed, and between two beats
		id := b.enqueue(q)
		time.Sleep(q.Delay)
		began := time.Now()
		b.expect(b.wait(id), store.Cancelled, store.ReasonCancelled)
		if took := time.Since(began); took > time.Second {
			t.Errorf("cancel took %v", took)
		}
	})
}

func TestCancelFromElsewhereArrivesWithinABeat(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.handle("k", until)
		b.run()
		id := b.enqueue(b.job("k"))
		synctest.Wait()
		began := time.Now()
		if _, _, err := b.st.Cancel(b.t.Context(), store.CancelParams{Jobs: []store.ID{id}}); err != nil {
			t.Fatal(err)
		}
		b.expect(b.wait(id), store.Cancelled, store.ReasonCancelled)
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("cancel took %v across nodes", took)
		}
	})
}

func TestHandlerThatHasFinishedWinsOverCancel(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.handle("k", func(ctx context.Context, _ Attempt) ([]byte, error) {
			<-ctx.Done()
			return []byte(`1`), nil
		})
		b.run()
		id := b.enqueue(b.job("k"))
		synctest.Wait()
		if _, err := b.e.Cancel(b.t.Context(), store.CancelParams{Jobs: []store.ID{id}}); err != nil {
			t.Fatal(err)
		}
		b.expect(b.wait(id), store.Completed, "")
	})
}

func TestTimeoutEndsTheAttempt(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		var cause error
		h := b.handle("k", func(ctx context.Context, _ Attempt) ([]byte, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return nil, ctx.Err()
		})
		h.Timeout, h.MaxAttempts = time.Minute, 2
		b.run()
		id := b.enqueue(b.job("k"))
		ended := b.wait(id)
		b.expect(ended, store.Failed, store.ReasonTimeout)
		if !errors.Is(cause, usercode.ErrTimeout) {
			t.Errorf("cause is %v", cause)
		}
		if rec := b.get(id); len(rec.Attempts) != 2 || rec.Attempts[0].Reason != store.ReasonTimeout {
			t.Errorf("attempts: %+v", rec.Attempts)
		}
	})
}

func TestDeadlineHoldsForTheWholeJob(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		var runs int
		h := b.handle("k", func(context.Context, Attempt) ([]byte, error) { runs++; return nil, errBoom })
		h.BackoffFunc = func(int) time.Duration { return 4 * time.Minute }
		b.run()
		id := b.enqueue(b.job("k", func(e *store.Enqueue) { e.Job.Options.Deadline = time.Now().Add(10 * time.Minute) }))
		b.expect(b.wait(id), store.Failed, store.ReasonDeadline)
		if runs != 3 {
			t.Errorf("%d runs before the deadline instead of 3", runs)
		}
		id = b.enqueue(b.job("k", func(e *store.Enqueue) { e.Job.Options.Deadline = time.Now().Add(-time.Minute) }))
		b.expect(b.wait(id), store.Failed, store.ReasonDeadline)
		if runs != 3 {
			t.Error("an attempt began after the deadline")
		}
	})
}

func TestStuckHandlerIsReportedAndLosesItsSlot(t *testing.T) {
	inBed(t, Config{Node: NodeConfig{Slots: 1}}, func(b *bed) {
		leave := make(chan struct{})
		h := b.handle("stuck", func(context.Context, Attempt) ([]byte, error) {
			ignoreTheContext(leave)
			return []byte(`"late"`), nil
		})
		h.Timeout, h.MaxAttempts = time.Minute, 1
		b.handle("k", ok)
		b.run()
		stuck := b.enqueue(b.job("stuck"))
		synctest.Wait()
		id := b.enqueue(b.job("k"))
		began := time.Now()
		b.expect(b.wait(id), store.Completed, "")
		if took := time.Since(began); took > 71*time.Second {
			t.Errorf("the slot came free after %v", took)
		}
		b.expect(b.wait(stuck), store.Failed, store.ReasonTimeout)
		rec := b.get(stuck)
		if !strings.Contains(rec.Attempts[0].Trace, "ignoreTheContext") {
			t.Errorf("the stack does not name the handler:\n%s", rec.Attempts[0].Trace)
		}
		close(leave)
		synctest.Wait()
		if rec := b.get(stuck); rec.State != store.Failed {
			t.Error("what a handler returned late was stored")
		}
	})
}

//go:noinline
func ignoreTheContext(leave chan struct{}) { <-leave }

func TestStopWaitsForHandlersAndThenEndsThem(t *testing.T) {
	inBed(t, Config{Node: NodeConfig{Slots: 2, StopTimeout: 10 * time.Second}}, func(b *bed) {
		b.handle("short", func(context.Context, Attempt) ([]byte, error) { time.Sleep(5 * time.Second); return nil, nil })
		var cause error
		b.handle("long", func(ctx context.Context, _ Attempt) ([]byte, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return nil, cause
		})
		b.run()
		short, long, never := b.enqueue(b.job("short")), b.enqueue(b.job("long")), b.enqueue(b.job("short"))
		synctest.Wait()
		began := time.Now()
		b.halt()
		if took := time.Since(began); took < 9*time.Second || took > 11*time.Second {
			t.Errorf("stopping took %v, not the stop timeout", took)
		}
		if !errors.Is(cause, usercode.ErrShutdown) {
			t.Errorf("the long handler's cause is %v", cause)
		}
		if rec := b.get(short); rec.State != store.Completed {
			t.Errorf("the short job is %v: it had time to finish", rec.State)
		}
		if rec := b.get(long); rec.State != store.Available || rec.Attempt != 0 {
			t.Errorf("the long job is %v after %d attempts: a shutdown is not its fault", rec.State, rec.Attempt)
		}
		if rec := b.get(never); rec.State != store.Available {
			t.Errorf("the job that did not start is %v", rec.State)
		}
	})
}

func TestOutcomesAreStoredBeforeTheNodeLeaves(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.handle("k", ok)
		b.st.hook(func(p *probe) {
			p.onApply = func(batch *store.Batch) error {
				if len(batch.Outcomes) > 0 {
					time.Sleep(3 * time.Second) // a slow disk
				}
				return nil
			}
		})
		b.run()
		batch := make([]*store.Enqueue, 50)
		for i := range batch {
			batch[i] = b.job("k")
		}
		b.enqueue(batch...)
		synctest.Wait()
		b.halt()
		for _, e := range batch {
			if rec := b.get(e.Job.ID); rec.State != store.Completed {
				t.Fatalf("a job whose handler had returned is %v after the stop", rec.State)
			}
		}
	})
}

func TestForceEndsHandlersAtOnce(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.handle("k", until)
		b.run()
		b.enqueue(b.job("k"))
		synctest.Wait()
		began := time.Now()
		b.now()
		b.halt()
		if took := time.Since(began); took > time.Second {
			t.Errorf("a forced stop took %v", took)
		}
	})
}

func TestDeadNodeIsRescuedWithin25Seconds(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.handle("k", ok)
		ctx := b.t.Context()
		// Another node claims a job, beats once more, and dies.
		other, err := b.st.Join(ctx, store.NodeInfo{Name: "other"})
		if err != nil {
			t.Fatal(err)
		}
		id := b.enqueue(b.job("k"))
		jobs, err := b.st.Claim(ctx, store.ClaimParams{Node: other, Seq: 1, Namespace: "default", Kinds: []string{"k"}, Limit: 1})
		if err != nil || len(jobs) != 1 {
			t.Fatal(jobs, err)
		}
		b.run()
		time.Sleep(3 * time.Second)
		if _, err := b.st.Beat(ctx, store.BeatParams{Node: other}); err != nil {
			t.Fatal(err)
		}
		died := time.Now()
		b.expect(b.wait(id), store.Completed, "")
		if took := time.Since(died); took > 25*time.Second {
			t.Errorf("rescued after %v", took)
		}
		rec := b.get(id)
		if rec.Attempt != 2 || len(rec.Attempts) != 1 || rec.Attempts[0].Reason != store.ReasonNodeLost {
			t.Errorf("attempt %d, attempts %+v", rec.Attempt, rec.Attempts)
		}
	})
}

func TestNodeDeclaredDeadCancelsAndJoinsAgain(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		var runs atomic.Int64
		var cause error
		b.handle("k", func(ctx context.Context, _ Attempt) ([]byte, error) {
			if runs.Add(1) > 1 {
				return nil, nil
			}
			<-ctx.Done()
			cause = context.Cause(ctx)
			return []byte(`"stale"`), nil
		})
		b.run()
		id := b.enqueue(b.job("k"))
		synctest.Wait()
		was := b.get(id).Lease
		// Its beats fail for a while, and another node rescues its jobs.
		b.st.hook(func(p *probe) { p.onBeat = func() error { return store.ErrUnavailable } })
		time.Sleep(21 * time.Second)
		nodes, err := b.st.Nodes(b.t.Context())
		if err != nil || len(nodes) != 1 {
			t.Fatal(nodes, err)
		}
		rescued, err := b.st.Store.Rescue(b.t.Context(), store.RescueParams{
			Dead: []store.NodeBeat{{Node: nodes[0].ID, At: nodes[0].BeatAt}}, Limit: 10,
		})
		if err != nil || len(rescued.Jobs) != 1 {
			t.Fatal(rescued.Jobs, err)
		}
		b.st.hook(func(p *probe) { p.onBeat = nil })
		ended := b.wait(id)
		b.expect(ended, store.Completed, "")
		if ended.Result != nil {
			t.Errorf("the stale run's result was stored: %s", ended.Result)
		}
		synctest.Wait() // the stale run handles the end of its context
		if !errors.Is(cause, store.ErrLeaseLost) {
			t.Errorf("the stale run's cause is %v", cause)
		}
		rec := b.get(id)
		if rec.Lease.Node == was.Node || rec.Lease.Number <= was.Number {
			t.Errorf("lease %+v after %+v: the node must have a new id and the lease a higher number", rec.Lease, was)
		}
	})
}

func TestAnswerOfAClaimIsLost(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		var runs atomic.Int64
		b.handle("k", func(context.Context, Attempt) ([]byte, error) { runs.Add(1); return nil, nil })
		lost := 0
		b.st.hook(func(p *probe) {
			p.onClaim = func(_ store.ClaimParams, jobs []store.Claimed, err error) ([]store.Claimed, error) {
				if len(jobs) > 0 && lost < 3 {
					lost++
					return nil, store.ErrUnavailable
				}
				return jobs, err
			}
		})
		ids := make([]store.ID, 5)
		for i := range ids {
			ids[i] = b.enqueue(b.job("k"))
		}
		b.run()
		for _, id := range ids {
			b.expect(b.wait(id), store.Completed, "")
		}
		if runs.Load() != 5 || lost != 3 {
			t.Errorf("%d runs of 5 jobs after %d lost answers", runs.Load(), lost)
		}
	})
}

func TestQueueLimitsHoldOnTheNode(t *testing.T) {
	cfg := Config{Node: NodeConfig{Slots: 10, Queues: []store.QueueDemand{{Name: "slow", Limit: 2}, {Name: "default"}}}}
	inBed(t, cfg, func(b *bed) {
		var running, most atomic.Int64
		b.handle("k", func(context.Context, Attempt) ([]byte, error) {
			most.Store(max(most.Load(), running.Add(1)))
			time.Sleep(time.Second)
			running.Add(-1)
			return nil, nil
		})
		b.handle("quick", ok)
		b.run()
		var last store.ID
		for range 10 {
			last = b.enqueue(b.job("k", func(e *store.Enqueue) { e.Job.Queue = "slow" }))
		}
		other := b.enqueue(b.job("k", func(e *store.Enqueue) { e.Job.Queue = "not served" }))
		began := time.Now()
		b.wait(b.enqueue(b.job("quick")))
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("a queue at its limit held up another for %v", took)
		}
		b.wait(last)
		if most.Load() != 2 {
			t.Errorf("%d jobs of a queue with limit 2 ran at once", most.Load())
		}
		if rec := b.get(other); rec.State != store.Available {
			t.Errorf("a job of a queue that is not served is %v", rec.State)
		}
	})
}

func TestScheduledJobStartsOnTime(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		var at time.Time
		b.handle("k", func(context.Context, Attempt) ([]byte, error) { at = time.Now(); return nil, nil })
		b.run()
		for _, in := range []time.Duration{70 * time.Millisecond, 3 * time.Second, 7777 * time.Millisecond, 90 * time.Second} {
			due := time.Now().Add(in)
			b.wait(b.enqueue(b.job("k", func(e *store.Enqueue) { e.Job.RunAt = due })))
			if late := at.Sub(due); late < 0 || late > 250*time.Millisecond {
				t.Errorf("due in %v, started %v late", in, late)
			}
		}
	})
}

func TestOrderingKeyOneAtATimeInOrder(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		var order []string
		var running atomic.Int64
		b.handle("k", func(_ context.Context, r Attempt) ([]byte, error) {
			if running.Add(1) > 1 {
				t.Error("two jobs of one key at a time")
			}
			defer running.Add(-1)
			time.Sleep(time.Second)
			if string(r.Job().Args) == `1` && r.Job().Attempt == 1 {
				return nil, errBoom
			}
			order = append(order, string(r.Job().Args))
			return nil, nil
		})
		b.run()
		var ids []store.ID
		for _, n := range []string{"0", "1", "2", "3"} {
			ids = append(ids, b.enqueue(b.job("k", func(e *store.Enqueue) { e.Job.Args, e.Job.OrderingKey = []byte(n), "a" })))
		}
		for _, id := range ids {
			b.expect(b.wait(id), store.Completed, "")
		}
		if want := []string{"0", "1", "2", "3"}; !slices.Equal(order, want) {
			t.Errorf("order %v", order)
		}
	})
}

func TestIdleNodeAsksLessThanOnceASecond(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.handle("k", ok)
		b.run()
		b.wait(b.enqueue(b.job("k")))
		time.Sleep(time.Minute)
		before := b.st.calls.Load()
		time.Sleep(10 * time.Minute)
		if perSecond := float64(b.st.calls.Load()-before) / 600; perSecond >= 1 {
			t.Errorf("an idle node makes %.2f calls a second", perSecond)
		}
	})
}

func TestJobsClaimedAheadAreGivenBackWhenHandlersSlowDown(t *testing.T) {
	inBed(t, Config{Node: NodeConfig{Slots: 2}}, func(b *bed) {
		var slow atomic.Bool
		b.handle("k", func(ctx context.Context, _ Attempt) ([]byte, error) {
			if slow.Load() {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			time.Sleep(time.Millisecond)
			return nil, nil
		})
		b.run()
		batch := make([]*store.Enqueue, 400)
		for i := range batch {
			batch[i] = b.job("k")
		}
		b.enqueue(batch...)
		time.Sleep(50 * time.Millisecond)
		slow.Store(true)
		time.Sleep(3 * time.Second)
		running := 0
		for _, e := range batch {
			if b.get(e.Job.ID).State == store.Running {
				running++
			}
		}
		if running != 2 {
			t.Errorf("%d jobs are claimed; 2 run, and the others wait for half an hour", running)
		}
	})
}
