package codec_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/codec"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// What jobs carry is encrypted in the database, and plain for handlers and callers.
func Example() {
	ctx := context.Background()
	key, err := codec.NewKey("k1") // or codec.ReadKeys of a file
	if err != nil {
		log.Fatal(err)
	}
	c, err := codec.AES(key)
	if err != nil {
		log.Fatal(err)
	}
	hf, err := holdfast.Open(ctx, sqlite.File(sqlite.Memory), codec.With(c), holdfast.WithLogger(slog.New(slog.DiscardHandler)))
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
	job, err := greet.Enqueue(ctx, hf, "Ada")
	if err != nil {
		log.Fatal(err)
	}
	greeting, err := job.Wait(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(greeting)
	if err := hf.Stop(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: hello Ada
}
