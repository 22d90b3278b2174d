package bulk

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/holdfastdev/holdfast/internal/engine"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// attempts is how often an operation begins before it fails. Each goes on where the last one was,
// so it need not wait long.
const attempts = 100

var backoff = store.Backoff{Base: time.Second, Cap: 10 * time.Second, Jitter: store.DefaultBackoff.Jitter}

// Handler is the handler of operations. jobs returns those of its namespace, as an actor.
func Handler(jobs func(actor string) (Jobs, error)) *engine.Handler {
	return &engine.Handler{
		Kind: Kind, MaxAttempts: attempts, Backoff: backoff, Own: Queue,
		Run: func(ctx context.Context, run engine.Attempt) ([]byte, error) {
			return nil, ended(handle(ctx, run, jobs))
		},
	}
}

func handle(ctx context.Context, run engine.Attempt, jobs func(actor string) (Jobs, error)) error {
	var spec Spec
	if err := json.Unmarshal(run.Job().Args, &spec); err != nil {
		return invalid("cannot read the operation, which may be one of a newer version: %v", err)
	}
	if err := spec.Action.Check(); err != nil {
		return err
	}
	if spec.Filter.Namespace != run.Job().Namespace {
		return invalid("its filter is about namespace %q", spec.Filter.Namespace)
	}
	of, err := jobs(spec.Actor)
	if err != nil {
		return err
	}
	p, err := ProgressOf(run.Checkpoint())
	if err != nil {
		return invalid("cannot read how far it is: %v", err)
	}
	log := run.Logger(run.Main(), slog.New(slog.DiscardHandler)) // kept with the job, and nowhere else
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	own := &Run{Jobs: of, Spec: &spec, ID: run.Job().ID, Save: func(ctx context.Context, p *Progress) error {
		data, err := json.Marshal(p)
		if err != nil {
			return err
		}
		if err := run.SaveCheckpoint(ctx, run.Main(), data); err != nil {
			return err
		}
		if record, err := of.Get(ctx, run.Job().ID); err == nil && record.PauseRequested {
			stop(&usercode.SnoozeError{}) // it is held when it is put back
		}
		return nil
	}, Said: func(p *Progress) {
		run.Progress(percent(p, spec.Expected), p.String())
		log.Info("page done", "matched", p.Matched, "changed", p.Changed, "already", p.Already, "refused", p.Refused, "gone", p.Gone)
	}}
	return own.Do(ctx, &p)
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", store.ErrInvalid, fmt.Sprintf(format, args...))
}

// percent is how far an operation is, as far as that can be told.
func percent(p *Progress, expected int) float64 {
	if expected == 0 {
		return 0
	}
	return min(100*float64(p.Matched)/float64(expected), 99)
}
