package endpoint

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/valid"
	"github.com/holdfastdev/holdfast/store"
)

// Entry is an endpoint or a webhook as it is kept, with what is set of it.
type Entry[T Push | Webhook] struct {
	store.Endpoint

	Set T
}

// purpose is that of a type.
func purpose[T Push | Webhook]() store.EndpointPurpose {
	if _, is := any(new(T)).(*Push); is {
		return store.EndpointPush
	}
	return store.EndpointWebhook
}

// Read reads an entry as a store keeps it.
func Read[T Push | Webhook](e *store.Endpoint) (Entry[T], error) {
	entry := Entry[T]{Endpoint: *e}
	if err := json.Unmarshal(e.Data, &entry.Set); err != nil {
		return entry, fmt.Errorf("cannot read what is set of %s, which may be of a newer version: %w", e.String(), err)
	}
	return entry, nil
}

// List returns a page of the entries of the client's namespace by name, behind a name.
func List[T Push | Webhook](ctx context.Context, client *holdfast.Client, after string, limit int) ([]Entry[T], error) {
	return list[T](ctx, client, store.EndpointParams{After: store.EndpointName{Namespace: client.Namespace(), Name: after}, Limit: limit})
}

func list[T Push | Webhook](ctx context.Context, client *holdfast.Client, params store.EndpointParams) ([]Entry[T], error) {
	params.Purpose, params.Namespace = purpose[T](), client.Namespace()
	e, _ := access.Engine(client)
	all, err := e.Store.Endpoints(ctx, params)
	if err != nil {
		return nil, err
	}
	entries := make([]Entry[T], len(all))
	for i := range all {
		if entries[i], err = Read[T](&all[i]); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// Get returns an entry. The error is ErrNotFound.
func Get[T Push | Webhook](ctx context.Context, client *holdfast.Client, name string) (Entry[T], error) {
	var entries []Entry[T]
	var err error
	if name != "" {
		entries, err = list[T](ctx, client, store.EndpointParams{Name: name, Limit: 1})
	}
	if err == nil && len(entries) == 0 {
		err = store.NoEndpoint(store.EndpointName{Namespace: client.Namespace(), Purpose: purpose[T](), Name: name})
	}
	if err != nil {
		return Entry[T]{}, err
	}
	return entries[0], nil
}

// CreatePush makes the endpoint of a kind, and returns it with its secret. The errors are
// ErrInvalid, and ErrConflict if the kind has one.
func CreatePush(ctx context.Context, client *holdfast.Client, kind string, p Push) (Entry[Push], string, error) {
	secret := NewSecret()
	p.Secrets = []Secret{{Secret: secret}}
	if err := p.Check(); err != nil {
		return Entry[Push]{}, "", err
	}
	if err := valid.Kind(kind); err != nil {
		return Entry[Push]{}, "", err
	}
	if store.IsOwnKind(kind) {
		return Entry[Push]{}, "", invalid("jobs of the kind %q are Holdfast's own", kind)
	}
	e, err := set(ctx, client, kind, 0, "", p)
	return e, secret, err
}

// CreateWebhook makes a webhook, which is told of what happens from now on, and returns it with its
// secret. The errors are ErrInvalid, ErrConflict if there is one of that name, and store.ErrFeedOff
// while the feed of changes is off.
func CreateWebhook(ctx context.Context, client *holdfast.Client, name string, w Webhook) (Entry[Webhook], string, error) {
	secret := NewSecret()
	w.ID, w.Secrets = store.NewID().String(), []Secret{{Secret: secret}}
	if err := cmp.Or(valid.Name("webhook", name), w.Check()); err != nil {
		return Entry[Webhook]{}, "", err
	}
	if err := now(ctx, client, &w); err != nil {
		return Entry[Webhook]{}, "", err
	}
	e, err := set(ctx, client, name, 0, "", w)
	return e, secret, err
}

// now lets a webhook begin with what happens from now on.
func now(ctx context.Context, client *holdfast.Client, w *Webhook) error {
	e, _ := access.Engine(client)
	if err := e.Store.OrderFeed(ctx); err != nil {
		return err
	}
	status, err := e.Store.FeedStatus(ctx)
	if err == nil && !status.On {
		err = store.ErrFeedOff
	}
	w.After = status.Newest
	return err
}

func set[T Push | Webhook](ctx context.Context, client *holdfast.Client, name string, version int64, was string, to T) (Entry[T], error) {
	e, actor := access.Engine(client)
	is, err := e.Store.SetEndpoint(ctx, store.SetEndpointParams{
		EndpointName: store.EndpointName{Namespace: client.Namespace(), Purpose: purpose[T](), Name: name},
		Data:         encode(to), Version: version, Actor: actor, Was: was, Is: sayOf(&to),
	})
	if err != nil {
		return Entry[T]{}, err
	}
	return Read[T](&is)
}

// Update changes an entry: change gets what is set of it, and says what is to be. It is repeated if
// another one changes it meanwhile, and writes nothing if it changes nothing. The errors are
// ErrNotFound, ErrInvalid, and those of change.
func Update[T Push | Webhook](ctx context.Context, client *holdfast.Client, name string, change func(e *Entry[T]) error) (Entry[T], error) {
	for {
		e, err := Get[T](ctx, client, name)
		was := sayOf(&e.Set)
		if err == nil {
			err = change(&e)
		}
		if err == nil {
			err = any(&e.Set).(interface{ Check() error }).Check() //nolint:errcheck // both have it
		}
		if err != nil {
			return e, err
		}
		if bytes.Equal(encode(e.Set), e.Data) {
			return e, nil
		}
		is, err := set(ctx, client, name, e.Version, was, e.Set)
		if !errors.Is(err, store.ErrConflict) {
			return is, err
		}
	}
}

// Enable lets a webhook that is disabled be told of what happens from now on.
func Enable(ctx context.Context, client *holdfast.Client, w *Webhook) error {
	if w.Disabled == "" {
		return nil
	}
	w.Disabled = ""
	return now(ctx, client, w)
}

// Rotate gives an entry a new secret, which it returns. For a while requests are signed by the old
// one, too; if the while is 0 they are not.
func Rotate[T Push | Webhook](ctx context.Context, client *holdfast.Client, name string, overlap time.Duration) (Entry[T], string, error) {
	if overlap < 0 {
		return Entry[T]{}, "", invalid("the old secret cannot be used for %v more", overlap)
	}
	secret := NewSecret()
	at := access.Relay(client).Now()
	e, err := Update(ctx, client, name, func(e *Entry[T]) error {
		switch s := any(&e.Set).(type) {
		case *Push:
			s.Secrets = rotated(s.Secrets, secret, at, overlap)
		case *Webhook:
			s.Secrets = rotated(s.Secrets, secret, at, overlap)
		}
		return nil
	})
	return e, secret, err
}

// Delete removes an entry. The error is ErrNotFound.
func Delete[T Push | Webhook](ctx context.Context, client *holdfast.Client, name string) error {
	e, actor := access.Engine(client)
	is, err := Get[T](ctx, client, name)
	if err != nil {
		return err
	}
	return e.Store.DeleteEndpoint(ctx, store.DeleteEndpointParams{
		EndpointName: store.EndpointName{Namespace: client.Namespace(), Purpose: purpose[T](), Name: name}, Actor: actor, Was: sayOf(&is.Set),
	})
}
