package schedule_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/schedule"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// A schedule that code declares fires as soon as a node runs.
func Example() {
	ctx := context.Background()
	hf, err := holdfast.Open(ctx, sqlite.File(sqlite.Memory), holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		log.Fatal(err)
	}
	defer hf.Close(ctx)
	tick := holdfast.NewTask[string]("tick")
	ticks := make(chan string, 10)
	err = tick.Handle(hf, func(run *holdfast.Run, args string) error {
		name, nominal := run.Schedule()
		ticks <- fmt.Sprint(name, " ", args, ", at a whole second: ", nominal.Equal(nominal.Truncate(time.Second)))
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	each := schedule.New("each second", schedule.Every(time.Second), tick.Item("ticks"), schedule.Fires(2))
	if _, err := schedule.Sync(ctx, hf, each); err != nil {
		log.Fatal(err)
	}
	if err := hf.Start(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(<-ticks)
	fmt.Println(<-ticks)
	// Output:
	// each second ticks, at a whole second: true
	// each second ticks, at a whole second: true
}

// What an expression means is asked before a schedule fires, or is made.
func ExampleNext() {
	ctx := context.Background()
	hf, err := holdfast.Open(ctx, sqlite.File(sqlite.Memory), holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		log.Fatal(err)
	}
	defer hf.Close(ctx)
	invoice := holdfast.NewTask[string]("invoice")
	s, err := schedule.Create(ctx, hf, schedule.New("invoices", schedule.Cron("30 2 LW * *", "Europe/Berlin"), invoice.Item("all")))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(schedule.Words(&s))
	times, err := schedule.Next(&s, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), 3)
	if err != nil {
		log.Fatal(err)
	}
	for _, at := range times {
		fmt.Println(at)
	}
	// Output:
	// on the last weekday of every month at 02:30 in Europe/Berlin
	// 2026-01-30 02:30:00 +0100 CET
	// 2026-02-27 02:30:00 +0100 CET
	// 2026-03-31 02:30:00 +0200 CEST
}

// The job of the time before has not finished, so the next time is skipped.
func ExampleTrigger() {
	ctx := context.Background()
	hf, err := holdfast.Open(ctx, sqlite.File(sqlite.Memory), holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		log.Fatal(err)
	}
	defer hf.Close(ctx)
	clean := holdfast.NewTask[int]("clean")
	yearly := schedule.New("clean", schedule.Cron("@yearly", ""), clean.Item(1))
	if _, err := schedule.Create(ctx, hf, yearly); err != nil {
		log.Fatal(err)
	}
	first, err := schedule.Trigger(ctx, hf, "clean")
	if err != nil {
		log.Fatal(err)
	}
	second, err := schedule.Trigger(ctx, hf, "clean")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(first.State, second.State, second.State == store.RunSkipped && second.Job == first.Job)
	// Output: fired skipped true
}
