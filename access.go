package holdfast

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/bulk"
	"github.com/holdfastdev/holdfast/internal/engine"
	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/internal/relay"
	"github.com/holdfastdev/holdfast/internal/runlog"
	"github.com/holdfastdev/holdfast/internal/sealed"
	"github.com/holdfastdev/holdfast/internal/valid"
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
	access.Relay = func(client any) *relay.Store { return client.(*Client).relay } //nolint:errcheck // always a *Client
	access.Job = func(client, item any) (*store.Job, error) {
		return client.(*Client).jobOfMany(item.(BatchItem)) //nolint:errcheck // always these
	}
	access.Child = func(ctx context.Context, client, item any) (*store.Enqueue, error) {
		return client.(*Client).childOfItem(ctx, item.(BatchItem)) //nolint:errcheck // always these
	}
	access.EditJob = func(client any, job *store.Job, args []byte, opts any) error {
		return client.(*Client).editJobOfMany(job, args, opts.([]EnqueueOption)) //nolint:errcheck // always these
	}
	access.Gathers = func(g engine.Gatherer) any {
		return handleOption(func(h *handlerSpec) error {
			h.Gather = g
			return nil
		})
	}
	access.After = func(on []store.Dependency) any {
		return enqueueOption(func(s *enqueueSpec) error {
			s.enqueue.After = append(slices.Clip(s.enqueue.After), on...)
			return nil
		})
	}
	access.CallbackWith = func(run any, name string, rules *journal.Rules, refused error) (any, error) {
		r, _ := run.(*Run)
		return r.callback(name, rules, refused)
	}
	access.KeepLogs = func(c runlog.Config) any {
		return option(func(s *settings) error {
			s.engine.Logs = c
			return nil
		})
	}
	openEnqueues()
	openSearch()
	openBatches()
	openOperations()
	openNodes()
	openPayloads()
	access.WithTests = func(t access.Tests) any {
		return option(func(s *settings) error {
			s.engine.Rarely, s.stub = t.Rarely, t.Stub
			s.engine.NoFacts = s.engine.NoFacts || t.Rarely > 0 // which looks at the clock with each beat
			return nil
		})
	}
}

// openNodes sets the doors of what tells of nodes, and of what they do.
func openNodes() {
	access.WithTelemetry = func(t access.Telemetry) any {
		return option(func(s *settings) error { return s.addTelemetry(t) })
	}
	access.Build = func(program string) any {
		return option(func(s *settings) error {
			if program != "" {
				s.engine.Node.Build.Program = program
			}
			return nil
		})
	}
	access.Fails = func(err error) any { return option(func(*settings) error { return err }) }
	access.SaveWith = func(run any, value []byte, jobs []*store.Job) error {
		return run.(*Run).saveWith(value, jobs) //nolint:errcheck // always a *Run
	}
	access.JobOf = func(run any) *store.Job { return run.(*Run).run.Job() }        //nolint:errcheck // always a *Run
	access.Senders = func(run any) []string { return run.(*Run).strand.Senders() } //nolint:errcheck // always a *Run
	access.NoFacts = func() any {
		return option(func(s *settings) error {
			s.engine.NoFacts = true
			return nil
		})
	}
	access.Describes = func(list []store.Descriptor) any {
		return option(func(s *settings) error {
			s.engine.Node.Describes = append(slices.Clip(s.engine.Node.Describes), list...)
			return store.CheckDescriptors(s.engine.Node.Describes)
		})
	}
	access.Maintains = func() any {
		return option(func(s *settings) error {
			s.engine.Node.Maintains = true
			return nil
		})
	}
}

// openPayloads sets the doors of what is encoded, hidden and archived.
func openPayloads() {
	access.Redact = func(around func(slog.Handler) slog.Handler) any {
		return option(func(s *settings) error {
			s.engine.Redact = around
			return nil
		})
	}
	access.Codec = func(c store.Codec) any {
		return option(func(s *settings) error {
			s.codec = c
			return nil
		})
	}
	access.OpenSealed = sealed.Open
	access.Archive = func(to func(context.Context, store.Store, []store.EndedJob) error) any {
		return option(func(s *settings) error {
			s.engine.Node.Archive = to
			return nil
		})
	}
}

// openSearch sets the doors of package search.
func openSearch() {
	access.Search = func(a store.Attribute) any {
		return enqueueOption(func(s *enqueueSpec) error {
			s.enqueue.Job.Attributes = store.OverAttributes(s.enqueue.Job.Attributes, []store.Attribute{a})
			return nil
		})
	}
	access.SearchRun = func(run any, list []store.Attribute) error {
		return run.(*Run).search(list) //nolint:errcheck // always a *Run
	}
}

// openOperations sets the doors of package operation.
func openOperations() {
	access.Jobs = func(client any) bulk.Jobs { return bulkJobs{client.(*Client)} } //nolint:errcheck // always a *Client
	access.NoOperations = func() any {
		return option(func(s *settings) error {
			s.noOperations = true
			return nil
		})
	}
}

