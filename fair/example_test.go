package fair_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/fair"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

type page struct {
	Tenant string
	Number int
}

// A tenant with three jobs does not wait for one with a thousand.
func Example() {
	ctx := context.Background()
	hf, err := holdfast.Open(ctx, sqlite.File(sqlite.Memory), holdfast.WithLogger(slog.New(slog.DiscardHandler)), holdfast.WithSlots(1))
	if err != nil {
		log.Fatal(err)
	}
	defer hf.Close(ctx)
	crawl := holdfast.NewTask[page]("crawl", fair.KeyOf(func(p page) string { return p.Tenant }))
	var items []holdfast.BatchItem
	for n := range 1000 {
		items = append(items, crawl.Item(page{"heavy", n}))
	}
	for n := range 3 {
		items = append(items, crawl.Item(page{"light", n}))
	}
	jobs, err := hf.EnqueueBatch(ctx, items)
	if err != nil {
		log.Fatal(err)
	}
	heavy, last := 0, make(chan int, 1)
	err = crawl.Handle(hf, func(_ *holdfast.Run, p page) error {
		switch {
		case p.Tenant == "heavy":
			heavy++
		case p.Number == 2:
			last <- heavy
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := hf.Start(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(jobs), "jobs; before the third of the light tenant, of the heavy one at most 4 ran:", <-last <= 4)
	// Output: 1003 jobs; before the third of the light tenant, of the heavy one at most 4 ran: true
}
