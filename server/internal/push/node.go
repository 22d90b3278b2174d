package push

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/endpoint"
	"github.com/holdfastdev/holdfast/store"
)

// actor is under which name a server changes webhooks.
const actor = "server"

// errGone is why a job waits that a node has claimed whose kind has no endpoint any more.
var errGone = errors.New("the kind has no endpoint any more")

// settings are what is set of the endpoints and webhooks of a namespace.
type settings struct {
	pushes   map[string]*endpoint.Push
	webhooks map[string]*endpoint.Entry[endpoint.Webhook]
}

func (s *settings) has(purpose store.EndpointPurpose) bool {
	if purpose == store.EndpointPush {
		return len(s.pushes) > 0
	}
	return len(s.webhooks) > 0
}

// node works the jobs of the endpoints of a namespace, or of its webhooks. They have a node each,
// so that requests to slow endpoints do not take the slots of deliveries.
type node struct {
	client   *holdfast.Client
	http     *http.Client
	base     string   // the URL of the API, for callbacks; "": not known
	kinds    []string // those with an endpoint when it was started; nil: it is of webhooks
	webhooks int      // how many have a slot for their reader
	now      atomic.Pointer[settings]
	leaving  context.Context // ends when the node is to stop, so that readers hand their jobs on at once
	leave    context.CancelFunc
}

// fits reports whether the node can work what is set, and was not drained: else another one is to
// be started.
func (n *node) fits(s *settings) bool {
	if h := n.client.Health(); h.Node == 0 || h.Mode == store.NodeDrains {
		return false
	}
	if n.kinds == nil {
		return len(s.webhooks) <= n.webhooks
	}
	return slices.Equal(n.kinds, slices.Sorted(maps.Keys(s.pushes)))
}

// endpoint is what is set of the endpoint of a kind.
func (n *node) endpoint(kind string) (*endpoint.Push, error) {
	if p := n.now.Load().pushes[kind]; p != nil {
		return p, nil
	}
	return nil, errGone
}

func (n *node) callbackURL(token string) string {
	if n.base == "" {
		return ""
	}
	return n.base + "/api/v1/callbacks/" + token + "/complete?namespace=" + url.QueryEscape(n.client.Namespace())
}

const (
	// longest is how long a node that another one replaces goes on with what it has begun: as long
	// as a request may take.
	longest = endpoint.MostTimeout + time.Minute
	// stopWithin is how long requests may go on when the server stops, as handlers may.
	stopWithin = 20 * time.Second
	// closeWithin is how long what has ended may be written after that.
	closeWithin = 10 * time.Second
)

// stop lets what the node has begun end. ctx ends when the server stops.
func (n *node) stop(ctx context.Context, log *slog.Logger) {
	n.leave()
	hard, end := context.WithTimeout(context.WithoutCancel(ctx), longest)
	defer end()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(stopWithin, end) })()
	stopped := n.client.Stop(hard)
	closing, forgo := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer forgo()
	if err := errors.Join(stopped, n.client.Close(closing)); err != nil {
		log.Warn("a node that pushes did not stop as it should", "error", err)
	}
}
