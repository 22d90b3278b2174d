package push

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/endpoint"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/store"
)

// spare is for how many webhooks more than there are the node of webhooks has slots, so that not
// each new one needs another node.
const spare = 8

// mostDeliveries bounds the slots of deliveries: one takes little memory until it is used.
const mostDeliveries = 10_000

// deliveries is how many slots a node has for the deliveries of so many webhooks: as many as all of
// them may have under way, so that those that hang hold up no others; n if that is more.
func deliveries(webhooks, n int) int {
	return max(n, min(webhooks*endpoint.MostAtOnce, mostDeliveries))
}

// maxPayload is that of the nodes: an answer of maxAnswer takes more as a text of JSON, in the
// journal.
const maxPayload = 8 * maxAnswer

// part is what has a node.
type part struct {
	namespace string
	purpose   store.EndpointPurpose
}

// starter starts nodes.
type starter struct {
	client  *holdfast.Client
	http    *http.Client
	base    string
	slots   int
	options []holdfast.Option
	log     *slog.Logger
	started int // how many were
}

// start starts a node.
func (p *starter) start(ctx context.Context, of part, s *settings) (*node, error) {
	n := &node{http: p.http, base: p.base}
	n.leaving, n.leave = context.WithCancel(context.WithoutCancel(ctx))
	slots, name := p.slots, "push"
	switch of.purpose {
	case store.EndpointPush:
		n.kinds = slices.Sorted(maps.Keys(s.pushes))
	case store.EndpointWebhook:
		name = "webhooks"
		n.webhooks = len(s.webhooks) + spare
		slots = deliveries(n.webhooks, slots) + n.webhooks
	}
	n.now.Store(s)
	p.started++
	client, err := holdfast.Open(ctx, sourceOf(p.client, fmt.Sprintf("push %d", p.started)), slices.Concat(p.options, []holdfast.Option{
		holdfast.WithLogger(p.log), holdfast.WithNamespace(of.namespace), holdfast.WithActor(actor), holdfast.WithNodeName(name),
		holdfast.WithSlots(slots), holdfast.WithStopTimeout(longest), holdfast.WithMaxPayload(maxPayload),
	})...)
	if err != nil {
		n.leave()
		return nil, err
	}
	n.client = client
	err = n.register()
	if err == nil && of.purpose == store.EndpointWebhook {
		_, err = limit.Sync(ctx, client, endpoint.AtOnce)
	}
	if err == nil {
		err = client.Start(context.WithoutCancel(ctx))
	}
	if err != nil {
		n.stop(ctx, p.log)
		return nil, err
	}
	return n, nil
}

// register registers the handlers.
func (n *node) register() error {
	for _, kind := range n.kinds {
		if err := holdfast.NewKind[json.RawMessage, json.RawMessage](kind).Handle(n.client, n.handle); err != nil {
			return err
		}
	}
	if n.kinds != nil {
		return nil
	}
	if err := readers.Handle(n.client, n.read); err != nil {
		return err
	}
	return endpoint.Deliveries.Handle(n.client, n.deliver)
}
