package around

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
)

// Enqueue calls the first of the functions, of which each calls the next, and the last write, which
// enqueues the jobs. It returns nil only if write did: jobs are not taken for enqueued that are
// not.
func Enqueue[F ~func(ctx context.Context, jobs []*store.Job, next func(context.Context) error) error](
	ctx context.Context, jobs []*store.Job, chain []F, write func(ctx context.Context) error,
) error {
	if len(chain) == 0 {
		return write(ctx)
	}
	g := &gate{}
	failed := misuse("it returned neither an error nor called next, so nothing was enqueued")
	err := func() error {
		defer g.close()
		return chain[0](ctx, jobs, func(ctx context.Context) error {
			if err := g.enter(); err != nil {
				return err
			}
			defer g.leave()
			failed = Enqueue(ctx, jobs, chain[1:], write)
			return failed
		})
	}()
	if err != nil {
		return err
	}
	return failed
}
