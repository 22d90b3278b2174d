package limit_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// A durable function that calls a service several times takes a permit for each call.
func ExampleAcquire() {
	ctx := context.Background()
	hf, err := holdfast.Open(ctx, sqlite.File(sqlite.Memory), holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		log.Fatal(err)
	}
	defer hf.Close(ctx)
	service := limit.New("slack", limit.Rate(50, time.Second), limit.Burst(10), limit.NoJobs())
	if _, err := limit.Sync(ctx, hf, service); err != nil {
		log.Fatal(err)
	}
	notify := holdfast.NewTask[[]string]("notify")
	err = notify.Handle(hf, func(run *holdfast.Run, to []string) error {
		for _, address := range to {
			if err := limit.Acquire(run, "slack"); err != nil {
				return err
			}
			fmt.Println("called for", address)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := hf.Start(ctx); err != nil {
		log.Fatal(err)
	}
	job, err := notify.Enqueue(ctx, hf, []string{"ann", "bob"})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := job.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// called for ann
	// called for bob
}
