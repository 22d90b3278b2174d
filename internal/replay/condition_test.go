package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/internal/await"
	"github.com/holdfastdev/holdfast/store"
)

func noStep(context.Context, int) ([]byte, error) { return nil, nil }

// untilParked runs a handler again and again, as time goes by, until its job has ended or waits for
// a message.
func (a *attempt) untilParked(handler func(s *Strand) ([]byte, error)) *store.Outcome {
	a.t.Helper()
	for {
		o := a.call(handler)
		a.next()
		if o == nil || o.State != store.Waiting || o.Wait.Until.IsZero() {
			return o
		}
		time.Sleep(o.Wait.Until.Sub(a.Now()))
	}
}

// replays runs a handler again with the whole journal and with each beginning of it, as if the
// process had died then, and lets it complete. The same journal gives the same result.
func (a *attempt) replays(handler func(s *Strand) ([]byte, error), want string) {
	a.t.Helper()
	whole := slices.Clone(a.journal.Entries)
	for n := len(whole); n >= 0; n-- {
		a.cut(whole[:n])
		o := a.untilParked(handler)
		if o == nil || o.State != store.Completed || n == len(whole) && string(o.Result) != want {
			a.t.Fatalf("with %d entries of %d: %+v, want %s\njournal %s", n, len(whole), o, want, a.paths())
		}
		first, journal := string(o.Result), a.paths()
		if o = a.untilParked(handler); o == nil || o.State != store.Completed || string(o.Result) != first || a.paths() != journal {
			a.t.Fatalf("again, after %s:\n%+v\njournal %s\nnow     %s", first, o, journal, a.paths())
		}
	}
}

// cut makes the journal what is given. What it has not accepted has no answer, unless it was
// refused.
func (a *attempt) cut(entries []store.Entry) {
	a.journal.Entries = slices.Clone(entries)
	for i := range a.requests {
		u := &a.requests[i]
		if u.Answer != nil && u.Answer.Verdict != store.UpdateRefused &&
			!slices.ContainsFunc(entries, func(e store.Entry) bool { return e.Kind == store.EntryUpdated && e.Ref == u.Seq }) {
			u.Answer = nil
		}
	}
}

// TestConditionOfRequests: a condition is looked at after the requests that have come.
func TestConditionOfRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAttempt(t)
		handler := func(s *Strand) ([]byte, error) {
			sum := 0
			if err := adds(s, "add", &sum, nil); err != nil {
				return nil, err
			}
			err := s.WaitUntil("enough", func() bool { return sum >= 5 }, await.Limit{})
			return []byte(strconv.Itoa(sum)), err
		}
		a.request("add", "2")
		if o := a.untilParked(handler); o.State != store.Waiting || !o.Wait.Kinds.Has(store.MessageUpdate) ||
			!strings.Contains(string(o.Wait.For), "condition enough") {
			t.Fatalf("%+v", o)
		}
		a.request("add", "2")
		a.request("add", "2")
		o := a.untilParked(handler)
		if o.State != store.Completed || string(o.Result) != "6" || a.paths() != "19 1:1, 19 1:2, 19 1:3, 20 1" {
			t.Errorf("%+v, %s", o, a.paths())
		}
		a.replays(handler, "6")
	})
}

// TestConditionOverStrands: when it held, the others were where they were; and so on every replay,
// however far they have come since.
func TestConditionOverStrands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAttempt(t)
		handler := func(s *Strand) ([]byte, error) {
			count := 0
			counter, err := s.Go("counter", func(s *Strand) (any, error) {
				for range 6 {
					count++
					if err := s.Sleep(hour()); err != nil {
						return nil, err
					}
				}
				return count, nil
			})
			if err != nil {
				return nil, err
			}
			var saw []string
			for _, least := range []int{2, 5} {
				if err := s.WaitUntil("counted", func() bool { return count >= least }, await.Limit{}); err != nil {
					return nil, err
				}
				saw = append(saw, strconv.Itoa(count))
				if _, err := s.Step("saw "+saw[len(saw)-1], StepPolicy{}, noStep); err != nil {
					return nil, err
				}
			}
			_, err = s.Await(counter)
			return []byte(strings.Join(saw, " ")), err
		}
		o := a.untilParked(handler)
		if o.State != store.Completed || string(o.Result) != "2 5" {
			t.Fatalf("%+v, %s", o, a.paths())
		}
		a.replays(handler, "2 5")
	})
}

