package push

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/endpoint"
	"github.com/holdfastdev/holdfast/internal/outbound"
)

// DeliveryKind is the kind of the jobs that tell webhooks of events. They have the id of the
// webhook as a tag.
const DeliveryKind = "holdfast.delivery"

// Delivery are the args of such a job.
type Delivery struct {
	Webhook   string          `json:"webhook"`    // its name
	WebhookID string          `json:"webhook_id"` // and its id
	Event     string          `json:"event"`      // the id of the event, which is the same in each delivery of it
	Type      endpoint.Event  `json:"type"`
	Body      json.RawMessage `json:"body"`
}

// Delivered is the result of such a job.
type Delivered struct {
	Status int    `json:"status"`
	Took   string `json:"took"`
}

// deliveries are tried for about a day.
var deliveries = holdfast.NewKind[Delivery, Delivered](DeliveryKind, holdfast.Queue(queue),
	holdfast.MaxAttempts(14), holdfast.Backoff(5*time.Second, 4*time.Hour))

// item is the job that tells a webhook of an event.
func item(e *endpoint.Entry[endpoint.Webhook], event string, m endpoint.Message) holdfast.BatchItem {
	body, err := json.Marshal(m)
	if err != nil {
		panic(err) // it has plain fields
	}
	return deliveries.Item(Delivery{Webhook: e.Name, WebhookID: e.Set.ID, Event: event, Type: m.Type, Body: body}, holdfast.Tags(e.Set.ID))
}

// Test enqueues a delivery that says that it is a test, and returns the id of its job.
func Test(ctx context.Context, client *holdfast.Client, e *endpoint.Entry[endpoint.Webhook]) (holdfast.ID, error) {
	id := holdfast.NewID()
	m := endpoint.Message{Type: endpoint.Test, Timestamp: time.Now().UTC(), Data: endpoint.Data{Namespace: e.Namespace}}
	return enqueue(ctx, client, item(e, id.String(), m))
}

// Again enqueues a delivery of the same event, and returns the id of its job.
func Again(ctx context.Context, client *holdfast.Client, d Delivery) (holdfast.ID, error) {
	return enqueue(ctx, client, deliveries.Item(d, holdfast.Tags(d.WebhookID)))
}

func enqueue(ctx context.Context, client *holdfast.Client, it holdfast.BatchItem) (holdfast.ID, error) {
	ids, err := client.EnqueueBatch(ctx, []holdfast.BatchItem{it})
	if err != nil {
		return holdfast.ID{}, err
	}
	return ids[0].ID, ids[0].Err
}

// deliver is the handler of deliveries.
func (n *node) deliver(run *holdfast.Run, d Delivery) (Delivered, error) {
	e, err := endpoint.Get[endpoint.Webhook](run, n.client, d.Webhook)
	switch {
	case errors.Is(err, holdfast.ErrNotFound), err == nil && e.Set.ID != d.WebhookID:
		return Delivered{}, holdfast.Fail(fmt.Errorf("the webhook %q was deleted", d.Webhook))
	case err != nil:
		return Delivered{}, err
	case e.Set.Disabled != "":
		return Delivered{}, holdfast.Fail(fmt.Errorf("the webhook %q is disabled: %s", d.Webhook, e.Set.Disabled))
	}
	began := time.Now()
	got, err := send(run, n.http, &sent{
		id: d.Event, target: &e.Set.Target, secrets: endpoint.SecretsAt(e.Set.Secrets, began), body: d.Body,
	})
	if refused, is := errors.AsType[*outbound.RefusedError](err); is {
		return Delivered{}, holdfast.Fail(fmt.Errorf("%s: %w", hostOf(&e.Set.Target), refused))
	}
	if err != nil {
		return Delivered{}, err
	}
	if got.isSuccess() {
		return Delivered{Status: got.status, Took: time.Since(began).Round(time.Millisecond).String()}, nil
	}
	err = got.failure(&e.Set.Target)
	if got.status == http.StatusGone {
		if broken := disable(run, n.client, &e, "it answered 410 Gone"); broken != nil {
			return Delivered{}, broken
		}
		return Delivered{}, holdfast.Fail(err)
	}
	if wait, asked := got.retryAfter(); asked {
		return Delivered{}, holdfast.RetryAfter(wait, err)
	}
	return Delivered{}, err
}
