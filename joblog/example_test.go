package joblog_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/joblog"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// What a handler says to run.Logger can be read with its job, also when the node that ran it is
// gone.
func Example() {
	ctx := context.Background()
	hf, err := holdfast.Open(ctx, sqlite.File(sqlite.Memory), holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		log.Fatal(err)
	}
	defer hf.Close(ctx)
	imports := holdfast.NewKind[string, int]("import")
	err = imports.Handle(hf, func(run *holdfast.Run, file string) (int, error) {
		log := run.Logger(nil)
		log.Info("reading", "file", file)
		log.Warn("a row was skipped", "row", 7)
		return 41, nil
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := hf.Start(ctx); err != nil {
		log.Fatal(err)
	}
	job, err := imports.Enqueue(ctx, hf, "people.csv")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := job.Wait(ctx); err != nil {
		log.Fatal(err)
	}
	page, err := joblog.Read(ctx, hf, job.ID, joblog.Query{})
	if err != nil {
		log.Fatal(err)
	}
	for _, line := range page.Lines {
		fmt.Println(line.Level, line.Message, string(line.Attrs))
	}
	if err := hf.Stop(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// INFO reading {"file":"people.csv"}
	// WARN a row was skipped {"row":7}
}
