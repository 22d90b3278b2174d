package server

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/outbound"
	"github.com/holdfastdev/holdfast/server/internal/push"
	"github.com/holdfastdev/holdfast/store"
)

// PushOptions say what a server sends to endpoints and webhooks, and where to.
type PushOptions struct {
	// URL is that under which the API is reached from outside, such as https://jobs.example.com.
	// Endpoints are told where to call back by it; without it they are told the token alone.
	URL string
	// Allow are addresses beside public ones to which requests may be made. Without any the server
	// reaches nothing that not everybody reaches.
	Allow []netip.Prefix
	// Slots is how many jobs are sent at once in each namespace. Default: 100.
	Slots int
	// Options are those of the nodes that send, such as holdfast.WithRetention: each of them may
	// come to lead.
	Options []holdfast.Option
	// Resolver resolves the names of endpoints. Default: that of the system.
	Resolver *net.Resolver
	// Begin is closed when sending may begin. Default: at once.
	Begin <-chan struct{}
	// Log is told what goes wrong. Default: nothing is.
	Log *slog.Logger
}

// Push sends jobs to the endpoints of their kinds, and events to webhooks, of all namespaces of a
// client's database. It returns what ends that, which waits for requests that are under way. Any
// number of servers may do it for one database. The error is ErrInvalid for options that cannot be.
func Push(client *holdfast.Client, o PushOptions) (end func(context.Context) error, err error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.URL != "" {
		u, err := url.Parse(o.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return nil, fmt.Errorf("%w: %.200q is no URL of an API, such as https://jobs.example.com", store.ErrInvalid, o.URL)
		}
	}
	if o.Slots < 0 {
		return nil, fmt.Errorf("%w: %d requests at once; it is to be 1 or more", store.ErrInvalid, o.Slots)
	}
	return push.Start(client, push.Config{
		HTTP: outbound.Client(outbound.Config{Allow: o.Allow, Resolver: o.Resolver}), URL: o.URL, Slots: o.Slots, Options: o.Options, Log: o.Log,
		Begin: o.Begin,
	}), nil
}
