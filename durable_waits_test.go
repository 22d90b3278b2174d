package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// countdown is a kind whose jobs last as many seconds as their args say, and fail if that is odd.
func countdown(f *flow) holdfast.Kind[int, string] {
	f.t.Helper()
	kind := holdfast.NewKind[int, string]("countdown", holdfast.MaxAttempts(1))
	err := kind.Handle(f.hf, func(run *holdfast.Run, seconds int) (string, error) {
		select {
		case <-time.After(time.Duration(seconds) * time.Second):
		case <-run.Done():
			return "", run.Err()
		}
		if seconds%2 == 1 {
			return "", fmt.Errorf("%d is odd", seconds)
		}
		return strconv.Itoa(seconds), nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.run()
	return kind
}

func enqueueAll(f *flow, kind holdfast.Kind[int, string], seconds ...int) []holdfast.ID {
	f.t.Helper()
	jobs, err := kind.EnqueueMany(f.t.Context(), f.hf, seconds)
	if err != nil {
		f.t.Fatal(err)
	}
	ids := make([]holdfast.ID, len(jobs))
	for i, job := range jobs {
		ids[i] = job.ID
	}
	return ids
}

func TestWaitAll(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		ids := enqueueAll(f, countdown(f), 6, 2, 3, 1, 4)
		ids = append(ids, ids[1])
		ended, err := f.hf.WaitAll(t.Context(), ids...)
		var failed *holdfast.JobError
		if !errors.As(err, &failed) || failed.ID != ids[2] {
			t.Errorf("the first that failed is %s, and the error %v", ids[2], err)
		}
		var got []string
		for i := range ended {
			if ended[i].ID != ids[i] {
				t.Errorf("number %d is %s, not %s", i, ended[i].ID, ids[i])
			}
			got = append(got, fmt.Sprint(ended[i].State, string(ended[i].Result), ended[i].Error, ended[i].Err() == nil))
		}
		want := `[completed"6"true completed"2"true failed3 is oddfalse failed1 is oddfalse completed"4"true completed"2"true]`
		if fmt.Sprint(got) != want {
			t.Errorf("got  %v\nwant %s", got, want)
		}
		if ended, err := f.hf.WaitAll(t.Context(), ids[0], ids[4]); err != nil || len(ended) != 2 {
			t.Errorf("of those that completed: %v, %v", ended, err)
		}
		if ended, err := f.hf.WaitAll(t.Context()); err != nil || len(ended) != 0 {
			t.Errorf("of none: %v, %v", ended, err)
		}
		missing := holdfast.NewID()
		time.Sleep(time.Minute)
		if ended, err := f.hf.WaitAll(t.Context(), ids[0], missing); !errors.Is(err, holdfast.ErrNotFound) || ended != nil {
			t.Errorf("of one that is not there: %v, %v", ended, err)
		}
	})
}

func TestEndsComeAsJobsEnd(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		missing := holdfast.NewID()
		time.Sleep(time.Minute)
		ids := enqueueAll(f, countdown(f), 30, 20, 10, 15)
		began := time.Now()
		var order []string
		for ended, err := range f.hf.Ends(t.Context(), append(ids, missing, ids[2])...) {
			if (ended.ID == missing) != errors.Is(err, holdfast.ErrNotFound) {
				t.Errorf("%s: %v", ended.ID, err)
			}
			order = append(order, fmt.Sprint(time.Since(began).Round(time.Second), ended.State))
		}
		want := "[0s state(0) 10s completed 10s completed 15s failed 20s completed 30s completed]"
		if got := fmt.Sprint(order); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

func TestEndsStop(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		ids := enqueueAll(f, countdown(f), 2, 4, 1000)
		seen := 0
		for _, err := range f.hf.Ends(t.Context(), ids...) {
			if seen++; err != nil || seen == 2 {
				break
			}
		}
		if seen != 2 {
			t.Errorf("%d were seen before it was broken off", seen)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var last error
		for _, err := range f.hf.Ends(ctx, ids...) {
			last = err
		}
		if !errors.Is(last, context.DeadlineExceeded) {
			t.Errorf("it ended with %v", last)
		}
		if _, err := f.hf.WaitAll(ctx, ids...); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("WaitAll: %v", err)
		}
		waiting := make(chan error, 1)
		go func() { waiting <- f.hf.Wait(context.WithoutCancel(t.Context()), ids[2]) }()
		synctest.Wait()
		f.close()
		if err := <-waiting; err != nil && !errors.Is(err, holdfast.ErrClosed) {
			t.Errorf("a wait on a client that is closed: %v", err)
		}
	})
}

