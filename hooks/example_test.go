package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/hooks"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// Events are told after they were committed, each once.
func Example() {
	ctx := context.Background()
	greet := holdfast.NewTask[string]("greet", holdfast.Backoff(time.Millisecond, time.Millisecond))
	hf, err := holdfast.Open(ctx, sqlite.File(sqlite.Memory), holdfast.WithHooks(hooks.Hooks{
		Enqueued: func(e hooks.Enqueued) { fmt.Println("enqueued", e.Kind) },
		Retried:  func(e hooks.Retried) { fmt.Println("attempt", e.Attempt, "failed:", e.Error) },
		Finished: func(e hooks.Finished) { fmt.Println(e.State, "in attempt", e.Attempt) },
	}))
	if err != nil {
		log.Fatal(err)
	}
	err = greet.Handle(hf, func(run *holdfast.Run, _ string) error {
		if run.Attempt() == 1 {
			return errors.New("nobody is at home")
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	go hf.Run(ctx)

	job, err := greet.Enqueue(ctx, hf, "ada")
	if err != nil {
		log.Fatal(err)
	}
	if err := greet.Wait(ctx, hf, job.ID); err != nil {
		log.Fatal(err)
	}
	hf.Close(ctx) // tells what is left
	// Output:
	// enqueued greet
	// attempt 1 failed: nobody is at home
	// completed in attempt 2
}
