package endpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/store"
)

const (
	// DeliveryKind is the kind of the jobs that tell webhooks of events. They have the id of the
	// webhook as a tag.
	DeliveryKind = "holdfast.delivery"
	// DeliveryQueue is their queue.
	DeliveryQueue = "holdfast"
)

// Delivery are the args of such a job.
type Delivery struct {
	Webhook   string          `json:"webhook"`    // its name
	WebhookID string          `json:"webhook_id"` // and its id
	Event     string          `json:"event"`      // the id of the event, which is the same in each delivery of it
	Type      Event           `json:"type"`
	Body      json.RawMessage `json:"body"`
}

// Delivered is the result of such a job.
type Delivered struct {
	Status int    `json:"status"`
	Took   string `json:"took"`
}

// Deliveries are tried for 10 to 12 hours.
var Deliveries = holdfast.NewKind[Delivery, Delivered](DeliveryKind, holdfast.Queue(DeliveryQueue),
	holdfast.MaxAttempts(14), holdfast.Backoff(5*time.Second, 4*time.Hour))

// MostAtOnce is how many requests to one webhook are under way at once, unless the limit AtOnce is
// changed.
const MostAtOnce = 20

// AtOnce is the limit per key in which deliveries count, under the id of their webhook: one whose
// receiver is slow does not hold up the others. Servers make it in each namespace that has
// webhooks. What people set of it stays.
var AtOnce = limit.New("holdfast.webhook", limit.PerKey(), limit.Capacity(MostAtOnce)) //nolint:gochecknoglobals // as kinds are

// options are those of a delivery to a webhook.
func options(webhook string) []holdfast.EnqueueOption {
	return []holdfast.EnqueueOption{holdfast.Tags(webhook), limit.By(AtOnce.Name(), webhook)}
}

// Deliver is the job that tells a webhook of an event.
func Deliver(e *Entry[Webhook], event string, m Message) holdfast.BatchItem {
	d := Delivery{Webhook: e.Name, WebhookID: e.Set.ID, Event: event, Type: m.Type, Body: encode(m)}
	return Deliveries.Item(d, options(d.WebhookID)...)
}

// SendTest enqueues a delivery that says that it is a test, and returns the id of its job.
func SendTest(ctx context.Context, client *holdfast.Client, e *Entry[Webhook]) (holdfast.ID, error) {
	m := Message{Type: Test, Timestamp: time.Now().UTC(), Data: Data{Namespace: e.Namespace}}
	return enqueue(ctx, client, Deliver(e, holdfast.NewID().String(), m))
}

// Redeliver enqueues a delivery of the event of another one, and returns the id of its job. The
// error is ErrNotFound if the job is none that delivers to the webhook.
func Redeliver(ctx context.Context, client *holdfast.Client, e *Entry[Webhook], of holdfast.ID) (holdfast.ID, error) {
	r, err := client.Get(ctx, of)
	if err != nil {
		return holdfast.ID{}, err
	}
	var d Delivery
	if r.Kind == DeliveryKind {
		err = json.Unmarshal(r.Args, &d)
	}
	if err != nil || d.WebhookID != e.Set.ID {
		return holdfast.ID{}, fmt.Errorf("%w: job %s delivers nothing to the webhook %q", store.ErrNotFound, of, e.Name)
	}
	return enqueue(ctx, client, Deliveries.Item(d, options(d.WebhookID)...))
}

// ListDeliveries returns a page of the jobs that deliver to a webhook, the newest first.
func ListDeliveries(
	ctx context.Context, client *holdfast.Client, e *Entry[Webhook], states []store.State, after string, limit int,
) (store.Page, error) {
	return client.List(ctx, store.Filter{Kinds: []string{DeliveryKind}, Tags: []string{e.Set.ID}, States: states}, after, limit)
}

func enqueue(ctx context.Context, client *holdfast.Client, it holdfast.BatchItem) (holdfast.ID, error) {
	made, err := client.EnqueueBatch(ctx, []holdfast.BatchItem{it})
	if err != nil {
		return holdfast.ID{}, err
	}
	return made[0].ID, nil
}