// TestAloneAfterACondition: the code after a condition sees what the condition saw, however long it
// takes: other strands stay in their operations until it comes to its next one, or ends.
func TestAloneAfterACondition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, limit := range map[string]await.Limit{"holds": {}, "too late": {Within: 150 * time.Minute, Set: true}} {
			a := newAttempt(t)
			handler := func(s *Strand) ([]byte, error) {
				count := 0
				counts := func(s *Strand) (any, error) {
					for range 4 {
						if err := s.Sleep(hour()); err != nil {
							return nil, err
						}
						count++
					}
					return nil, nil
				}
				waits := func(least int) func(s *Strand) (any, error) {
					return func(s *Strand) (any, error) {
						err := s.WaitUntil("counted", func() bool { return count >= least }, limit)
						if err != nil && !errors.Is(err, ErrWaitTimeout) {
							return nil, err
						}
						before := count
						time.Sleep(10 * time.Hour) // code that is slow
						if count != before {
							t.Errorf("%s: count was %d, and is %d", name, before, count)
						}
						return strconv.Itoa(before), nil
					}
				}
				var futures []*await.Future
				for i, f := range []func(*Strand) (any, error){counts, waits(1), waits(1), waits(3)} {
					future, err := s.Go(strconv.Itoa(i), f)
					if err != nil {
						return nil, err
					}
					futures = append(futures, future)
				}
				var all []string
				for _, f := range futures {
					value, err := s.Await(f)
					if err != nil {
						return nil, err
					}
					all = append(all, fmt.Sprint(value))
				}
				return []byte(strings.Join(all, " ")), nil
			}
			o := a.untilParked(handler)
			if o.State != store.Completed {
				t.Fatalf("%s: %+v, %s", name, o, a.paths())
			}
			a.replays(handler, string(o.Result))
		}
	})
}

// TestConditionWithLimit: the time is over, though the condition holds by the time of the replay.
func TestConditionWithLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			limit time.Duration
			want  string
		}{{90 * time.Minute, "late at 1"}, {2 * time.Hour, "in time at 2"}, {3 * time.Hour, "in time at 2"}, {0, "late at 0"}} {
			a := newAttempt(t)
			handler := func(s *Strand) ([]byte, error) {
				count := 0
				counter, err := s.Go("counter", func(s *Strand) (any, error) {
					for range 4 {
						if err := s.Sleep(hour()); err != nil {
							return nil, err
						}
						count++
					}
					return nil, nil
				})
				if err != nil {
					return nil, err
				}
				said := "in time"
				err = s.WaitUntil("twice", func() bool { return count == 2 }, await.Limit{Within: c.limit, Set: true})
				if errors.Is(err, ErrWaitTimeout) {
					said, err = "late", nil
				}
				if err != nil {
					return nil, err
				}
				said = fmt.Sprint(said, " at ", count)
				if _, err := s.Step(said, StepPolicy{}, noStep); err != nil {
					return nil, err
				}
				_, err = s.Await(counter)
				return []byte(said), err
			}
			o := a.untilParked(handler)
			if o.State != store.Completed || string(o.Result) != c.want {
				t.Errorf("limit %v: %+v, %s", c.limit, o, a.paths())
			}
			a.replays(handler, c.want)
		}
	})
}

// TestConditionThatNeverHolds is a misuse if nothing can come any more.
func TestConditionThatNeverHolds(t *testing.T) {
	a := newAttempt(t)
	o := a.call(func(s *Strand) ([]byte, error) {
		ended, err := s.Go("ends", func(s *Strand) (any, error) { return s.Step("a", StepPolicy{}, noStep) })
		if err != nil {
			return nil, err
		}
		if _, err := s.Await(ended); err != nil {
			return nil, err
		}
		return nil, s.WaitUntil("never", func() bool { return false }, await.Limit{})
	})
	if o.State != store.Retryable || !strings.Contains(o.Error, "they wait for condition never") {
		t.Errorf("%+v", o)
	}
}

// TestConditionsThatMisuse their run, or panic.
func TestConditionsThatMisuse(t *testing.T) {
	for want, cond := range map[string]func(s *Strand) bool{
		"run.WaitUntil": func(s *Strand) bool { return s.Sleep(hour()) == nil },
		"boom":          func(*Strand) bool { panic("boom") },
	} {
		a := newAttempt(t)
		o := a.call(func(s *Strand) ([]byte, error) {
			if _, err := s.Go("other", func(s *Strand) (any, error) { return nil, s.Sleep(hour()) }); err != nil {
				return nil, err
			}
			return nil, s.WaitUntil("it", func() bool { return cond(s) }, await.Limit{})
		})
		if o.State != store.Retryable || !strings.Contains(o.Error, want) {
			t.Errorf("%s: %+v", want, o)
		}
	}
}

// TestConditionsThatDoNotFit: the code is not what it was when the condition held.
func TestConditionsThatDoNotFit(t *testing.T) {
	for name, c := range map[string]struct {
		more   int  // that the counter counts at once
		sleeps bool // the counter does
		want   string
	}{
		"holds no more":  {0, true, `the condition "counted" does not hold at place 2`},
		"another strand": {1, false, `the code does not come to`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAttempt(t)
				more, sleeps := 1, true
				handler := func(s *Strand) ([]byte, error) {
					count := 0
					_, err := s.Go("counter", func(s *Strand) (any, error) {
						count += more
						if !sleeps {
							return nil, nil
						}
						return nil, s.Sleep(hour())
					})
					if err != nil {
						return nil, err
					}
					if err := s.WaitUntil("counted", func() bool { return count > 0 }, await.Limit{}); err != nil {
						return nil, err
					}
					return nil, s.Sleep(hour())
				}
				a.call(handler)
				a.next()
				more, sleeps = c.more, c.sleeps
				if o := a.call(handler); o.Reason != store.ReasonNondeterminism || !strings.Contains(o.Error, c.want) {
					t.Errorf("%+v", o)
				}
			})
		})
	}
}

