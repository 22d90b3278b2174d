package push_test

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/outbound"
	"github.com/holdfastdev/holdfast/server/internal/push"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// envDatabase makes the program of the tests a server of a database.
const envDatabase = "HOLDFAST_PUSH_TEST_DATABASE"

func sourceOf(database string) store.Source {
	if strings.HasPrefix(database, "postgres://") {
		return postgres.URL(database)
	}
	return sqlite.File(database)
}

// serveUntilKilled pushes what is set in a database. Its leases are short, so that another one goes
// on soon.
func serveUntilKilled(ctx context.Context, database string) error {
	log := slog.New(slog.DiscardHandler)
	client, err := holdfast.Open(ctx, sourceOf(database), holdfast.WithLogger(log))
	if err != nil {
		return err
	}
	push.Start(client, push.Config{
		HTTP: outbound.Client(outbound.Config{Allow: loopback}), Log: log, Every: quickly,
		Options: []holdfast.Option{holdfast.WithLeases(200*time.Millisecond, time.Second)},
	})
	<-ctx.Done()
	return nil
}
