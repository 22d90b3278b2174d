package batch_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/batch"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// must keeps the example short.
func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// Three files are loaded, of which one is broken. When all have ended somebody is told.
func Example() {
	ctx := context.Background()
	hf := must(holdfast.Open(ctx, sqlite.File(sqlite.Memory)))
	defer hf.Close(ctx)

	load := holdfast.NewKind[string, string]("load", holdfast.MaxAttempts(1))
	tell := holdfast.NewKind[string, string]("tell")
	err := errors.Join(
		load.Handle(hf, func(_ *holdfast.Run, file string) (string, error) {
			if file == "returns.csv" {
				return "", errors.New("it has no header")
			}
			return "", nil
		}),
		tell.Handle(hf, func(run *holdfast.Run, what string) (string, error) {
			result, _ := batch.Result(run)
			return fmt.Sprintf("%s: %d of %d files are loaded", what, result.Completed, result.Total()), nil
		}))
	if err != nil {
		log.Fatal(err)
	}
	if err := hf.Start(ctx); err != nil {
		log.Fatal(err)
	}

	b := must(batch.New(ctx, hf, batch.OnSuccess(tell.Item("success")), batch.OnFailure(tell.Item("failure"))))
	must(b.Add(ctx, load.Item("orders.csv"), load.Item("returns.csv"), load.Item("stock.csv")))
	if err := b.Close(ctx); err != nil {
		log.Fatal(err)
	}
	done := must(b.Wait(ctx))
	told := done.Calls[1].ID // of OnFailure
	if err := hf.Wait(ctx, told); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", must(hf.Get(ctx, told)).Result)
	// Output: "failure: 2 of 3 files are loaded"
}
