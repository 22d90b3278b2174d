package rules_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/internal/pgtest/ready"
	"github.com/holdfastdev/holdfast/rules"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// envDatabase makes the program of the tests a node of a database.
const envDatabase = "HOLDFAST_RULES_TEST_DATABASE"

func TestMain(m *testing.M) {
	if database := os.Getenv(envDatabase); database != "" {
		if err := runUntilKilled(context.Background(), database); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	os.Exit(pgtest.Main(m))
}

func sourceOf(database string) store.Source {
	if strings.HasPrefix(database, "postgres://") {
		return postgres.URL(database)
	}
	return sqlite.File(database)
}

// onBoth runs a test with a database of each kind.
func onBoth(t *testing.T, test func(t *testing.T, database string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, filepath.Join(t.TempDir(), "rules.db"))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		pgtest.InSoak(t)
		test(t, ready.Database(t))
	})
}

func open(ctx context.Context, t *testing.T, database string) *holdfast.Client {
	t.Helper()
	client, err := holdfast.Open(ctx, sourceOf(database), quick...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close(context.WithoutCancel(ctx)) })
	return client
}

// quick are the options of nodes of tests: what a dead one did goes on soon.
var quick = []holdfast.Option{
	holdfast.WithLogger(slog.New(slog.DiscardHandler)), holdfast.WithLeases(200*time.Millisecond, time.Second),
}

var pay = holdfast.NewKind[string, string]("pay")

// handle lets a client handle payments: a job makes a callback with rules, publishes its token, and
// ends with the answer. What blocks is called before it waits.
func handle(client *holdfast.Client, c rules.Callback, blocks func()) error {
	return pay.Handle(client, func(run *holdfast.Run, _ string) (string, error) {
		made, err := rules.Open(run, "payment", c)
		if err != nil {
			return "", err
		}
		if err := run.Publish("token", made.Token); err != nil {
			return "", err
		}
		if blocks != nil {
			blocks()
		}
		var answer json.RawMessage
		err = made.Wait(run, &answer)
		return string(answer), err
	}, holdfast.MaxAttempts(1))
}

// runUntilKilled is a node whose payments make their callbacks, and come no farther.
func runUntilKilled(ctx context.Context, database string) error {
	client, err := holdfast.Open(ctx, sourceOf(database), quick...)
	if err != nil {
		return err
	}
	if err := handle(client, rules.Callback{OnComplete: `payload.first == true`}, func() { <-ctx.Done() }); err != nil {
		return err
	}
	return client.Run(ctx)
}

// begin enqueues a payment, and returns it with the token of its callback.
func begin(t *testing.T, client *holdfast.Client) (*holdfast.Job[string], string) {
	t.Helper()
	job, err := pay.Enqueue(t.Context(), client, "")
	if err != nil {
		t.Fatal(err)
	}
	item, err := client.WaitPublished(t.Context(), job.ID, "token", 0)
	if err != nil {
		t.Fatal(err)
	}
	var token string
	if err := json.Unmarshal(item.Value, &token); err != nil {
		t.Fatal(err)
	}
	return job, token
}
