package push

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/endpoint"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

// lookEvery is how often it is looked what is set.
const lookEvery = 2 * time.Second

// Config configures what a server sends.
type Config struct {
	HTTP *http.Client
	// URL is that under which the API is reached from outside; "": not known.
	URL string
	// Slots is how many requests of jobs each namespace has under way at once. Default: 100.
	Slots int
	// Options are those of the nodes besides, such as what retention they keep.
	Options []holdfast.Option
	Log     *slog.Logger
	Begin   <-chan struct{} // closed when it may begin; nil: at once
	Every   time.Duration   // how often it is looked what is set; 0: lookEvery
}

// pusher knows what is set in all namespaces.
type pusher struct {
	starter

	every    time.Duration
	nodes    map[part]*node
	stopping sync.WaitGroup
	failing  bool // the last look has failed, which was said
}

// Start begins to send what is set in a client's database, and returns what ends it.
func Start(client *holdfast.Client, c Config) (end func(context.Context) error) {
	p := &pusher{
		starter: starter{
			client: client, http: c.HTTP, base: strings.TrimRight(c.URL, "/"), slots: c.Slots, options: c.Options, log: c.Log,
		},
		every: c.Every, nodes: map[part]*node{},
	}
	if p.slots == 0 {
		p.slots = 100
	}
	if p.every == 0 {
		p.every = lookEvery
	}
	ctx, cancel := context.WithCancel(context.Background())
	var working sync.WaitGroup
	working.Go(func() {
		if c.Begin != nil {
			select {
			case <-c.Begin:
			case <-ctx.Done():
			}
		}
		p.run(ctx)
	})
	return func(context.Context) error {
		cancel()
		working.Wait()
		p.http.CloseIdleConnections()
		return nil
	}
}

func (p *pusher) run(ctx context.Context) {
	for ctx.Err() == nil {
		p.look(ctx)
		supervise.Sleep(ctx, p.every)
	}
	for _, n := range p.nodes {
		p.leave(ctx, n)
	}
	p.stopping.Wait()
}

// leave lets a node end, while others go on.
func (p *pusher) leave(ctx context.Context, n *node) {
	p.stopping.Go(func() { n.stop(ctx, p.log) })
}

// look reads what is set, and starts and stops nodes by it.
func (p *pusher) look(ctx context.Context) {
	all, err := p.read(ctx)
	if err != nil {
		if ctx.Err() == nil && !p.failing {
			p.failing = true
			p.log.Warn("cannot read what endpoints and webhooks there are; what was known before holds", "error", err)
		}
		return
	}
	p.failing = false
	for of, n := range p.nodes {
		if s := all[of.namespace]; s == nil || !s.has(of.purpose) {
			delete(p.nodes, of)
			p.leave(ctx, n)
		}
	}
	for namespace, s := range all {
		for _, purpose := range []store.EndpointPurpose{store.EndpointPush, store.EndpointWebhook} {
			if s.has(purpose) {
				p.work(ctx, part{namespace, purpose}, s)
			}
		}
	}
}

// work lets a node work what is set.
func (p *pusher) work(ctx context.Context, of part, s *settings) {
	n := p.nodes[of]
	if n != nil {
		n.now.Store(s)
	}
	if n == nil || !n.fits(s) {
		next, err := p.start(ctx, of, s)
		if err != nil {
			if ctx.Err() == nil {
				p.log.Warn("cannot start a node that pushes; it is tried again", "namespace", of.namespace, "error", err)
			}
			return
		}
		p.nodes[of] = next
		if n != nil {
			p.leave(ctx, n)
		}
		n = next
	}
	if of.purpose == store.EndpointWebhook {
		n.readAll(ctx, s, p.log)
	}
}

// read reads what is set, by namespace.
func (p *pusher) read(ctx context.Context) (map[string]*settings, error) {
	all := map[string]*settings{}
	of := func(namespace string) *settings {
		s := all[namespace]
		if s == nil {
			s = &settings{pushes: map[string]*endpoint.Push{}, webhooks: map[string]*endpoint.Entry[endpoint.Webhook]{}}
			all[namespace] = s
		}
		return s
	}
	err := errors.Join(
		each(ctx, p.client, store.EndpointPush, func(e *endpoint.Entry[endpoint.Push]) { of(e.Namespace).pushes[e.Name] = &e.Set }),
		each(ctx, p.client, store.EndpointWebhook, func(e *endpoint.Entry[endpoint.Webhook]) { of(e.Namespace).webhooks[e.Name] = e }),
	)
	return all, err
}

// each calls f with each entry of a purpose, in all namespaces.
func each[T endpoint.Push | endpoint.Webhook](
	ctx context.Context, client *holdfast.Client, purpose store.EndpointPurpose, f func(e *endpoint.Entry[T]),
) error {
	const page = 1000
	engine, _ := access.Engine(client)
	params := store.EndpointParams{Purpose: purpose, Limit: page}
	for {
		all, err := engine.Store.Endpoints(ctx, params)
		if err != nil {
			return err
		}
		for i := range all {
			e, err := endpoint.Read[T](&all[i])
			if err != nil { // it may be of a newer version, whose servers see to it
				continue
			}
			f(&e)
		}
		if len(all) < page {
			return nil
		}
		params.After = all[len(all)-1].EndpointName
	}
}
