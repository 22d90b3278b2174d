package overhttp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/holdfastdev/holdfast/bench/internal/system"
)

// Work starts the workers. Each has one loop that polls, and for each answer one that runs its jobs
// and ends them all with one request.
func (c *client) Work(ctx context.Context, handle func(system.Args)) (system.Worker, error) {
	ctx, stop := context.WithCancel(ctx)
	all := &crew{client: c, handle: handle, stop: stop, over: make(chan struct{}), failed: make(chan error, 1)}
	for i := range workers {
		w := &worker{crew: all, free: make(chan struct{}, 1)}
		w.left.Store(slots)
		var answer struct{ Worker string }
		body := map[string]any{"name": fmt.Sprint("bench ", i), "kinds": []string{kind}, "slots": slots}
		if err := c.post(ctx, "/workers", body, &answer); err != nil {
			stop()
			return nil, err
		}
		w.token = answer.Worker
		all.loops.Go(func() { all.fail(w.poll(ctx)) })
	}
	return all, nil
}

// crew is all workers.
type crew struct {
	client *client
	handle func(system.Args)
	done   system.Counter
	stop   context.CancelFunc
	loops  sync.WaitGroup
	once   sync.Once
	over   chan struct{} // closed when the loops have ended
	failed chan error    // the first error
}

func (c *crew) fail(err error) {
	if err != nil {
		c.stop()
		select {
		case c.failed <- err:
		default:
		}
	}
}

func (c *crew) Done() int64 { return c.done.Count() }

func (c *crew) Wait(ctx context.Context, jobs int64) error {
	if err := c.done.Wait(ctx, jobs, c.failed); err != nil {
		return err
	}
	_, err := c.Stop(ctx)
	return err
}

// Stop ends the polls, and then what they have brought.
func (c *crew) Stop(ctx context.Context) (int64, error) {
	c.stop()
	c.once.Do(func() {
		go func() { c.loops.Wait(); close(c.over) }()
	})
	select {
	case <-c.over:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	select {
	case err := <-c.failed:
		return 0, err
	default:
		return c.done.Count(), nil
	}
}

// worker is one that has registered.
type worker struct {
	*crew

	token string
	left  atomic.Int64  // free slots
	free  chan struct{} // has a value: slots may have become free
}

// polled is the answer to a poll.
type polled struct {
	Jobs []struct {
		Lease string      `json:"lease"`
		Args  system.Args `json:"args"`
	} `json:"jobs"`
}

// poll polls until ctx ends. A poll that is cut off then may have claimed jobs: it is repeated, so
// that they run. Workers that are stopped in earnest leave; here nothing is left to claim.
func (w *worker) poll(ctx context.Context) error {
	last := context.WithoutCancel(ctx)
	for seq := int64(1); ; seq++ {
		for w.left.Load() == 0 {
			select {
			case <-w.free:
			case <-ctx.Done():
			}
			if ctx.Err() != nil {
				break
			}
		}
		var answer polled
		body := map[string]any{"want": w.left.Load(), "seq": seq}
		err := w.client.post(ctx, "/workers/"+w.token+"/poll?wait=10s", body, &answer)
		if ctx.Err() != nil {
			if err != nil {
				body["repeat"], body["want"] = true, 0
				err = w.client.post(last, "/workers/"+w.token+"/poll", body, &answer)
			}
			return errors.Join(err, w.run(last, &answer))
		}
		if err != nil {
			return err
		}
		w.left.Add(-int64(len(answer.Jobs)))
		w.loops.Go(func() {
			w.fail(w.run(last, &answer))
			w.left.Add(int64(len(answer.Jobs)))
			select {
			case w.free <- struct{}{}:
			default:
			}
		})
	}
}

// outcomes and ended are a request to end runs and its answer.
type (
	outcome struct {
		Lease string `json:"lease"`
		Do    string `json:"do"`
	}
	ended struct {
		Runs []struct {
			Error *struct{ Detail string } `json:"error"`
		} `json:"runs"`
	}
)

// run runs jobs and ends them.
func (w *worker) run(ctx context.Context, jobs *polled) error {
	if len(jobs.Jobs) == 0 {
		return nil
	}
	list := make([]outcome, len(jobs.Jobs))
	for i, job := range jobs.Jobs {
		w.handle(job.Args)
		list[i] = outcome{Lease: job.Lease, Do: "complete"}
	}
	var answer ended
	if err := w.client.post(ctx, "/runs", map[string]any{"outcomes": list}, &answer); err != nil {
		return err
	}
	for _, run := range answer.Runs {
		if run.Error != nil {
			return errors.New(run.Error.Detail)
		}
	}
	w.done.Add(int64(len(list)))
	return nil
}
