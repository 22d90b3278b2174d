package faulttest

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
)

// TestTimesThatCannotBeKept asks for times that the databases cannot hold. They are refused,
// and do not become some other time: a job of the year 300000 must not run at once.
func TestTimesThatCannotBeKept(t *testing.T) {
	t.Parallel()
	const longAgo = "300000 years ago"
	times := map[string]time.Time{
		"the year 300000":           time.Date(300_000, 1, 1, 0, 0, 0, 0, time.UTC),
		"the last microsecond":      time.UnixMicro(math.MaxInt64),
		"more than its nanoseconds": time.Unix(math.MaxInt64/1_000_000, 0).Add(time.Hour),
		longAgo:                     time.Date(-300_000, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	onEach(t, func(t *testing.T, db *database) {
		hf := db.open(t)
		plain := holdfast.NewKind[int, int]("plain")
		waits := holdfast.NewKind[string, int]("waits")
		child := holdfast.NewKind[string, int]("child")
		never := holdfast.NewSignal[int]("never")
		register(t, hf, plain, func(*holdfast.Run, int) (int, error) { return 0, nil })
		results := map[string]chan error{}
		for _, what := range []string{"sleep", "wait", "child"} {
			for name := range times {
				results[what+" until "+name] = make(chan error, 100)
			}
		}
		handler := func(what string, wait func(run *holdfast.Run, at time.Time) error) func(*holdfast.Run, string) (int, error) {
			return func(run *holdfast.Run, name string) (int, error) {
				err := wait(run, times[name])
				results[what+" until "+name] <- err
				return 0, holdfast.Fail(errors.New("done"))
			}
		}
		register(t, hf, waits, handler("wait", func(run *holdfast.Run, at time.Time) error {
			_, err := never.Wait(run, holdfast.WaitUntil(at))
			return err
		}))
		register(t, hf, child, handler("child", func(run *holdfast.Run, at time.Time) error {
			_, err := plain.Start(run, 0, holdfast.RunAt(at))
			return err
		}))
		sleeps := holdfast.NewKind[string, int]("sleeps")
		register(t, hf, sleeps, handler("sleep", func(run *holdfast.Run, at time.Time) error { return run.SleepUntil(at) }))
		work(t, hf)

		refused := func(what string, err error) {
			t.Helper()
			if !errors.Is(err, holdfast.ErrInvalid) {
				t.Errorf("%s: %v, and not ErrInvalid", what, err)
			}
		}
		for name, at := range times {
			past := at.Before(time.Now())
			if job, err := plain.Enqueue(t.Context(), hf, 0, holdfast.RunAt(at)); !past {
				refused("enqueue for "+name, err)
				if err == nil {
					t.Log(told(get(t, hf, job.ID)))
				}
			}
			_, err := plain.Enqueue(t.Context(), hf, 0, holdfast.Deadline(at))
			refused("a deadline in "+name, err)
			if past {
				continue
			}
			_, err = plain.EnqueueMany(t.Context(), hf, []int{1, 2}, holdfast.RunAt(at))
			refused("enqueue many for "+name, err)
			enqueue(t, hf, sleeps, name)
			enqueue(t, hf, waits, name)
			enqueue(t, hf, child, name)
		}
		answered := func() bool {
			for what, result := range results {
				if len(result) == 0 && !strings.HasSuffix(what, longAgo) {
					return false
				}
			}
			return true
		}
		comesTrue(soon, answered)
		for what, result := range results {
			switch {
			case strings.HasSuffix(what, longAgo):
			case len(result) == 0:
				t.Errorf("%s: it waits", what)
			default:
				refused(what, <-result)
			}
		}
	})
}
