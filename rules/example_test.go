package rules_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/rules"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// A payment provider posts all that happens to a charge. The job goes on when it was paid.
func Example() {
	ctx := context.Background()
	hf, err := holdfast.Open(ctx, sqlite.File(sqlite.Memory), holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		log.Fatal(err)
	}
	defer hf.Close(ctx)
	tokens := make(chan string, 2) // the handler runs again after the wait
	order := holdfast.NewKind[string, string]("order")
	err = order.Handle(hf, func(run *holdfast.Run, _ string) (string, error) {
		c, err := rules.Open(run, "payment", rules.Callback{
			Filter:     `payload.type.startsWith("charge.")`,
			OnComplete: `payload.type == "charge.succeeded"`,
			OnFail:     `payload.type == "charge.failed"`,
			Transform:  `{"id": payload.charge.id, "cents": payload.charge.amount}`,
		})
		if err != nil {
			return "", err
		}
		tokens <- c.Token // here it would be sent to the provider, as an URL
		var paid struct {
			ID    string
			Cents int
		}
		if err := c.Wait(run, &paid); err != nil {
			return "", err
		}
		return fmt.Sprintf("%d cents by %s", paid.Cents, paid.ID), nil
	})
	if err == nil {
		err = hf.Start(ctx)
	}
	if err != nil {
		log.Fatal(err)
	}
	job, err := order.Enqueue(ctx, hf, "tea")
	if err != nil {
		log.Fatal(err)
	}

	token := <-tokens
	for _, sent := range []string{
		`{"type":"customer.created"}`,
		`{"type":"charge.pending","charge":{"id":"ch_1","amount":450}}`,
		`{"type":"charge.succeeded","charge":{"id":"ch_1","amount":450,"card":"visa"}}`,
	} {
		outcome, err := rules.Answer(ctx, hf, token, json.RawMessage(sent))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(outcome)
	}
	fmt.Println(job.Wait(ctx))
	// Output:
	// ignored
	// ignored
	// completed
	// 450 cents by ch_1 <nil>
}
