package operation_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/operation"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// A thousand mails go to another queue. The node has a handler of its own; operations it handles by
// itself.
func Example() {
	ctx := context.Background()
	hf, err := holdfast.Open(ctx, sqlite.File(sqlite.Memory), holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		log.Fatal(err)
	}
	defer hf.Close(ctx)
	letter := holdfast.NewTask[int]("letter")
	if err := letter.Handle(hf, func(*holdfast.Run, int) error { return nil }); err != nil {
		log.Fatal(err)
	}
	if _, err := letter.EnqueueMany(ctx, hf, make([]int, 1000), holdfast.Delay(time.Hour)); err != nil {
		log.Fatal(err)
	}
	if err := hf.Start(ctx); err != nil {
		log.Fatal(err)
	}

	filter := store.Filter{Kinds: []string{"letter"}, States: []store.State{store.Scheduled}}
	found, err := operation.Look(ctx, hf, filter)
	if err != nil {
		log.Fatal(err)
	}
	id, err := operation.Start(ctx, hf, operation.Operation{
		Filter: filter, Action: operation.Move("slow"), Note: "the relay is slow", Expected: found.Count.N,
	})
	if err != nil {
		log.Fatal(err)
	}
	done, err := operation.Wait(ctx, hf, id)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(done.Action, "-", done.Counts)
	// Output: move to queue slow - 1000 jobs: 1000 changed
}

// Without a node an operation runs in the process that asks for it.
func ExampleRun() {
	ctx := context.Background()
	hf, err := holdfast.Open(ctx, sqlite.File(sqlite.Memory))
	if err != nil {
		log.Fatal(err)
	}
	defer hf.Close(ctx)
	letter := holdfast.NewTask[int]("letter")
	if _, err := letter.EnqueueMany(ctx, hf, make([]int, 3), holdfast.Delay(time.Hour)); err != nil {
		log.Fatal(err)
	}
	done, err := operation.Run(ctx, hf, operation.Operation{
		Filter: store.Filter{Kinds: []string{"letter"}}, Action: operation.Tag("march"),
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(done)
	// Output: 3 jobs: 3 changed
}