// openBatches sets the doors of package batch.
func openBatches() {
	access.Member = func(batch store.ID) any {
		return enqueueOption(func(s *enqueueSpec) error {
			s.enqueue.Job.Batch = batch
			return nil
		})
	}
	access.InBatch = func(item any, batch store.ID) any { return item.(BatchItem).in(batch) }      //nolint:errcheck // always one
	access.BatchOf = func(run any) store.ID { return run.(*Run).run.Job().Batch }                  //nolint:errcheck // always a *Run
	access.Called = func(run any) store.BatchResult { return run.(*Run).run.Job().Options.Called } //nolint:errcheck // always a *Run
}

// openEnqueues sets the doors that are options of enqueues, and what goes with them.
func openEnqueues() {
	access.AroundEnqueues = func(rule any, makes func(store.Store, []any) access.EnqueueMiddleware) any {
		return option(func(s *settings) error {
			s.rules, s.onStore = append(s.rules, rule), makes
			return nil
		})
	}
	access.LimitKey = func(limit, key string) any {
		return enqueueOption(func(s *enqueueSpec) error {
			s.enqueue.Job.Options.Limit, s.enqueue.Job.Options.LimitKey = limit, key
			if err := store.CheckLimitName(limit); err != nil {
				return err
			}
			return valid.Text("limit key", key, store.MaxLimitKey)
		})
	}
	access.FairKey = func(key string) any {
		return enqueueOption(func(s *enqueueSpec) error {
			s.enqueue.Job.Options.FairKey, s.fairOf = key, nil
			return valid.Text("fair key", key, store.MaxFairKey)
		})
	}
	access.FairKeyOf = func(of func(args []byte) (string, error)) any {
		return enqueueOption(func(s *enqueueSpec) error {
			s.enqueue.Job.Options.FairKey = ""
			s.fairOf = func(job *store.Job) error {
				key, err := of(job.Args)
				if err != nil {
					return invalid("fair key", "%v", err)
				}
				if job.Options.FairKey = key; key == "" {
					return nil
				}
				return valid.Text("fair key", key, store.MaxFairKey)
			}
			return nil
		})
	}
	access.Reserve = func(run any, step string, v *store.Reservation) ([]byte, error) {
		return run.(*Run).reserve(step, v) //nolint:errcheck // always a *Run
	}
	access.FollowUp = func(policy store.FailurePolicy, item any) any {
		return enqueueOption(func(s *enqueueSpec) error {
			s.wanted = append(slices.Clip(s.wanted), wantedFollowUp{policy, item.(BatchItem)}) //nolint:errcheck // always one
			return nil
		})
	}
	access.KeepTurn = func() any {
		return enqueueOption(func(s *enqueueSpec) error {
			s.enqueue.Job.Options.KeepTurn = true
			return nil
		})
	}
	access.Follows = func(run any) store.ID { return run.(*Run).run.Job().Options.Follows } //nolint:errcheck // always a *Run
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
	if err := c.completeJobOfMany(spec); err != nil {
		return nil, fmt.Errorf("kind %q: %w", spec.enqueue.Job.Kind, err)
	}
	spec.enqueue.Job.ID = ID{}
	return &spec.enqueue.Job, nil
}

// editJobOfMany changes such a job: its args, unless they are nil, and what the options say.
func (c *Client) editJobOfMany(job *store.Job, args []byte, opts []EnqueueOption) error {
	spec := &enqueueSpec{enqueue: store.Enqueue{Job: *job}}
	if args != nil {
		spec.enqueue.Job.Args, spec.enqueue.Job.Codec = args, 0
	}
	err := spec.apply(opts)
	switch {
	case err != nil:
	case len(spec.around) > 0:
		err = invalid("enqueue middleware", "it is an option of Open and of NewKind, not of an enqueue")
	case spec.enqueue.Job.ID != ID{}:
		spec.enqueue.KnownID = true
	}
	if err == nil {
		err = c.completeJobOfMany(spec)
	}
	if err == nil {
		*job = spec.enqueue.Job
	}
	return err
}

// completeJobOfMany refuses what would name a single job, and validates the rest.
func (c *Client) completeJobOfMany(spec *enqueueSpec) error {
	e := &spec.enqueue
	switch {
	case e.KnownID:
		return invalid("id", "it cannot be that of many jobs; remove the option JobID")
	case len(spec.wanted) > 0:
		return invalid("follow-up", "the job of a schedule or a batch has none; enqueue what follows where it ends")
	case e.Job.Batch != ID{}:
		return invalid("batch", "it cannot be that of many jobs; remove the option Member")
	case len(e.After) > 0:
		return invalid("after", "the job of a schedule or a batch waits for no others; enqueue what waits where it ends")
	case spec.unique != nil:
		return invalid("unique", "the job of a schedule has an overlap policy instead, and that of a batch is one; remove the option Unique")
	case e.Job.Options.Key != "":
		return invalid("key", "it cannot be that of many jobs; remove the option Key")
	case !e.Job.RunAt.IsZero() || e.Delay != 0:
		return invalid("run time", "the schedule or the end of the batch says when; remove the option RunAt or Delay")
	case !e.Job.Options.Deadline.IsZero():
		return invalid("deadline", "it would be the same for all of its jobs; remove the option Deadline, or use Timeout")
	}
	return c.complete(spec)
}
