package workers

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/holdfastdev/holdfast"
	internal "github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/engine"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/server/internal/tokens"
)

// service is what the operations stand on.
type service struct {
	api      *api.API
	once     sync.Once
	engine   *engine.Engine
	signer   *tokens.Signer
	hub      *hub
	sessions sessions
	settings settings
	limits   limitCache
	sizes    sizes
}

// on is the service on the store of the client of a call: all clients of a server have the same.
func (s *service) on(c *holdfast.Client) *service {
	s.once.Do(func() {
		s.engine, _ = internal.Engine(c)
		s.signer = tokens.New(s.engine.Store)
		s.hub = newHub(internal.Relay(c).Listen, s.engine.Store.Now, s.limits.changed, s.mayStart)
		s.engine.StartElsewhere(s.hub.reserve)
		s.settings.store, s.limits.store = s.engine.Store, s.engine.Store
	})
	return s
}

// OfWorker is what inputs about one worker have.
type OfWorker struct {
	api.In

	Worker string `path:"worker" doc:"Its token"`
}

// token returns the token of a worker.
func (s *service) token(ctx context.Context, w *worker) (string, error) {
	data, err := json.Marshal(w)
	if err != nil {
		return "", err
	}
	return s.signer.Sign(ctx, tokens.Worker, data)
}

// worker returns the worker that a token is of, if the caller may see it.
func (s *service) worker(ctx context.Context, c *api.Call, in *OfWorker) (*worker, error) {
	data, err := s.signer.Open(ctx, tokens.Worker, in.Worker)
	w := &worker{}
	if err == nil {
		err = json.Unmarshal(data, w)
	}
	if err == nil && !in.sees(c, w.Namespace) {
		err = tokens.ErrForged
	}
	if errors.Is(err, tokens.ErrForged) {
		return nil, problem.New(problem.NotFound, "there is no such worker; register it with POST /workers")
	}
	if err != nil {
		return nil, err
	}
	same, err := json.Marshal([]any{w.Namespace, w.Kinds, w.Queues, w.Journal})
	w.serves = string(same)
	return w, err
}

// lease returns the token of a run.
func (s *service) lease(ctx context.Context, r *run) (string, error) {
	return s.signer.Sign(ctx, tokens.Run, r.bytes())
}

// run returns the run that a token is of, if the caller may see it.
func (s *service) run(ctx context.Context, c *api.Call, in *api.In, token string) (*run, error) {
	data, err := s.signer.Open(ctx, tokens.Run, token)
	var r *run
	if err == nil {
		r, err = parseRun(data)
	}
	if err == nil && !sees(c, in, r.Namespace) {
		err = tokens.ErrForged
	}
	if errors.Is(err, tokens.ErrForged) {
		return nil, problem.New(problem.NotFound, "there is no such lease")
	}
	return r, err
}

// sees reports whether a call may see what is in a namespace: it does not name another one.
func sees(c *api.Call, in *api.In, namespace string) bool {
	return c.Principal.Has(namespace) && (in.Namespace == "" || in.Namespace == namespace)
}

func (in *OfWorker) sees(c *api.Call, namespace string) bool { return sees(c, &in.In, namespace) }
