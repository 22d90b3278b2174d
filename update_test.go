package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

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