// TestRandomConditions: strands that count, sleep, take steps and wait for what the others have
// counted replay with every beginning of their journal, and end alike.
func TestRandomConditions(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type act struct {
			Kind  string
			Least int
		}
		strands := rapid.SliceOfN(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) act {
			kinds := rapid.SampledFrom([]string{"count", "sleep", "step", "until", "until", "briefly"})
			return act{kinds.Draw(t, "kind"), rapid.IntRange(1, 4).Draw(t, "least")}
		}), 1, 6), 1, 3).Draw(rt, "strands")
		requests := rapid.IntRange(0, 4).Draw(rt, "requests")
		synctest.Test(t, func(t *testing.T) {
			a := newAttempt(t)
			for range requests {
				a.request("add", "1")
			}
			handler := func(s *Strand) ([]byte, error) {
				var mu sync.Mutex // of what follows
				counts := make([]int, len(strands)+1)
				total := func() (sum int) {
					mu.Lock()
					defer mu.Unlock()
					for _, n := range counts {
						sum += n
					}
					return sum
				}
				one := func(s *Strand, i int) error {
					for _, act := range strands[i] {
						var err error
						switch act.Kind {
						case "count":
							mu.Lock()
							counts[i]++
							mu.Unlock()
						case "sleep":
							err = s.Sleep(await.Limit{Within: time.Duration(act.Least) * time.Hour, Set: true})
						case "step":
							_, err = s.Step("step", StepPolicy{}, noStep)
						default:
							limit := await.Limit{Within: 150 * time.Minute, Set: true}
							if act.Kind == "briefly" {
								limit.Within = 30 * time.Minute
							}
							err = s.WaitUntil("counted", func() bool { return total() >= act.Least }, limit)
							said := fmt.Sprintf("saw %v", err == nil)
							if errors.Is(err, ErrWaitTimeout) {
								err = nil
							}
							if err == nil {
								_, err = s.Step(said, StepPolicy{}, noStep)
							}
						}
						if err != nil {
							return err
						}
					}
					return nil
				}
				if err := adds(s, "add", &counts[len(strands)], func(*Strand, int) error { return nil }); err != nil {
					return nil, err
				}
				var all []*await.Future
				for i := range strands {
					f, err := s.Go(strconv.Itoa(i), func(s *Strand) (any, error) { return nil, one(s, i) })
					if err != nil {
						return nil, err
					}
					all = append(all, f)
				}
				for _, f := range all {
					if _, err := s.Await(f); err != nil {
						return nil, err
					}
				}
				return nil, nil
			}
			o := a.untilParked(handler)
			if o.State != store.Completed {
				t.Fatalf("%+v, %s", o, a.paths())
			}
			a.replays(handler, "")
		})
	})
}

// TestAConditionBesideAPanic: what holds because a strand has panicked is not recorded, as the
// strand may come farther the next time. Nor does a strand that panics before it has come to where
// it was make the code one that does not fit the journal.
func TestAConditionBesideAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAttempt(t)
		panics, again := true, false
		handler := func(s *Strand) ([]byte, error) {
			count := 0
			_, err := s.Go("broken", func(s *Strand) (any, error) {
				if again {
					again = false
					panic("before it has come far")
				}
				if err := s.Sleep(hour()); err != nil {
					return nil, err
				}
				if panics {
					panics = false
					panic("once")
				}
				return nil, s.Sleep(await.Limit{Within: 3 * time.Hour, Set: true})
			})
			if err != nil {
				return nil, err
			}
			_, err = s.Go("counter", func(s *Strand) (any, error) {
				for range 3 {
					if err := s.Sleep(hour()); err != nil {
						return nil, err
					}
					count++
				}
				return nil, nil
			})
			if err != nil {
				return nil, err
			}
			if err := s.WaitUntil("counted", func() bool { return count >= 1 }, await.Limit{}); err != nil {
				return nil, err
			}
			_, err = s.Step("counted", StepPolicy{}, noStep)
			return []byte(strconv.Itoa(count)), err
		}
		o := a.untilParked(handler)
		if o.State == store.Completed || !strings.Contains(o.Error, "once") || strings.Contains(a.paths(), "20 ") {
			t.Fatalf("%+v, %s", o, a.paths())
		}
		if o = a.untilParked(handler); o.State != store.Completed || !strings.Contains(a.paths(), "20 ") {
			t.Fatalf("%+v, %s", o, a.paths())
		}
		again = true
		if o = a.untilParked(handler); o.State == store.Completed || !strings.Contains(o.Error, "far") {
			t.Fatalf("%+v, %s", o, a.paths())
		}
		if o = a.untilParked(handler); o.State != store.Completed {
			t.Fatalf("%+v, %s", o, a.paths())
		}
	})
}
