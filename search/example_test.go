package search_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/search"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// Orders are found by their customer and by their amount, which the run has set.
func Example() {
	ctx := context.Background()
	hf, err := holdfast.Open(ctx, sqlite.File(sqlite.Memory), holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		log.Fatal(err)
	}
	defer hf.Close(ctx)
	customer, amount := search.Keyword("customer"), search.Int("amount")
	if err := search.Declare(ctx, hf, customer, amount); err != nil {
		log.Fatal(err)
	}
	orders := holdfast.NewKind[string, int]("order")
	err = orders.Handle(hf, func(run *holdfast.Run, item string) (int, error) {
		total := 10 * len(item)
		return total, search.Set(run, amount.Is(int64(total)))
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := hf.Start(ctx); err != nil {
		log.Fatal(err)
	}
	for item, of := range map[string]string{"book": "acme", "newspaper": "acme", "pen": "other"} {
		job, err := orders.Enqueue(ctx, hf, item, customer.Is(of))
		if err != nil {
			log.Fatal(err)
		}
		if _, err := job.Wait(ctx); err != nil {
			log.Fatal(err)
		}
	}
	filter := store.Filter{Attributes: []store.AttributeMatch{customer.Equals("acme"), amount.From(50)}}
	page, err := hf.List(ctx, filter, "", 50)
	if err != nil {
		log.Fatal(err)
	}
	for i := range page.Jobs {
		job := &page.Jobs[i]
		of, _ := customer.Of(job)
		total, _ := amount.Of(job)
		fmt.Println(string(job.Args), of, total)
	}
	// Output: "newspaper" acme 90
}
