package maintain_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/maintain"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// A function that a platform calls once a minute sees to what is due.
func Example() {
	ctx := context.Background()
	hf, err := holdfast.Open(ctx, sqlite.File(sqlite.Memory), holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		log.Fatal(err)
	}
	defer hf.Close(ctx)
	reminder := holdfast.NewKind[string, string]("reminder")
	if _, err := reminder.Enqueue(ctx, hf, "pay the rent", holdfast.Delay(time.Millisecond)); err != nil {
		log.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)

	report, err := maintain.Once(ctx, hf, 30*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d job became available, %d were rescued\n", report.Promoted, report.Rescued)
	// Output:
	// 1 job became available, 0 were rescued
}