// TestTimeoutNamesWhatWasWaitedFor: once, and in the same words when it is replayed.
func TestTimeoutNamesWhatWasWaitedFor(t *testing.T) {
	t.Parallel()
	paid, limit := holdfast.NewSignal[bool]("paid"), holdfast.WaitAtMost(time.Minute)
	for want, wait := range map[string]func(run *holdfast.Run) error{
		`holdfast: wait timed out: signal "paid"`: func(run *holdfast.Run) error {
			_, err := paid.Wait(run, limit)
			return err
		},
		`holdfast: wait timed out: callback "bank"`: func(run *holdfast.Run) error {
			c, err := run.Callback("bank")
			if err != nil {
				return err
			}
			return c.Wait(run, nil, limit)
		},
		`holdfast: wait timed out: condition "all are there"`: func(run *holdfast.Run) error {
			return run.WaitUntil("all are there", func() bool { return false }, limit)
		},
	} {
		inFlow(t, func(t *testing.T, f *flow) {
			runs := 0
			job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
				err := wait(run)
				if !errors.Is(err, holdfast.ErrWaitTimeout) || err.Error() != want {
					return 0, fmt.Errorf("the wait: %w", err)
				}
				if err := run.Sleep(time.Hour); err != nil { // after which the wait is replayed
					return 0, err
				}
				runs++
				return 0, holdfast.Fail(err)
			})
			var failed *holdfast.JobError
			if _, err := job.Wait(t.Context()); !errors.As(err, &failed) || failed.Message != want || runs != 1 {
				t.Errorf("%v in %d runs, want %s", err, runs, want)
			}
		})
	}
}

// TestHeartbeatsOfCallbacks: however many come, the job sleeps until its time is over, and goes on
// to wait by the last of them; of those within a second one is kept.
func TestHeartbeatsOfCallbacks(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		tokens := make(chan string, 100)
		job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
			c, err := run.Callback("payment")
			if err != nil {
				return 0, err
			}
			tokens <- c.Token // each attempt
			var paid int
			return paid, c.Wait(run, &paid, holdfast.WaitAtMost(time.Hour))
		})
		token := <-tokens
		for range 540 { // for 90 minutes
			for range 5 {
				if err := f.hf.HeartbeatCallback(t.Context(), token); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(10 * time.Second)
		}
		if n := len(tokens); n != 1 {
			t.Errorf("it has begun %d more times within 90 minutes of a limit of one hour", n)
		}
		whole, err := f.hf.Journal(t.Context(), job.ID)
		if err != nil || len(whole.Messages) != 540 {
			t.Errorf("%d heartbeats are kept, %v", len(whole.Messages), err)
		}
		time.Sleep(50 * time.Minute)
		if record, err := job.Get(t.Context()); err != nil || record.State.Finished() {
			t.Fatalf("50 minutes after the last heartbeat: %v, %v", record.State, err)
		}
		time.Sleep(11 * time.Minute)
		if record, err := job.Get(t.Context()); err != nil || record.State != store.Retryable && record.State != store.Failed {
			t.Errorf("an hour after the last heartbeat: %v, %v", record.State, err)
		}
	})
}

// TestHeartbeatsBesideWork: a run that was not parked when the time of its wait was over, because
// another strand of it was at work, sees the heartbeats that came meanwhile.
func TestHeartbeatsBesideWork(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]bool{"answered": true, "left": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inFlow(t, func(t *testing.T, f *flow) {
				tokens := make(chan string, 1)
				job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
					c, err := run.Callback("payment")
					if err != nil {
						return 0, err
					}
					tokens <- c.Token
					work, err := holdfast.Go(run, "work", func(run *holdfast.Run) (int, error) {
						return holdfast.Step(run, "work", func(context.Context) (int, error) {
							time.Sleep(100 * time.Minute)
							return 1, nil
						})
					})
					if err != nil {
						return 0, err
					}
					var paid int
					if err = c.Wait(run, &paid, holdfast.WaitAtMost(time.Hour)); errors.Is(err, holdfast.ErrWaitTimeout) {
						paid, err = -1, nil
					}
					if err != nil {
						return 0, err
					}
					_, err = work.Wait(run)
					return paid, err
				})
				token, began := <-tokens, time.Now()
				for range 2 {
					time.Sleep(40 * time.Minute)
					if err := f.hf.HeartbeatCallback(t.Context(), token); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(50 * time.Minute)
				want, after := -1, 140*time.Minute
				if answer {
					want, after = 12, 130*time.Minute
					if err := f.hf.CompleteCallback(t.Context(), token, 12); err != nil {
						t.Fatal(err)
					}
				}
				got := result(f, job)
				if waited := time.Since(began); got != want || waited < after || waited > after+time.Minute {
					t.Errorf("it got %d after %v", got, waited)
				}
			})
		})
	}
}

// TestHeartbeatBeforeTheWait: a heartbeat from before a wait began does not make it shorter, also
// if the run begins again meanwhile.
func TestHeartbeatBeforeTheWait(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		tokens := make(chan string, 1)
		began := time.Now()
		job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
			c, err := run.Callback("payment")
			if err != nil {
				return 0, err
			}
			err = holdfast.Do(run, "work", func(context.Context) error {
				tokens <- c.Token
				time.Sleep(50 * time.Minute)
				return nil
			})
			if err != nil {
				return 0, err
			}
			listen, err := holdfast.Go(run, "listen", func(run *holdfast.Run) (int, error) { return wake.Wait(run) })
			if err != nil {
				return 0, err
			}
			if err = c.Wait(run, nil, holdfast.WaitAtMost(time.Hour)); errors.Is(err, holdfast.ErrWaitTimeout) {
				return listen.Wait(run)
			}
			return 0, err
		})
		token := <-tokens
		time.Sleep(5 * time.Minute)
		if err := f.hf.HeartbeatCallback(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Until(began.Add(66 * time.Minute)))
		if _, err := wake.Send(t.Context(), f.hf, job.ID, 1); err != nil {
			t.Fatal(err)
		}
		got := result(f, job)
		if waited := time.Since(began); got != 1 || waited < 110*time.Minute || waited > 111*time.Minute {
			t.Errorf("it got %d after %v", got, waited)
		}
	})
}

