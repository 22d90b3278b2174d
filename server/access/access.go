// Package access says who makes a request, and what the caller may do.
//
// A request is made by a principal. What it may do are its scopes, in the namespaces that it has;
// what is in others is not there for it. Roles are sets of scopes for people. An Authenticator
// finds out who makes a request. Token is the simplest: each caller that has it may do everything.
//
// # Imports
//
// Of ours, apikey.
package access

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfastdev/holdfast/apikey"
)

// Scope is the right to some of the operations of the API.
type Scope = apikey.Scope

// The scopes, as package apikey describes them.
const (
	JobsRead        = apikey.JobsRead
	JobsWrite       = apikey.JobsWrite
	PayloadsRead    = apikey.PayloadsRead
	QueuesRead      = apikey.QueuesRead
	QueuesWrite     = apikey.QueuesWrite
	SchedulesRead   = apikey.SchedulesRead
	SchedulesWrite  = apikey.SchedulesWrite
	LimitsRead      = apikey.LimitsRead
	LimitsWrite     = apikey.LimitsWrite
	NodesRead       = apikey.NodesRead
	NodesWrite      = apikey.NodesWrite
	DeadRead        = apikey.DeadRead
	DeadWrite       = apikey.DeadWrite
	OperationsRead  = apikey.OperationsRead
	OperationsWrite = apikey.OperationsWrite
	EndpointsRead   = apikey.EndpointsRead
	EndpointsAdmin  = apikey.EndpointsAdmin
	EventsRead      = apikey.EventsRead
	StatsRead       = apikey.StatsRead
	AuditRead       = apikey.AuditRead
	Workers         = apikey.Workers
	Exec            = apikey.Exec
	Store           = apikey.Store
	KeysAdmin       = apikey.KeysAdmin
	NamespacesAdmin = apikey.NamespacesAdmin
)

// Scopes are all scopes.
var Scopes = apikey.Scopes

// Quote is a name for records of what people did, as package apikey describes it.
func Quote(name string) string { return apikey.Quote(name) }

// Principal is who makes a request.
type Principal struct {
	// Name is recorded with what it changes.
	Name string
	// Namespaces are those that it has; nil: all.
	Namespaces []string
	// Scopes are what it may do there.
	Scopes []Scope
	// Only are what it may do besides in single namespaces, which it has.
	Only map[string][]Scope
}

// In is who it is in a call that is about a namespace which it has. One that may do more there than
// elsewhere has no other namespace in that call.
func (p *Principal) In(namespace string) *Principal {
	more := p.Only[namespace]
	if len(more) == 0 {
		return p
	}
	there := &Principal{Name: p.Name, Namespaces: []string{namespace}}
	for _, s := range Scopes {
		if slices.Contains(p.Scopes, s) || slices.Contains(more, s) {
			there.Scopes = append(there.Scopes, s)
		}
	}
	return there
}

// Everything is a principal that may do everything everywhere.
func Everything(name string) Principal { return Principal{Name: name, Scopes: Scopes} }

// May reports whether it has a scope; "" is one that all have.
func (p *Principal) May(scope Scope) bool { return scope == "" || slices.Contains(p.Scopes, scope) }

// MaySomewhere reports whether it has a scope in any namespace.
func (p *Principal) MaySomewhere(scope Scope) bool {
	if p.May(scope) {
		return true
	}
	for _, more := range p.Only {
		if slices.Contains(more, scope) {
			return true
		}
	}
	return false
}

// Has reports whether it has a namespace.
func (p *Principal) Has(namespace string) bool {
	return p.Namespaces == nil || slices.Contains(p.Namespaces, namespace)
}

// ErrUnauthenticated is the error of an Authenticator that finds no valid credential in a request.
var ErrUnauthenticated = errors.New("no valid credential")

// Authenticator finds out who makes a request. Its error is ErrUnauthenticated, which may say more,
// or that of what it has to ask.
type Authenticator func(*http.Request) (Principal, error)

// Anyone lets everybody do everything, under a name.
func Anyone(name string) Authenticator {
	return func(*http.Request) (Principal, error) { return Everything(name), nil }
}

// First lets those in whom one of several lets in, and asks them in their order. One that cannot
// tell who the caller is, as what it has to ask fails, ends the search.
func First(all ...Authenticator) Authenticator {
	return func(r *http.Request) (p Principal, err error) {
		err = ErrUnauthenticated
		for _, one := range all {
			if p, err = one(r); !errors.Is(err, ErrUnauthenticated) {
				return p, err
			}
		}
		return p, err
	}
}

// Token lets everybody do everything who has a token, which has to be long and random. See Bearer.
func Token(name, token string) Authenticator {
	want := sha256.Sum256([]byte(token))
	return func(r *http.Request) (Principal, error) {
		got := sha256.Sum256([]byte(Bearer(r)))
		if token == "" || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			return Principal{}, ErrUnauthenticated
		}
		return Everything(name), nil
	}
}

// Cookie is the name of the cookie in which browsers keep the credential for the server that a
// request is for. They send cookies to all ports of a host, so each port has a name of its own: or
// who signs in to one server would be signed out of the others.
func Cookie(r *http.Request) string {
	const name = "holdfast"
	_, port, err := net.SplitHostPort(r.Host)
	if _, isNot := strconv.ParseUint(port, 10, 16); err != nil || isNot != nil {
		return name
	}
	return name + "_" + port
}

// Keys lets callers in by API keys, with what each key may do.
func Keys(keys *apikey.Cache) Authenticator {
	return func(r *http.Request) (Principal, error) {
		secret := Bearer(r)
		if secret == "" {
			return Principal{}, ErrUnauthenticated
		}
		p, err := keys.Verify(r.Context(), secret)
		switch {
		case errors.Is(err, apikey.ErrMalformed), errors.Is(err, apikey.ErrUnknown), errors.Is(err, apikey.ErrRevoked),
			errors.Is(err, apikey.ErrExpired):
			return Principal{}, ErrUnauthenticated // which of them, the caller need not know
		case err != nil:
			return Principal{}, err
		}
		who := Principal{Name: p.Actor(), Scopes: p.Scopes}
		if p.Namespace != "" {
			who.Namespaces = []string{p.Namespace}
		}
		return who, nil
	}
}

// Bearer is the credential of a request, in the header Authorization as "Bearer TOKEN", or else in
// the cookie; "": it has none.
func Bearer(r *http.Request) string {
	if said := r.Header.Get("Authorization"); said != "" {
		scheme, token, _ := strings.Cut(said, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return ""
		}
		return strings.TrimSpace(token)
	}
	if c, err := r.Cookie(Cookie(r)); err == nil {
		return c.Value
	}
	return ""
}

type principalKey struct{}

// With returns the context of a request that a principal makes.
func With(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

type checkKey struct{}

// WithCheck returns the context of a request whose credential a function checks again.
func WithCheck(ctx context.Context, check func() error) context.Context {
	return context.WithValue(ctx, checkKey{}, check)
}

// Lasts reports whether the credential of a request that lasts for long is valid still, as far as
// can be told.
func Lasts(ctx context.Context) bool {
	check, is := ctx.Value(checkKey{}).(func() error)
	return !is || !errors.Is(check(), ErrUnauthenticated)
}

// Of is who makes the request of a context; without one, a principal that may
// do nothing.
func Of(ctx context.Context) *Principal {
	if p, ok := ctx.Value(principalKey{}).(*Principal); ok {
		return p
	}
	return &Principal{}
}
