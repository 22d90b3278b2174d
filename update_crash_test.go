package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/holdfastdev/holdfast"
)

// adding is what a run knows that adds up what it is asked to.
type adding struct{ Round, Sum int }

var (
	adder = holdfast.NewKind[adding, int]("adder")
	addUp = holdfast.NewUpdate[int, string]("add")
)

// addAll adds up what it is asked to until that is 21. It continues as new on the way, and a strand
// sleeps beside it.
func (w *world) addAll(run *holdfast.Run, in adding) (int, error) {
	err := addUp.Handle(run, func(n int) error {
		if n < 0 {
			return errors.New("it is negative")
		}
		return nil
	}, func(run *holdfast.Run, n int) (string, error) {
		name := "add " + strconv.Itoa(n)
		if _, err := holdfast.Step(run, name, func(context.Context) (int, error) { return w.step(name), nil }); err != nil {
			return "", err
		}
		if err := run.Sleep(time.Second); err != nil {
			return "", err
		}
		if in.Sum += n; n == 5 {
			return "", errors.New("five")
		}
		return fmt.Sprint("in round ", in.Round, " to ", in.Sum), nil
	})
	if err != nil {
		return 0, err
	}
	_, err = holdfast.Go(run, "beside", func(run *holdfast.Run) (int, error) {
		for range 10 {
			if err := run.Sleep(time.Second); err != nil {
				return 0, err
			}
		}
		return 0, nil
	})
	if err != nil {
		return 0, err
	}
	least := 21
	if in.Round == 0 {
		least = 6
	}
	if err := run.WaitUntil("added", func() bool { return in.Sum >= least }); err != nil {
		return 0, err
	}
	if in.Round == 0 {
		return 0, adder.ContinueAsNew(adding{1, in.Sum})
	}
	return in.Sum, nil
}
