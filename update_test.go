package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
)

// cart is a durable object: it keeps lines until it is closed.
type cart struct {
	Lines []string
	Total int
}

type line struct {
	Text  string
	Price int
}

var (
	addLine   = holdfast.NewUpdate[line, cart]("add line")
	closeCart = holdfast.NewUpdate[struct{}, cart]("close")
	goOn      = holdfast.NewSignal[string]("go on")
)

// keepCart handles the requests of a cart.
func keepCart(run *holdfast.Run, o *cart, closed *bool) error {
	err := addLine.Handle(run, func(l line) error {
		if l.Price <= 0 {
			return fmt.Errorf("a line costs something, not %d", l.Price)
		}
		return nil
	}, func(run *holdfast.Run, l line) (cart, error) {
		price, err := holdfast.Step(run, "price", func(context.Context) (int, error) { return l.Price, nil })
		if err != nil {
			return *o, err
		}
		o.Lines = append(o.Lines, l.Text)
		o.Total += price
		return *o, nil
	})
	if err != nil {
		return err
	}
	return closeCart.Handle(run, nil, func(*holdfast.Run, struct{}) (cart, error) {
		*closed = true
		return *o, nil
	})
}

// addTo adds a line to a cart.
func addTo(f *flow, id holdfast.ID, text string, opts ...holdfast.SendOption) (cart, error) {
	f.t.Helper()
	return addLine.Call(f.t.Context(), f.hf, id, line{text, len(text)}, opts...)
}

func TestUpdates(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		job := begin(f, 0, func(run *holdfast.Run, _ int) (cart, error) {
			var o cart
			closed := false
			if err := keepCart(run, &o, &closed); err != nil {
				return o, err
			}
			_, err := goOn.Wait(run)
			return o, err
		})
		for i, text := range []string{"a", "bb", "ccc"} {
			o, err := addTo(f, job.ID, text)
			if err != nil || len(o.Lines) != i+1 || o.Lines[i] != text {
				t.Fatalf("%+v, %v", o, err)
			}
		}
		before := f.kinds(job.ID)
		_, err := addTo(f, job.ID, "")
		var refused *holdfast.UpdateError
		if !errors.As(err, &refused) || !refused.Refused || refused.Message != "a line costs something, not 0" {
			t.Errorf("a line that costs nothing: %v", err)
		}
		if after := f.kinds(job.ID); after != before || before != "updated 1:1, step 1:1.1, updated 1:2, step 1:2.1, updated 1:3, step 1:3.1" {
			t.Errorf("the journal has %s, and before %s", after, before)
		}
		if _, err := goOn.Send(t.Context(), f.hf, job.ID, ""); err != nil {
			t.Fatal(err)
		}
		if o := result(f, job); strings.Join(o.Lines, " ") != "a bb ccc" || o.Total != 6 {
			t.Errorf("%+v", o)
		}
	})
}

// TestUpdatesWithOneID: two calls with one id are one request, whose answer both get, now and
// later.
func TestUpdatesWithOneID(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		handled := 0
		twice := holdfast.NewUpdate[int, int]("twice")
		job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
			err := twice.Handle(run, func(n int) error {
				if n < 0 {
					return errors.New("it is negative")
				}
				return nil
			}, func(run *holdfast.Run, n int) (int, error) {
				if err := run.Sleep(time.Hour); err != nil { // it is parked on the way
					return 0, err
				}
				return holdfast.Step(run, "count", func(context.Context) (int, error) { handled++; return 2*n + handled, nil })
			})
			if err != nil {
				return 0, err
			}
			_, err = goOn.Wait(run)
			return handled, err
		})
		var callers sync.WaitGroup
		for range 2 {
			callers.Go(func() {
				if n, err := twice.Call(t.Context(), f.hf, job.ID, 10, holdfast.DedupKey("ten")); n != 21 || err != nil {
					t.Errorf("%d, %v", n, err)
				}
			})
			callers.Go(func() {
				var refused *holdfast.UpdateError
				_, err := twice.Call(t.Context(), f.hf, job.ID, -1, holdfast.DedupKey("minus one"))
				if !errors.As(err, &refused) || !refused.Refused || refused.Message != "it is negative" {
					t.Errorf("%v", err)
				}
			})
		}
		callers.Wait()
		// A request is known by its id: what else is said does not count, but for its name.
		if n, err := twice.Call(t.Context(), f.hf, job.ID, 30, holdfast.DedupKey("ten")); n != 21 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		_, err := holdfast.NewUpdate[int, int]("thrice").Call(t.Context(), f.hf, job.ID, 10, holdfast.DedupKey("ten"))
		if !errors.Is(err, holdfast.ErrConflict) {
			t.Errorf("another name: %v", err)
		}
		if _, err := goOn.Send(t.Context(), f.hf, job.ID, ""); err != nil {
			t.Fatal(err)
		}
		if got := result(f, job); got != 1 {
			t.Errorf("it was handled %d times", got)
		}
	})
}

