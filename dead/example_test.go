package dead_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/dead"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// What has failed for good is grouped by what the failures have in common, and a group runs again
// with other args.
func Example() {
	ctx := context.Background()
	hf, err := holdfast.Open(ctx, sqlite.File(sqlite.Memory), holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		log.Fatal(err)
	}
	defer hf.Close(ctx)
	mail := holdfast.NewKind[string, string]("mail")
	err = mail.Handle(hf, func(_ *holdfast.Run, to string) (string, error) {
		if to == "postmaster" {
			return "sent", nil
		}
		return "", holdfast.Fail(fmt.Errorf("no mailbox %q: %w", to, errors.New("status 550")))
	})
	if err == nil {
		err = hf.Start(ctx)
	}
	if err != nil {
		log.Fatal(err)
	}
	defer hf.Stop(ctx)
	for _, to := range []string{"ann", "bob"} {
		job, err := mail.Enqueue(ctx, hf, to)
		if err != nil {
			log.Fatal(err)
		}
		_, _ = job.Wait(ctx)
	}

	page, err := dead.Groups(ctx, hf, store.DeadParams{Limit: 10})
	if err != nil {
		log.Fatal(err)
	}
	for _, g := range page.Groups {
		fmt.Println(g.Count.N, "of", g.Kind+",", g.Reason)
		report, err := dead.Redrive(ctx, hf, store.Filter{Kinds: []string{g.Kind}, Fingerprints: []int64{g.Fingerprint}}, dead.Options{
			Args: func(*store.Record) (json.RawMessage, error) { return json.RawMessage(`"postmaster"`), nil },
			Rate: 50, Reason: "to the postmaster instead",
		})
		fmt.Println(report.Done, "run again,", report.Failed, "do not,", err)
	}
	// Output:
	// 2 of mail, terminal
	// 2 run again, 0 do not, <nil>
}
