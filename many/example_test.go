package many_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/many"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// Row is what is inserted.
type Row struct {
	Name string `json:"name"`
}

// Rows are inserted together, and each job gets its own answer.
func Example() {
	ctx := context.Background()
	hf, err := holdfast.Open(ctx, sqlite.File(sqlite.Memory), holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		log.Fatal(err)
	}
	defer hf.Close(ctx)

	insert := holdfast.NewKind[Row, int]("insert")
	err = many.Handle(hf, insert, 500, 0, func(rows []*many.Run[Row, int]) error {
		fmt.Printf("one INSERT of %d rows\n", len(rows)) // if that fails: return the error, for all of them
		for i, r := range rows {
			if r.Args.Name == "" {
				r.Fail(holdfast.Fail(errors.New("a row without a name")))
				continue
			}
			r.Return(1000+i, nil)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	jobs, err := insert.EnqueueMany(ctx, hf, []Row{{"ada"}, {""}, {"bob"}})
	if err != nil {
		log.Fatal(err)
	}
	if err := hf.Start(ctx); err != nil {
		log.Fatal(err)
	}
	for _, job := range jobs {
		id, err := job.Wait(ctx)
		fmt.Println(id, err != nil)
	}
	// Output:
	// one INSERT of 3 rows
	// 1000 false
	// 0 true
	// 1002 false
}
