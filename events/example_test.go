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

// Who watches a job is told of each step as it ends, from any process.
func ExampleWatch() {
	ctx := context.Background()
	hf, err := holdfast.Open(ctx, sqlite.File(sqlite.Memory), holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		log.Fatal(err)
	}
	defer hf.Close(ctx)
	trips := holdfast.NewKind[string, string]("trip")
	err = trips.Handle(hf, func(run *holdfast.Run, city string) (string, error) {
		for _, what := range []string{"room", "train"} {
			_, err := holdfast.Step(run, "book a "+what, func(context.Context) (string, error) { return city, nil })
			if err != nil {
				return "", err
			}
		}
		return "booked", nil
	})
	if err != nil {
		log.Fatal(err)
	}
	go hf.Run(ctx)
	job, err := trips.Enqueue(ctx, hf, "Oslo")
	if err != nil {
		log.Fatal(err)
	}
	for d, err := range events.Watch(ctx, hf, job.ID, events.Place{}) {
		switch {
		case err != nil:
			log.Fatal(err)
		case d.Entry != nil:
			fmt.Println(d.Entry.Kind, d.Entry.Name)
		case d.Record != nil && d.Record.State.Finished():
			fmt.Println(d.Record.State)
		}
	}
	// Output:
	// step book a room
	// step book a train
	// completed
}
