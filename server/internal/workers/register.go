package workers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/internal/asked"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/internal/valid"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/server/internal/tokens"
	"github.com/holdfastdev/holdfast/store"
)

// beats is how often a worker beats in the time after which it is dead.
const beats = 4

// NewWorker is a worker to register.
type NewWorker struct {
	Namespace string        `json:"namespace,omitempty" doc:"Whose jobs it runs; without it, that of the request" example:"shop"`
	Name      string        `json:"name" minLength:"1" maxLength:"200" doc:"For people, such as host and process" example:"web-1:4711"`
	Version   string        `json:"version,omitempty" maxLength:"200" doc:"Of the program, for people" example:"2026-11-27"`
	Kinds     []string      `json:"kinds" minItems:"1" maxItems:"200" doc:"What it runs: kind, or kind@version for jobs that are bound to one" example:"[\"mail\"]"`
	Queues    []string      `json:"queues,omitempty" maxItems:"200" nullable:"false" doc:"Which queues it serves, also as name*; without it, all" example:"[\"default\"]"`
	Journal   int           `json:"journal,omitempty" minimum:"1" maximum:"1" doc:"It keeps journals of this version (docs/journal-format.md), so that jobs which have one are handed to it"`
	Slots     int           `json:"slots" minimum:"1" maximum:"1000" doc:"How many jobs it runs at once, at most" example:"10"`
	DeadAfter *api.Duration `json:"dead_after,omitempty" doc:"How long it may be silent, 1s to 1h, as others are told; without it, as nodes of the server. The node that leads decides by its own setting"`
}

type registerIn struct {
	api.In

	Body NewWorker
}

// WorkerRegistered is a worker that has registered.
type WorkerRegistered struct {
	Worker    string     `json:"worker" doc:"Its token"`
	Node      views.Big  `json:"node" doc:"Its number among nodes"`
	DeadAfter views.Span `json:"dead_after" doc:"How long it may be silent"`
	BeatEvery views.Span `json:"beat_every" doc:"After how long it is to beat again"`
}

func (s *service) register(ctx context.Context, c *api.Call, in *registerIn) (*api.Body[WorkerRegistered], error) {
	n := &in.Body
	namespace := c.Client.Namespace()
	if n.Namespace != "" && n.Namespace != namespace {
		if in.Namespace != "" {
			return nil, problem.Invalid("/namespace", "it is another one than the parameter namespace")
		}
		if !c.Principal.Has(n.Namespace) {
			return nil, problem.New(problem.NotFound, "there is no namespace "+n.Namespace+" for this key")
		}
		if _, err := c.Client.In(n.Namespace); err != nil {
			return nil, problem.At("/namespace", err)
		}
		namespace = n.Namespace
	}
	if err := n.check(); err != nil {
		return nil, err
	}
	s = s.on(c.Client)
	r, ctx := asked.Take(ctx)
	w, err := s.before(ctx, r)
	if w == nil && err == nil {
		w, err = s.join(ctx, r, namespace, n)
	}
	if err != nil {
		return nil, err
	}
	token, err := s.token(ctx, &w.Worker)
	if err != nil {
		return nil, err
	}
	return &api.Body[WorkerRegistered]{Body: WorkerRegistered{
		Worker: token, Node: views.Big(w.Worker.Node), DeadAfter: views.Span(w.Silent), BeatEvery: views.Span(w.Worker.Beat),
	}}, nil
}

// join makes a node of a worker. It is not the one that is returned if another request with the
// same key has made one meanwhile.
func (s *service) join(ctx context.Context, r *asked.Request, namespace string, n *NewWorker) (*registered, error) {
	silent := s.engine.Settings().DeadAfter
	if n.DeadAfter != nil {
		silent = time.Duration(*n.DeadAfter)
	}
	node, err := s.engine.Store.Join(store.Elsewhere(ctx), store.NodeInfo{
		Name: n.Name, Version: n.Version, Namespace: namespace, Queues: n.Queues, Kinds: n.Kinds, Slots: n.Slots, DeadAfter: silent,
	})
	if err != nil {
		return nil, err
	}
	// The node that leads goes by its own setting, which most often is that of this server.
	beat := min(silent, s.engine.Settings().DeadAfter) / beats
	w := &registered{Silent: silent, Worker: worker{
		Node: node, Namespace: namespace, Kinds: n.Kinds, Queues: n.Queues, Slots: n.Slots, Journal: n.Journal, Beat: beat,
	}}
	token, err := s.token(ctx, &w.Worker)
	if err == nil && len(token) > tokens.MaxLength {
		err = problem.Invalid("/kinds", "the kinds and queues are too many or too long for the token of a worker; let several workers share them")
	}
	if err != nil {
		_ = s.engine.Leave(ctx, node) // no worker has its token; if that fails it is declared dead
		return nil, err
	}
	return s.keep(ctx, r, w)
}

// check refuses what cannot be a worker.
func (n *NewWorker) check() error {
	for i, name := range n.Kinds {
		at := fmt.Sprintf("/kinds/%d", i)
		kind, version, bound := strings.Cut(name, "@")
		err := valid.Kind(kind)
		if err == nil && bound {
			err = valid.Name("version", version)
		}
		switch {
		case err != nil:
			return problem.At(at, err)
		case store.IsOwnKind(kind):
			return problem.Invalid(at, fmt.Sprintf("the kind %s is one of Holdfast's own, whose jobs its nodes run", kind))
		case slices.Index(n.Kinds, name) < i:
			return problem.Invalid(at, fmt.Sprintf("the kind %s is there twice", name))
		}
	}
	for i, queue := range n.Queues {
		at := fmt.Sprintf("/queues/%d", i)
		if err := valid.Name("queue", queue); err != nil {
			return problem.At(at, err)
		}
		if slices.Index(n.Queues, queue) < i {
			return problem.Invalid(at, fmt.Sprintf("the queue %s is there twice", queue))
		}
	}
	if d := n.DeadAfter; d != nil && (time.Duration(*d) < time.Second || time.Duration(*d) > time.Hour) {
		return problem.Invalid("/dead_after", "it is not between 1s and 1h")
	}
	if err := valid.Name("name", n.Name); err != nil {
		return problem.At("/name", err)
	}
	if n.Version != "" {
		return problem.At("/version", valid.Name("version", n.Version))
	}
	return nil
}

// WorkerLeft is a worker that has left.
type WorkerLeft struct {
	Node views.Big `json:"node"`
}

func (s *service) leave(ctx context.Context, c *api.Call, in *OfWorker) (*api.Body[WorkerLeft], error) {
	s = s.on(c.Client)
	w, err := s.worker(ctx, c, in)
	if err != nil {
		return nil, err
	}
	end := s.sessions.of(w.Node).take(ctx)
	if end == nil {
		return nil, context.Cause(ctx) // a poll of it may still claim
	}
	defer end()
	if err := s.engine.Leave(ctx, w.Node); err != nil && !errors.Is(err, store.ErrNodeDead) {
		return nil, err
	}
	s.sessions.forget(w.Node)
	return &api.Body[WorkerLeft]{Body: WorkerLeft{Node: views.Big(w.Node)}}, nil
}