// TestUpdatesOfJobsThatEnd: a job that ends without an answer is a conflict that says how it ended.
func TestUpdatesOfJobsThatEnd(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		ask, other := holdfast.NewUpdate[int, int]("ask"), holdfast.NewUpdate[int, int]("other")
		job := begin(f, 0, func(run *holdfast.Run, _ int) (int, error) {
			err := ask.Handle(run, nil, func(run *holdfast.Run, _ int) (int, error) { return 0, run.Sleep(1000 * time.Hour) })
			if err == nil {
				err = run.Sleep(1000 * time.Hour)
			}
			return 0, err
		})
		var callers sync.WaitGroup
		for _, u := range []holdfast.Update[int, int]{ask, other} {
			callers.Go(func() {
				_, err := u.Call(t.Context(), f.hf, job.ID, 1)
				if !errors.Is(err, holdfast.ErrConflict) || !strings.Contains(err.Error(), "is cancelled") ||
					!strings.HasSuffix(err.Error(), ": enough") {
					t.Errorf("%s: %v", u.Name(), err)
				}
			})
		}
		time.Sleep(2 * time.Hour)
		if err := job.Cancel(t.Context(), "enough"); err != nil {
			t.Fatal(err)
		}
		callers.Wait()
		short, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := ask.Call(short, f.hf, job.ID, 1); !errors.Is(err, holdfast.ErrConflict) {
			t.Errorf("a job that has ended: %v", err)
		}
		if _, err := ask.Call(short, f.hf, holdfast.NewID(), 1); !errors.Is(err, holdfast.ErrNotFound) {
			t.Errorf("no job: %v", err)
		}
	})
}

// TestUpdatesThatCannotBeNamed are told at their first use.
func TestUpdatesThatCannotBeNamed(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		wrong, right := holdfast.NewUpdate[int, int](""), holdfast.NewUpdate[int, int]("right")
		handle := func(*holdfast.Run, int) (int, error) { return 0, nil }
		job := begin(f, 0, func(run *holdfast.Run, _ int) ([]string, error) {
			var said []string
			for _, err := range []error{
				wrong.Handle(run, nil, handle), right.Handle(run, nil, nil), run.WaitUntil("", func() bool { return true }),
				run.WaitUntil("it", nil), run.WaitUntil("it", func() bool { return false }, holdfast.WaitAtMost(-1)),
			} {
				if !errors.Is(err, holdfast.ErrInvalid) {
					return nil, holdfast.Fail(fmt.Errorf("not refused: %w", err))
				}
				said = append(said, err.Error())
			}
			err := run.WaitUntil("never", func() bool { return false }, holdfast.WaitAtMost(time.Hour))
			if !errors.Is(err, holdfast.ErrWaitTimeout) {
				return nil, holdfast.Fail(fmt.Errorf("no timeout: %w", err))
			}
			return said, nil
		})
		if said := result(f, job); len(said) != 5 {
			t.Errorf("%q", said)
		}
		for _, err := range []error{
			func() error { _, err := wrong.Call(t.Context(), f.hf, job.ID, 1); return err }(),
			func() error { _, err := right.Call(t.Context(), f.hf, job.ID, 1, nil); return err }(),
			func() error { _, err := right.Call(t.Context(), f.hf, job.ID, 1, holdfast.DedupKey("")); return err }(),
			func() error { _, err := f.hf.CallUpdate(t.Context(), job.ID, "right", []byte("{")); return err }(),
		} {
			if !errors.Is(err, holdfast.ErrInvalid) {
				t.Error(err)
			}
		}
	})
}
