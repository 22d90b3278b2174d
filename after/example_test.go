package after_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/after"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// must keeps the example short.
func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// Two jobs load data. A report is made once what it needs has completed, and what they left is
// removed whatever has become of them.
func Example() {
	ctx := context.Background()
	load := holdfast.NewKind[string, int]("load")
	report := holdfast.NewKind[string, string]("report")
	tidy := holdfast.NewKind[string, string]("tidy")

	hf := must(holdfast.Open(ctx, sqlite.File(sqlite.Memory)))
	defer hf.Close(ctx)
	err := errors.Join(
		load.Handle(hf, func(_ *holdfast.Run, from string) (int, error) {
			if from == "invoices" {
				return 0, holdfast.Fail(errors.New("there are none"))
			}
			return 3, nil
		}),
		report.Handle(hf, func(_ *holdfast.Run, of string) (string, error) { return "report of " + of, nil }),
		tidy.Handle(hf, func(_ *holdfast.Run, what string) (string, error) { return what + " removed", nil }),
	)
	if err != nil {
		log.Fatal(err)
	}
	go hf.Run(ctx)

	orders, invoices := must(load.Enqueue(ctx, hf, "orders")), must(load.Enqueue(ctx, hf, "invoices"))
	sales := must(report.Enqueue(ctx, hf, "sales", after.Completed(orders.ID)))
	taxes := must(report.Enqueue(ctx, hf, "taxes", after.Completed(orders.ID, invoices.ID)))
	rest := must(tidy.Enqueue(ctx, hf, "the rest", after.Finished(sales.ID, taxes.ID)))

	fmt.Println(must(sales.Wait(ctx)))
	_, err = taxes.Wait(ctx)
	fmt.Println("no taxes:", errors.Is(err, holdfast.ErrCancelled))
	fmt.Println(must(rest.Wait(ctx)))
	// Output:
	// report of sales
	// no taxes: true
	// the rest removed
}

// An order is charged. What follows depends on how that ends, and is enqueued with it.
func ExampleSuccess() {
	ctx := context.Background()
	charge := holdfast.NewKind[string, int]("charge")
	ship := holdfast.NewKind[string, string]("ship")
	alert := holdfast.NewKind[string, string]("alert")

	hf := must(holdfast.Open(ctx, sqlite.File(sqlite.Memory)))
	defer hf.Close(ctx)
	said := make(chan string)
	err := errors.Join(
		charge.Handle(hf, func(_ *holdfast.Run, order string) (int, error) {
			if order == "B" {
				return 0, holdfast.Fail(errors.New("no money"))
			}
			return 1999, nil
		}),
		ship.Handle(hf, func(run *holdfast.Run, order string) (string, error) {
			cents, err := after.Result[int](run)
			said <- fmt.Sprintf("ship %s, paid %d", order, cents)
			return "", err
		}),
		alert.Handle(hf, func(run *holdfast.Run, order string) (string, error) {
			charged, err := after.Outcome(run)
			said <- fmt.Sprintf("charging %s: %s", order, charged.Error)
			return "", err
		}),
	)
	if err != nil {
		log.Fatal(err)
	}
	go hf.Run(ctx)

	for _, order := range []string{"A", "B"} {
		must(charge.Enqueue(ctx, hf, order, after.Success(ship.Item(order)), after.Failure(alert.Item(order))))
		fmt.Println(<-said)
	}
	// Output:
	// ship A, paid 1999
	// charging B: no money
}
