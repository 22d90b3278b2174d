// Package access says who makes a request, and what the caller may do.
//
// A request is made by a principal. What it may do are its scopes, in the namespaces that it has;
// what is in others is not there for it. Roles are sets of scopes for people. An Authenticator
// finds out who makes a request. Token is the simplest: each caller that has it may do everything.
package access

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"slices"
	"strings"
)

// Scope is the right to some of the operations of the API.
type Scope string

// The scopes.
const (
	JobsRead        Scope = "jobs:read"
	JobsWrite       Scope = "jobs:write"
	PayloadsRead    Scope = "payloads:read"
	QueuesRead      Scope = "queues:read"
	QueuesWrite     Scope = "queues:write"
	SchedulesRead   Scope = "schedules:read"
	SchedulesWrite  Scope = "schedules:write"
	LimitsRead      Scope = "limits:read"
	LimitsWrite     Scope = "limits:write"
	NodesRead       Scope = "nodes:read"
	NodesWrite      Scope = "nodes:write"
	DeadRead        Scope = "dead:read"
	DeadWrite       Scope = "dead:write"
	OperationsRead  Scope = "operations:read"
	OperationsWrite Scope = "operations:write"
	EventsRead      Scope = "events:read"
	StatsRead       Scope = "stats:read"
	Workers         Scope = "workers"
	Exec            Scope = "exec"
	KeysAdmin       Scope = "keys:admin"
	NamespacesAdmin Scope = "namespaces:admin"
)

// Scopes are all scopes.
var Scopes = []Scope{
	JobsRead, JobsWrite, PayloadsRead, QueuesRead, QueuesWrite, SchedulesRead, SchedulesWrite, LimitsRead, LimitsWrite,
	NodesRead, NodesWrite, DeadRead, DeadWrite, OperationsRead, OperationsWrite, EventsRead, StatsRead,
	Workers, Exec, KeysAdmin, NamespacesAdmin,
}

// Principal is who makes a request.
type Principal struct {
	// Name is recorded with what it changes.
	Name string
	// Namespaces are those that it has; nil: all.
	Namespaces []string
	// Scopes are what it may do there.
	Scopes []Scope
}

// Everything is a principal that may do everything everywhere.
func Everything(name string) Principal { return Principal{Name: name, Scopes: Scopes} }

// May reports whether it has a scope; "" is one that all have.
func (p *Principal) May(scope Scope) bool { return scope == "" || slices.Contains(p.Scopes, scope) }

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

// Cookie is the name of the cookie in which browsers keep a credential.
const Cookie = "holdfast_token"

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
	if c, err := r.Cookie(Cookie); err == nil {
		return c.Value
	}
	return ""
}

type principalKey struct{}

// With returns the context of a request that a principal makes.
func With(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// Of is who makes the request of a context; without one, a principal that may
// do nothing.
func Of(ctx context.Context) *Principal {
	if p, ok := ctx.Value(principalKey{}).(*Principal); ok {
		return p
	}
	return &Principal{}
}
