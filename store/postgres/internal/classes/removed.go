package classes

import (
	"context"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Counts are how many jobs a transaction of retention removes, by queue and state.
type Counts struct {
	namespaces, queues []string
	states             []int32
	jobs, stubs        []int64
}

func (c *Counts) scan(r pg.Row) error {
	var namespace, queue string
	var state int32
	var jobs int64
	err := r.Scan(&namespace, &queue, &state, &jobs)
	c.namespaces, c.queues = append(c.namespaces, namespace), append(c.queues, queue)
	c.states, c.jobs, c.stubs = append(c.states, state), append(c.jobs, jobs), append(c.stubs, 0)
	return err
}

// Stubs counts stubs that the jobs leave, as rows tell them.
func (c *Counts) Stubs(r pg.Row) error {
	err := c.scan(r)
	last := len(c.jobs) - 1
	c.jobs[last], c.stubs[last] = 0, c.jobs[last]
	return err
}

// Between counts the jobs of a range that have finished, but for some.
func (c *Counts) Between(ctx context.Context, t pg.Runner, from, to pgtype.UUID, but []pgtype.UUID) error {
	if but == nil {
		but = []pgtype.UUID{}
	}
	return t.Run(ctx, "count_by_queue", c.scan, from, to, but)
}

// Of counts finished jobs.
func (c *Counts) Of(ctx context.Context, t pg.Runner, jobs []pgtype.UUID) error {
	if len(jobs) == 0 {
		return nil
	}
	return t.Run(ctx, "count_of_jobs", c.scan, jobs)
}

// Sum is how many jobs were counted.
func (c *Counts) Sum() (jobs int) {
	for _, n := range c.jobs {
		jobs += int(n)
	}
	return jobs
}

// Write adds what was counted to what the database has for the day of now, in microseconds.
func (c *Counts) Write(ctx context.Context, t pg.Runner, now int64) error {
	type of struct {
		namespace, queue string
		state            int32
	}
	sums, stubs, order := map[of]int64{}, map[of]int64{}, []of{}
	for i := range c.jobs {
		at := of{c.namespaces[i], c.queues[i], c.states[i]}
		if _, ok := sums[at]; !ok {
			order = append(order, at)
		}
		sums[at] += c.jobs[i]
		stubs[at] += c.stubs[i]
	}
	if len(order) == 0 {
		return nil
	}
	var all Counts
	for _, at := range order {
		all.namespaces, all.queues = append(all.namespaces, at.namespace), append(all.queues, at.queue)
		all.states, all.jobs = append(all.states, at.state), append(all.jobs, sums[at])
		all.stubs = append(all.stubs, stubs[at])
	}
	return t.Run(ctx, "removed_add", nil, pg.DayOf(now), all.namespaces, all.queues, all.states, all.jobs, all.stubs)
}

// ForgetCounts removes up to limit rows of days that are not kept any more.
func ForgetCounts(now int64, limit int) pg.Statement {
	return pg.Statement{Name: "removed_forget", Args: []any{pg.DayOf(now - store.RemovedKept.Microseconds()), int32(limit)}}
}

// Removed is that of store.Retentions, without the class of its error.
func (s *Store) Removed(ctx context.Context, params store.RemovedParams) (all []store.Removed, err error) {
	if err := store.CheckLimit(params.Limit); err != nil {
		return nil, err
	}
	name, args := "removed", []any{params.Namespace, int32(params.Limit)}
	if params.Queue != "" {
		name, args = "removed_in", []any{params.Namespace, params.Queue, int32(params.Limit)}
	}
	err = s.InTx(ctx, pg.BeginRead, func(t pg.Session) error {
		all = nil
		return t.Run(ctx, name, func(r pg.Row) error {
			var day, state int32
			var one store.Removed
			err := r.Scan(&day, &one.Queue, &state, &one.Jobs, &one.Stubs)
			one.Day, one.State = pg.TimeOf(int64(day)*pg.Day.Microseconds()), store.State(state)
			all = append(all, one)
			return err
		}, args...)
	})
	return all, err
}
