package replay

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/internal/await"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// request sends a request to the job of an attempt.
func (a *attempt) request(name, data string) {
	seq := int64(len(a.requests) + 1)
	a.requests = append(a.requests, store.Update{Seq: seq, Key: "key " + strconv.FormatInt(seq, 10), Name: name, Data: []byte(data)})
}

// answers tells what became of the requests.
func (a *attempt) answers() string {
	var list []string
	for _, u := range a.requests {
		switch {
		case u.Answer == nil:
			list = append(list, "open")
		case u.Answer.Error != "":
			list = append(list, fmt.Sprintf("%d %s", u.Answer.Verdict, u.Answer.Error))
		default:
			list = append(list, fmt.Sprintf("%d %s", u.Answer.Verdict, u.Answer.Data))
		}
	}
	return strings.Join(list, ", ")
}

// paths lists the entries of the journal.
func (a *attempt) paths() string {
	var list []string
	for _, e := range a.journal.Entries {
		list = append(list, fmt.Sprintf("%d %s", e.Kind, e.Path))
	}
	return strings.Join(list, ", ")
}

// adds handles requests that add to a sum; what is negative is refused, and 13 is an error.
func adds(s *Strand, name string, sum *int, also func(s *Strand, n int) error) error {
	return s.HandleUpdate(&UpdateHandler{Name: name, Open: func(data []byte, accepted bool) (func(*Strand) ([]byte, error), error) {
		n, err := strconv.Atoi(string(data))
		if err != nil {
			return nil, err
		}
		if n < 0 && !accepted {
			return nil, errors.New("negative")
		}
		return func(s *Strand) ([]byte, error) {
			if also != nil {
				if err := also(s, n); err != nil {
					return nil, err
				}
			}
			if n == 13 {
				return nil, errors.New("unlucky")
			}
			*sum += n
			return []byte(strconv.Itoa(*sum)), nil
		}, nil
	}})
}

func hour() await.Limit { return await.Limit{Within: time.Hour, Set: true} }

// TestRequestsAreHandledInWaits: in their order, once, and the same on every replay.
func TestRequestsAreHandledInWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAttempt(t)
		for _, data := range []string{"1", "-1", "x", "13", "2"} {
			a.request("add", data)
		}
		a.request("other", "1")
		var sum, calls int
		handler := func(s *Strand) ([]byte, error) {
			sum = 0
			err := adds(s, "add", &sum, func(s *Strand, _ int) error {
				_, err := s.Step("note", StepPolicy{}, func(context.Context, int) ([]byte, error) { calls++; return nil, nil })
				return err
			})
			if err != nil {
				return nil, err
			}
			if err := s.Sleep(hour()); err != nil {
				return nil, err
			}
			return []byte(strconv.Itoa(sum)), s.Sleep(hour())
		}
		o := a.call(handler)
		want := `1 1, 3 negative, 3 strconv.Atoi: parsing "x": invalid syntax, 2 unlucky, 1 3, open`
		if got := a.answers(); got != want {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
		if got := a.paths(); got != "4 1, 19 1:1, 1 1:1.1, 19 1:2, 1 1:2.1, 19 1:3, 1 1:3.1" || calls != 3 {
			t.Errorf("after %d steps the journal has %s", calls, got)
		}
		if o.State != store.Waiting || !o.Wait.Kinds.Has(store.MessageUpdate) || o.Wait.SeenUpdate != 6 ||
			!strings.Contains(string(o.Wait.For), "update add") {
			t.Errorf("%+v", o.Wait)
		}
		time.Sleep(time.Hour)
		a.next()
		a.request("add", "10")
		if o = a.call(handler); o.State != store.Waiting || calls != 4 || sum != 13 {
			t.Errorf("the second run: %d steps, sum %d, %+v", calls, sum, o)
		}
		// The wait that was over took it before it went on.
		if got := a.paths(); !strings.HasSuffix(got, ", 19 1:4, 1 1:4.1, 4 2") {
			t.Errorf("the journal has %s", got)
		}
		time.Sleep(time.Hour)
		a.next()
		if o = a.call(handler); o.State != store.Completed || string(o.Result) != "13" || calls != 4 {
			t.Errorf("the third run: %d steps, %+v", calls, o)
		}
	})
}

