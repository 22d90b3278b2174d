package push

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/endpoint"
	"github.com/holdfastdev/holdfast/internal/outbound"
)

// deliver is the handler of deliveries.
func (n *node) deliver(run *holdfast.Run, d endpoint.Delivery) (endpoint.Delivered, error) {
	e, err := endpoint.Get[endpoint.Webhook](run, n.client, d.Webhook)
	switch {
	case errors.Is(err, holdfast.ErrNotFound), err == nil && e.Set.ID != d.WebhookID:
		return endpoint.Delivered{}, holdfast.Fail(fmt.Errorf("the webhook %q was deleted", d.Webhook))
	case err != nil:
		return endpoint.Delivered{}, err
	case e.Set.Disabled != "":
		return endpoint.Delivered{}, holdfast.Fail(fmt.Errorf("the webhook %q is disabled: %s", d.Webhook, e.Set.Disabled))
	}
	began := time.Now()
	got, err := send(run, n.http, &sent{
		id: d.Event, target: &e.Set.Target, secrets: endpoint.SecretsAt(e.Set.Secrets, began), body: d.Body,
	})
	if refused, is := errors.AsType[*outbound.RefusedError](err); is {
		return endpoint.Delivered{}, fmt.Errorf("%s: %w", hostOf(&e.Set.Target), refused) // another server may allow it
	}
	if err != nil {
		return endpoint.Delivered{}, err
	}
	if got.isSuccess() {
		return endpoint.Delivered{Status: got.status, Took: time.Since(began).Round(time.Millisecond).String()}, nil
	}
	err = got.failure(&e.Set.Target)
	if got.status == http.StatusGone {
		if broken := disable(run, n.client, &e, "it answered 410 Gone"); broken != nil {
			return endpoint.Delivered{}, broken
		}
		return endpoint.Delivered{}, holdfast.Fail(err)
	}
	if wait, asked := got.retryAfter(); asked {
		return endpoint.Delivered{}, holdfast.RetryAfter(wait, err)
	}
	return endpoint.Delivered{}, err
}
