package events_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/events"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// A reader gets every change of a job's state, and can go on later where it stopped.
func Example() {
	ctx := context.Background()
	hf, err := holdfast.Open(ctx, sqlite.File(sqlite.Memory), holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		log.Fatal(err)
	}
	defer hf.Close(ctx)
	if _, err := events.On(ctx, hf); err != nil {
		log.Fatal(err)
	}
	mails := holdfast.NewKind[string, int]("mail")
	job, err := mails.Enqueue(ctx, hf, "hello", holdfast.Queue("mails"))
	if err != nil {
		log.Fatal(err)
	}
	if err := job.Cancel(ctx, "not needed"); err != nil {
		log.Fatal(err)
	}
	var from events.Position
	for event, err := range events.Read(ctx, hf, from, events.Filter{Queues: []string{"mails"}}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s is %v\n", event.Kind, event.State) // keep event.Position: a reader that starts again goes on from there
		if event.State.Finished() {
			break
		}
	}
	// Output:
	// mail is available
	// mail is cancelled
}
