package stats_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/stats"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// What has happened to runs in the last hour, by queue. A node writes it with its heartbeats, and
// when it stops.
func Example() {
	ctx := context.Background()
	hf, err := holdfast.Open(ctx, sqlite.File(sqlite.Memory), holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		log.Fatal(err)
	}
	defer hf.Close(ctx)
	greet := holdfast.NewKind[string, string]("greet")
	err = greet.Handle(hf, func(_ *holdfast.Run, name string) (string, error) { return "hello " + name, nil })
	if err != nil {
		log.Fatal(err)
	}
	if err := hf.Start(ctx); err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"Ada", "Grace"} {
		job, err := greet.Enqueue(ctx, hf, name)
		if err != nil {
			log.Fatal(err)
		}
		if _, err := job.Wait(ctx); err != nil {
			log.Fatal(err)
		}
	}
	if err := hf.Stop(ctx); err != nil {
		log.Fatal(err)
	}
	points, err := stats.Jobs(ctx, hf, stats.Query{By: stats.ByQueue})
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range points {
		fmt.Println(p.Queue, p.Started, p.Completed, p.Failed, p.Run.P99 < time.Minute)
	}
	// Output:
	// default 2 2 0 true
}
