package holdfast

import (
	"fmt"

	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/engine"
	"github.com/holdfastdev/holdfast/store"
)

func init() { //nolint:gochecknoinits // lets internal packages reach the engine
	access.Runner = func(client any) *engine.Runner {
		c := client.(*Client) //nolint:errcheck // always a *Client
		return c.engine.Runner(c.namespace)
	}
	access.Engine = func(client any) (*engine.Engine, string) {
		c := client.(*Client) //nolint:errcheck // always a *Client
		return c.engine, c.actor
	}
	access.Job = func(client, item any) (*store.Job, error) {
		return client.(*Client).jobOfMany(item.(BatchItem)) //nolint:errcheck // always these
	}
	access.WithTests = func(t access.Tests) any {
		return option(func(s *settings) error {
			s.engine.Rarely, s.stub = t.Rarely, t.Stub
			return nil
		})
	}
}

// jobOfMany is the job of an item that is enqueued again and again, such as that of a schedule.
func (c *Client) jobOfMany(item BatchItem) (*store.Job, error) {
	if item.build == nil {
		return nil, invalid("job", "it is missing; Kind.Item makes one")
	}
	spec, err := item.build(c)
	if err != nil {
		return nil, err
	}
	e := &spec.enqueue
	switch {
	case e.KnownID:
		return nil, invalid("id", "it cannot be that of many jobs; remove the option JobID")
	case spec.unique != nil:
		return nil, invalid("unique", "a schedule has an overlap policy instead; remove the option Unique")
	case !e.Job.RunAt.IsZero() || e.Delay != 0:
		return nil, invalid("run time", "it is that of the schedule; remove the option RunAt or Delay")
	case !e.Job.Options.Deadline.IsZero():
		return nil, invalid("deadline", "it would be the same for all of its jobs; remove the option Deadline, or use Timeout")
	}
	if err := c.complete(spec); err != nil {
		return nil, fmt.Errorf("kind %q: %w", e.Job.Kind, err)
	}
	e.Job.ID = ID{}
	return &e.Job, nil
}
