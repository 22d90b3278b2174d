package retention_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/retention"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// A queue with very many jobs keeps those that completed for an hour, and its dead letters for
// thirty days.
func Example() {
	ctx := context.Background()
	client, err := holdfast.Open(ctx, sqlite.File(sqlite.Memory))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	class := store.RetentionClass{Name: "short", Completed: time.Hour, Failed: 30 * 24 * time.Hour}
	if _, err := retention.Set(ctx, client, class); err != nil {
		log.Fatal(err)
	}
	if err := retention.Name(ctx, client, "metrics", "short"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(errors.Is(retention.Delete(ctx, client, "short"), holdfast.ErrConflict))
	// Output: true
}
