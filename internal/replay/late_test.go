package replay

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/internal/await"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// TestNothingIsDecidedByTheEnd: when the time of an attempt is over, strands leave their waits with
// an error, while others finish what they have begun and store it. What another strand waits for
// may come about by that; the next attempt would not find it again.
func TestNothingIsDecidedByTheEnd(t *testing.T) {
	sleeps := func(hours int) func(s *Strand) (any, error) {
		return func(s *Strand) (any, error) {
			return nil, s.Sleep(await.Limit{Within: time.Duration(hours) * time.Hour, Set: true})
		}
	}
	works := func(d time.Duration, then func()) func(s *Strand) (any, error) {
		return func(s *Strand) (any, error) {
			_, err := s.Step("works", StepPolicy{}, func(context.Context, int) ([]byte, error) { time.Sleep(d); return nil, nil })
			if err == nil {
				then()
			}
			return nil, err
		}
	}
	for name, c := range map[string]struct {
		decide func(s *Strand, worked *bool, slow *await.Future) (string, error)
		want   string
	}{
		"a condition": {func(s *Strand, worked *bool, _ *await.Future) (string, error) {
			return "held", s.WaitUntil("worked", func() bool { return *worked }, await.Limit{})
		}, "held"},
		"a condition with a limit": {func(s *Strand, worked *bool, _ *await.Future) (string, error) {
			return "held", s.WaitUntil("worked", func() bool { return *worked }, await.Limit{Within: 50 * time.Hour, Set: true})
		}, "held"},
		"a choice": {func(s *Strand, _ *bool, slow *await.Future) (string, error) {
			soon, err := s.Timer(await.Limit{Within: 10 * time.Hour, Set: true})
			if err != nil {
				return "", err
			}
			i, err := s.Select([]await.Thing{slow, soon})
			return strconv.Itoa(i), err
		}, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, runs := newAttempt(t), 0
				handler := func(s *Strand) ([]byte, error) {
					if runs++; runs == 1 {
						time.AfterFunc(3*time.Hour, func() { s.run.Cancel(usercode.ErrTimeout) })
					}
					var worked bool
					var futures []*await.Future
					for _, f := range []func(s *Strand) (any, error){
						sleeps(20), works(5*time.Hour, func() { worked = true }), works(6*time.Hour, func() {}),
					} {
						future, err := s.Go("strand", f)
						if err != nil {
							return nil, err
						}
						futures = append(futures, future)
					}
					said, err := c.decide(s, &worked, futures[0])
					if err == nil {
						_, err = s.Step(said, StepPolicy{}, noStep)
					}
					for _, f := range futures { // which lasts until what the others do is stored
						_, failed := s.Await(f)
						err = errors.Join(err, failed)
					}
					return []byte(said), err
				}
				if o := a.call(handler); o.State != store.Retryable || o.Reason != store.ReasonTimeout {
					t.Fatalf("the attempt ended with %+v, %s", o, a.paths())
				}
				a.next()
				if o := a.untilParked(handler); o.State != store.Completed || string(o.Result) != c.want {
					t.Errorf("the next one: %+v, %s", o, a.paths())
				}
			})
		})
	}
}