// TestWaitsWithoutPlaces are told apart: the wait for a child and that for a function have no place
// in the journal.
func TestWaitsWithoutPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAttempt(t)
		handler := func(s *Strand) ([]byte, error) {
			sum := 0
			if err := adds(s, "add", &sum, nil); err != nil {
				return nil, err
			}
			for range 2 {
				var slept *await.Future
				slept, err := s.Go("sleeper", func(s *Strand) (any, error) { return nil, s.Sleep(hour()) })
				if err != nil {
					return nil, err
				}
				for range 2 {
					if _, err := s.Await(slept); err != nil {
						return nil, err
					}
				}
			}
			return []byte(strconv.Itoa(sum)), nil
		}
		for i := range 3 {
			a.request("add", strconv.Itoa(i+1))
			if o := a.call(handler); o.State == store.Completed != (i == 2) || i == 2 && string(o.Result) != "6" {
				t.Fatalf("run %d: %+v, %s, %s", i+1, o, a.paths(), a.answers())
			}
			a.next()
			time.Sleep(time.Hour)
		}
		// The wait for the first sleeper took the first two, that for the second the third, each
		// while it waited for the first time.
		var places []string
		for _, e := range a.journal.Entries {
			if e.Kind == store.EntryUpdated {
				places = append(places, e.Path)
			}
		}
		if got := strings.Join(places, " "); got != "1+1:1 1+1:2 2+1:1" {
			t.Errorf("they were handled at %s, and the answers are %s", got, a.answers())
		}
	})
}

// TestAnswersThatWereNotStored: the process dies after a request was accepted, or after it was
// handled. It is not handled again, and is answered.
func TestAnswersThatWereNotStored(t *testing.T) {
	for _, lost := range []int{1, 2} { // entries that were stored
		synctest.Test(t, func(t *testing.T) {
			a, calls := newAttempt(t), 0
			a.request("add", "5")
			handler := func(s *Strand) ([]byte, error) {
				sum := 0
				err := adds(s, "add", &sum, func(s *Strand, _ int) error {
					_, err := s.Step("note", StepPolicy{}, func(context.Context, int) ([]byte, error) { calls++; return nil, nil })
					return err
				})
				if err != nil {
					return nil, err
				}
				return []byte(strconv.Itoa(sum)), s.Sleep(hour())
			}
			a.call(handler)
			a.journal.Entries = a.journal.Entries[:1+lost]
			a.requests[0].Answer = nil
			calls = lost - 1
			a.next()
			a.call(handler)
			if got := a.answers(); got != "1 5" || calls != 1 || a.paths() != "4 1, 19 1:1, 1 1:1.1" {
				t.Errorf("%s after %d steps, %s", got, calls, a.paths())
			}
			// Sent once more with its key, which a fork does not know, it is answered from memory.
			a.requests[0].Answer, a.requests[0].Seq = nil, 7
			a.next()
			a.call(handler)
			if got := a.answers(); got != "1 5" || calls != 1 || a.paths() != "4 1, 19 1:1, 1 1:1.1" {
				t.Errorf("sent again: %s after %d steps, %s", got, calls, a.paths())
			}
		})
	}
}

// TestRequestsComeAfterTheJournal: no request is accepted before the run has come to where it was,
// or it would have its place before what did not know of it.
func TestRequestsComeAfterTheJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAttempt(t)
		sum := 0
		handler := func(s *Strand) ([]byte, error) {
			sum = 0
			if err := adds(s, "add", &sum, nil); err != nil {
				return nil, err
			}
			other, err := s.Go("other", func(s *Strand) (any, error) {
				if err := s.Sleep(hour()); err != nil {
					return nil, err
				}
				_, err := s.Step("slow", StepPolicy{}, func(context.Context, int) ([]byte, error) { return nil, nil })
				return nil, err
			})
			if err != nil {
				return nil, err
			}
			if _, err := s.Await(other); err != nil {
				return nil, err
			}
			seen, err := s.Step("see", StepPolicy{}, func(context.Context, int) ([]byte, error) { return []byte(strconv.Itoa(sum)), nil })
			if err != nil {
				return nil, err
			}
			return seen, s.Sleep(hour())
		}
		a.call(handler)
		time.Sleep(time.Hour)
		a.next()
		a.call(handler)
		a.request("add", "3")
		a.next()
		a.call(handler)
		if got := a.paths(); got != "4 1.1, 1 1.2, 1 2, 4 3, 19 3:1" || sum != 3 {
			t.Errorf("the journal has %s; the sum is %d", got, sum)
		}
	})
}

