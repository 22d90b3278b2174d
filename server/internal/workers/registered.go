package workers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/internal/asked"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

// registered is a worker that has registered, as it is kept for a repeat of the request: all of the
// answer but the token, which is signed again.
//
// The node is made first, and then the answer is kept, in two transactions. If the server dies in
// between the repeat makes another node: no worker has the token of the first, which so gets no
// jobs, and is declared dead.
type registered struct {
	Worker worker        `json:"worker"`
	Silent time.Duration `json:"silent"` // how long it may be
}

// before is what the request has registered before, if it has a key; nil: nothing.
func (s *service) before(ctx context.Context, r *asked.Request) (*registered, error) {
	if r == nil {
		return nil, nil
	}
	kept, err := r.Kept(ctx, s.engine.Ask)
	if err != nil || kept == nil {
		return nil, err
	}
	return s.again(ctx, r, kept)
}

// keep keeps what a request with a key has registered, and returns what is kept. Who loses against
// another request with the key leaves again.
func (s *service) keep(ctx context.Context, r *asked.Request, w *registered) (*registered, error) {
	if r == nil {
		return w, nil
	}
	answer, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	kept, err := r.Keep(ctx, s.engine.Ask, answer)
	if err != nil && r.Refused == nil {
		return nil, err // it may be kept: a repeat gets this node then, and else it is declared dead
	}
	was := &registered{}
	if err == nil {
		was, err = readRegistered(kept)
	}
	if err == nil && was.Worker.Node == w.Worker.Node {
		return w, nil // also if the committer has asked twice
	}
	_ = s.engine.Leave(ctx, w.Worker.Node) // as it has no worker; if that fails it is declared dead
	if err != nil {
		return nil, err
	}
	return s.again(ctx, r, kept)
}

func readRegistered(kept []byte) (*registered, error) {
	w := &registered{}
	if err := json.Unmarshal(kept, w); err != nil {
		return nil, fmt.Errorf("what was kept of a worker that has registered: %w", err)
	}
	return w, nil
}

// again is what was registered before. Its worker has the whole time until its first beat, and has
// to live.
func (s *service) again(ctx context.Context, r *asked.Request, kept []byte) (*registered, error) {
	w, err := readRegistered(kept)
	if err != nil {
		return nil, err
	}
	_, err = s.engine.Store.Beat(ctx, store.BeatParams{Node: w.Worker.Node})
	if errors.Is(err, store.ErrNodeDead) {
		r.Repeated = false // this is another answer
		return nil, problem.New(problem.WorkerGone,
			fmt.Sprintf("the worker that was registered with this Idempotency-Key, node %d, is gone: use a new key to register again", w.Worker.Node))
	}
	return w, err
}
