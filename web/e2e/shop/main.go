// Command shop is a node of a shop for the tests of the dashboard: what code alone can say is in
// the database while it runs. It prints a line when it serves, and ends on SIGTERM.
//
// # Imports
//
// Of ours, what a user's program has.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/describe"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/schedule"
	"github.com/holdfastdev/holdfast/store/dsn"
)

var (
	cart     = holdfast.NewKind[string, int]("cart")
	addCents = holdfast.NewUpdate[int, int]("add cents")
	checkOut = holdfast.NewSignal[struct{}]("check out")
)

var errNoPrice = errors.New("that is no price")

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	source, err := dsn.Parse(os.Args[1])
	if err != nil {
		return err
	}
	hf, err := holdfast.Open(ctx, source, holdfast.WithNamespace(os.Args[2]), holdfast.WithNodeName("shop-go"), holdfast.WithSlots(20),
		holdfast.WithLogger(slog.New(slog.DiscardHandler)), describe.These(
			describe.Kind(cart, describe.Owner("shop team"), describe.Text("Collects what a customer buys."), describe.Updates("add cents")),
			describe.Queue("carts", describe.Text("Carts of customers.")),
		))
	if err != nil {
		return err
	}
	defer func() { _ = hf.Close(context.WithoutCancel(ctx)) }()
	if err := errors.Join(cart.Handle(hf, fill), fulfilment.Handle(hf, fulfil), pages.Handle(hf, page), books.Handle(hf, book)); err != nil {
		return err
	}
	if _, err := limit.Sync(ctx, hf, limit.New("vans", limit.Capacity(2), limit.Kinds("cart"))); err != nil {
		return err
	}
	stocktake := schedule.New("stocktake", schedule.Cron("30 6 * * 1", "UTC"), cart.Item("the whole shop"))
	if _, err := schedule.Sync(ctx, hf, stocktake); err != nil {
		return err
	}
	if err := hf.Start(ctx); err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "serves")
	<-ctx.Done()
	return nil
}

// fill adds up until the customer checks out.
func fill(run *holdfast.Run, _ string) (int, error) {
	total := 0
	err := addCents.Handle(run, func(cents int) error {
		if cents <= 0 {
			return fmt.Errorf("%w: %d cents", errNoPrice, cents)
		}
		return nil
	}, func(_ *holdfast.Run, cents int) (int, error) {
		total += cents
		return total, nil
	})
	if err != nil {
		return 0, err
	}
	_, err = checkOut.Wait(run)
	return total, err
}