// TestHandlersThatDoNotFit hold the run: one that is gone, or that cannot decode any more.
func TestHandlersThatDoNotFit(t *testing.T) {
	for name, mended := range map[string]func(s *Strand, sum *int) error{
		"gone":  func(*Strand, *int) error { return nil },
		"other": func(s *Strand, sum *int) error { return adds(s, "subtract", sum, nil) },
		"decodes no more": func(s *Strand, _ *int) error {
			return s.HandleUpdate(&UpdateHandler{Name: "add", Open: func([]byte, bool) (func(*Strand) ([]byte, error), error) {
				return nil, errors.New("no number")
			}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAttempt(t)
			a.request("add", "7")
			register := func(s *Strand, sum *int) error { return adds(s, "add", sum, nil) }
			handler := func(s *Strand) ([]byte, error) {
				sum := 0
				if err := register(s, &sum); err != nil {
					return nil, err
				}
				return nil, s.Sleep(hour())
			}
			a.call(handler)
			a.next()
			register = mended
			if o := a.call(handler); o.Reason != store.ReasonNondeterminism || !strings.Contains(o.Error, `update "add"`) ||
				!strings.Contains(o.Error, "1:1") {
				t.Errorf("%+v", o)
			}
			a.next()
			register = func(s *Strand, sum *int) error { return adds(s, "add", sum, nil) }
			if o := a.call(handler); o.State != store.Waiting || o.Wait.Held || a.answers() != "1 7" {
				t.Errorf("with the code it had: %+v, %s", o, a.answers())
			}
		})
	}
}

// TestErrorsOfRequestHandlers: what only the handler of a kind returns is a misuse, a panic fails
// the attempt, and an error of a run that is ending is no answer.
func TestErrorsOfRequestHandlers(t *testing.T) {
	t.Run("misuse", func(t *testing.T) {
		a := newAttempt(t)
		a.request("add", "1")
		o := a.call(func(s *Strand) ([]byte, error) {
			sum := 0
			if err := adds(s, "add", &sum, func(*Strand, int) error { return &usercode.SnoozeError{} }); err != nil {
				return nil, err
			}
			return nil, s.Sleep(hour())
		})
		const says = "the handler of a request returned Snooze, which only the handler of a kind may return"
		if o.State != store.Retryable || !strings.Contains(o.Error, says) || a.answers() != "open" {
			t.Errorf("%+v, %s", o, a.answers())
		}
	})
	t.Run("the run itself", func(t *testing.T) {
		a := newAttempt(t)
		a.request("add", "1")
		o := a.call(func(s *Strand) ([]byte, error) {
			sum := 0
			if err := adds(s, "add", &sum, func(*Strand, int) error { return s.Sleep(await.Limit{}) }); err != nil {
				return nil, err
			}
			return nil, s.Sleep(hour())
		})
		if o.State != store.Retryable || !strings.Contains(o.Error, "Update.Handle") || a.answers() != "open" {
			t.Errorf("%+v, %s", o, a.answers())
		}
	})
	t.Run("panic", func(t *testing.T) {
		a, panics := newAttempt(t), true
		a.request("add", "1")
		handler := func(s *Strand) ([]byte, error) {
			sum := 0
			err := adds(s, "add", &sum, func(_ *Strand, _ int) error {
				if panics {
					panic("no")
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
			return nil, s.Sleep(hour())
		}
		if o := a.call(handler); o.State != store.Retryable || !strings.Contains(o.Error, "no") || a.answers() != "open" {
			t.Errorf("%+v, %s", o, a.answers())
		}
		a.next()
		panics = false
		if o := a.call(handler); o.State != store.Waiting || a.answers() != "1 1" {
			t.Errorf("%+v, %s", o, a.answers())
		}
	})
}