// TestSignalThatATimeoutReads: what comes while a run is at work, and is read when one of its waits
// times out, is heard by the one that waits for it, though the run parks afterwards.
func TestSignalThatATimeoutReads(t *testing.T) {
	t.Parallel()
	works := func(d time.Duration) func(context.Context) error {
		return func(context.Context) error {
			time.Sleep(d)
			return nil
		}
	}
	looks := func(run *holdfast.Run) error {
		if err := holdfast.Do(run, "work", works(95*time.Minute)); err != nil {
			return err
		}
		_, _, err := other.TryReceive(run)
		return err
	}
	waits := func(run *holdfast.Run) error {
		_, err := holdfast.Go(run, "work", func(run *holdfast.Run) (int, error) {
			return 0, holdfast.Do(run, "work", works(95*time.Minute))
		})
		if err != nil {
			return err
		}
		c, err := run.Callback("payment")
		if err != nil {
			return err
		}
		if err = c.Wait(run, nil, holdfast.WaitAtMost(time.Hour)); errors.Is(err, holdfast.ErrWaitTimeout) {
			return nil
		}
		return err
	}
	for name, reads := range map[string]func(run *holdfast.Run) error{"a callback": waits, "a look": looks} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inFlow(t, func(t *testing.T, f *flow) {
				f.close()
				f.st = slowJournals{f.st}
				f.open()
				job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
					listen, err := holdfast.Go(run, "listen", func(run *holdfast.Run) (int, error) { return wake.Wait(run) })
					if err != nil {
						return 0, err
					}
					if err := reads(run); err != nil {
						return 0, err
					}
					return listen.Wait(run)
				})
				time.Sleep(90 * time.Minute)
				if _, err := wake.Send(t.Context(), f.hf, job.ID, 7); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Minute)
				if record, err := job.Get(t.Context()); err != nil || record.State != store.Completed {
					t.Errorf("after its work: %+v, %v", record.Wait, err)
					if err := job.Cancel(t.Context(), ""); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

// slowJournals takes a second to read a journal, in which other strands of the run go on.
type slowJournals struct{ store.Store }

func (s slowJournals) Journals(ctx context.Context, namespace string, ids []store.ID) ([]store.Journal, error) {
	time.Sleep(time.Second)
	return s.Store.Journals(ctx, namespace, ids)
}

var (
	wake  = holdfast.NewSignal[int]("wake")
	other = holdfast.NewSignal[int]("other")
)

// TestRequestThatAnotherStrandReads: a request for a strand that waits, which another strand reads
// once it has answered one of its own, is handled, though the run could park.
func TestRequestThatAnotherStrandReads(t *testing.T) {
	t.Parallel()
	slow, quick := holdfast.NewUpdate[int, int]("slow"), holdfast.NewUpdate[int, int]("quick")
	inFlow(t, func(t *testing.T, f *flow) {
		job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
			listen, err := holdfast.Go(run, "listen", func(run *holdfast.Run) (int, error) {
				err := quick.Handle(run, nil, func(_ *holdfast.Run, n int) (int, error) { return n + 1, nil })
				if err != nil {
					return 0, err
				}
				return wake.Wait(run)
			})
			if err != nil {
				return 0, err
			}
			err = slow.Handle(run, nil, func(run *holdfast.Run, n int) (int, error) {
				return n + 2, holdfast.Do(run, "work", func(context.Context) error {
					time.Sleep(10 * time.Minute)
					return nil
				})
			})
			if err != nil {
				return 0, err
			}
			if _, err := other.Wait(run); err != nil {
				return 0, err
			}
			return listen.Wait(run)
		})
		answers := make(chan string, 2)
		call := func(u holdfast.Update[int, int]) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			got, err := u.Call(ctx, f.hf, job.ID, 1)
			answers <- fmt.Sprint(u.Name(), " ", got, " ", err)
		}
		go call(slow)
		time.Sleep(5 * time.Minute)
		go call(quick)
		got := []string{<-answers, <-answers}
		slices.Sort(got)
		if want := []string{"quick 2 <nil>", "slow 3 <nil>"}; !slices.Equal(got, want) {
			t.Errorf("the answers are %q", got)
		}
		for _, s := range []holdfast.Signal[int]{other, wake} {
			if _, err := s.Send(t.Context(), f.hf, job.ID, 1); err != nil {
				t.Fatal(err)
			}
		}
		_ = result(f, job)
	})
}
