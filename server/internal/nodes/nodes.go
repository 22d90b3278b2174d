// Package nodes has the operations of the API on nodes.
//
// # Imports
//
// Of ours, the root package, internal/cli/views, and server/internal/api with what that stands on.
package nodes

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

const tag = "nodes"

// Register registers the operations.
func Register(a *api.API) {
	api.Register(a, api.Op{
		ID: "node-list", Method: http.MethodGet, Path: "/nodes", Tag: tag, Scope: access.NodesRead, Summary: "List nodes",
		About: `In the order in which they joined, with those that have ended lately. Without a namespace, those of all that the key has.
Nodes of old programs do not say their namespace: only keys that have all namespaces see them.`,
	}, list)
	api.Register(a, api.Op{
		ID: "node-get", Method: http.MethodGet, Path: "/nodes/{node}", Tag: tag, Scope: access.NodesRead, Summary: "Get a node",
	}, get)
	for _, ask := range []struct {
		id, summary, about string
		mode               store.NodeMode
		do                 func(*holdfast.Client, context.Context, int64) error
	}{
		{"quiet", "Let a node claim no more jobs", "Until it is resumed. It does everything else that a node does.", store.NodeQuiet, (*holdfast.Client).QuietNode},
		{"drain", "Let a node end its jobs and stop", "It is final for that node.", store.NodeDrains, (*holdfast.Client).DrainNode},
		{"resume", "Let a quiet node claim jobs again", "", store.NodeRuns, (*holdfast.Client).ResumeNode},
	} {
		api.Register(a, api.Op{
			ID: "node-" + ask.id, Method: http.MethodPost, Path: "/nodes/{node}/" + ask.id, Tag: tag, Scope: access.NodesWrite,
			Summary: ask.summary, About: strings.TrimSpace(ask.about + " The node hears of it with its next heartbeat. " +
				"A node without kinds, which is of a server or does maintenance, takes a key of all namespaces."),
		}, func(ctx context.Context, c *api.Call, in *ofNode) (*api.Body[NodeAsked], error) {
			n, err := in.find(ctx, c)
			if err == nil {
				err = mayAsk(c, n)
			}
			if err != nil {
				return nil, err
			}
			if err := ask.do(c.Client, ctx, in.number()); err != nil {
				return nil, err
			}
			return &api.Body[NodeAsked]{Body: NodeAsked{Node: views.Big(in.Node), Mode: ask.mode.String()}}, nil
		})
	}
}

// seen are those of all nodes that a call may see, in the order of their numbers.
func seen(c *api.Call, all []store.Node, namespace string) []store.Node {
	nodes := slices.DeleteFunc(all, func(n store.Node) bool {
		if namespace != "" {
			return n.Info.Namespace != namespace
		}
		return c.Principal.Namespaces != nil && !c.Principal.Has(n.Info.Namespace)
	})
	sort.Slice(nodes, func(a, b int) bool { return nodes[a].ID < nodes[b].ID })
	return nodes
}

type listIn struct {
	api.In
	api.Paged

	Alive bool `query:"alive" doc:"Only nodes that live"`
	Dead  bool `query:"dead" doc:"Only nodes that have ended without leaving, as when they were killed"`
}

// NodePage is a page of nodes.
type NodePage struct {
	api.Page[views.Node]

	Led bool `json:"led" doc:"Whether a node leads: one for the whole database, which need not be among these"`
}

func list(ctx context.Context, c *api.Call, in *listIn) (*api.Body[NodePage], error) {
	text, err := in.After()
	if err != nil {
		return nil, err
	}
	after, err := strconv.ParseInt(cmp.Or(text, "0"), 10, 64)
	if err != nil {
		return nil, problem.Invalid("query/cursor", "it is no cursor of this list; use next_cursor of the page before")
	}
	all, err := c.Client.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	now := c.Now()
	led := slices.ContainsFunc(all, func(n store.Node) bool { return n.Leader && n.DeadAt.IsZero() && !n.IsSilent(now) })
	nodes, items := seen(c, all, in.Namespace), []views.Node{}
	for i := range nodes {
		v := views.NewNode(&nodes[i], now)
		if nodes[i].ID <= after || in.Alive && !v.Alive || in.Dead && nodes[i].Ended != store.NodeDied {
			continue
		}
		if items = append(items, v); len(items) > in.Limit {
			break
		}
	}
	page := api.PageOf(items, &in.Paged, func(n *views.Node) string { return strconv.FormatInt(int64(n.ID), 10) })
	return &api.Body[NodePage]{Body: NodePage{page, led}}, nil
}

type ofNode struct {
	api.In

	Node int64 `path:"node" minimum:"1" doc:"Its number"`
}

func (in *ofNode) number() int64 { return in.Node }

// find is the node, if the call may see it.
func (in *ofNode) find(ctx context.Context, c *api.Call) (*store.Node, error) {
	all, err := c.Client.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	nodes := seen(c, all, in.Namespace)
	for i := range nodes {
		if nodes[i].ID == in.number() {
			return &nodes[i], nil
		}
	}
	return nil, problem.New(problem.NotFound, fmt.Sprintf("there is no node %d; /nodes lists them", in.Node))
}

func get(ctx context.Context, c *api.Call, in *ofNode) (*api.Body[views.Node], error) {
	n, err := in.find(ctx, c)
	if err != nil {
		return nil, err
	}
	return &api.Body[views.Node]{Body: views.NewNode(n, c.Now())}, nil
}

// mayAsk is why a call may not ask a node for something, which it may see: a node that runs no kind
// but Holdfast's own is of a server, or does maintenance, for all namespaces.
func mayAsk(c *api.Call, n *store.Node) error {
	others := func(kind string) bool { return !store.IsOwnKind(kind) }
	if c.Principal.Namespaces == nil || slices.ContainsFunc(n.Info.Kinds, others) {
		return nil
	}
	return problem.New(problem.Forbidden, fmt.Sprintf("node %d runs no kind of jobs: it is of a server, or does maintenance, for all namespaces; "+
		"to ask it for something takes the scope %s in all", n.ID, access.NodesWrite))
}

// NodeAsked is a node that was asked for something.
type NodeAsked struct {
	Node views.Big `json:"node"`
	Mode string    `json:"mode" enum:"running,quiet,draining" doc:"What it is to do"`
}
