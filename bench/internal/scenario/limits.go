package scenario

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/bench/internal/figures"
	"github.com/holdfastdev/holdfast/bench/internal/system"
)

// limits is a node whose queues have limits, and what waits for it.
type limits struct {
	slots  int // of the node
	queues []system.Queue
	busy   int           // so many of them, the first ones, have jobs
	takes  time.Duration // each; 0: nothing, and then the sizes say how many there are
	stuck  bool          // the last queue has a job that lasts as long as all others, and one that waits for its slot
	alone  int           // slots of the node to compare with, which has no limits
}

func limitScenario(name, title string, l limits) Scenario {
	return Scenario{
		Name: name, Title: title, Parts: 2, run: l.compare,
		measure: map[string]figures.Measure{"": {Figure: "with_over_without", Unit: "with ÷ without"}},
	}
}

// compare drains the same jobs by a node without limits and by one with them.
func (l limits) compare(ctx context.Context, e *Env) (figures.Sample, error) {
	bare := l
	bare.slots, bare.queues, bare.stuck = l.alone, nil, false
	without, err := bare.drain(ctx, e, 0)
	if err != nil {
		return without, err
	}
	with, err := l.drain(ctx, e, 1)
	if err != nil {
		return with, err
	}
	compare(with, without)
	return with, nil
}

// compare adds how a sample compares with one without what it is about: in its rate, and in what a
// job costs the processors.
func compare(with, without figures.Sample) {
	cpu := func(s figures.Sample) float64 { return s.Figures[figures.ClientCPU] + s.Figures[figures.DatabaseCPU] }
	f := with.Figures
	f["cpu_us_with"], f["cpu_us_without"] = cpu(with), cpu(without)
	f["rate_with"], f["rate_without"] = f[figures.Rate], without.Figures[figures.Rate]
	f["with_over_without"] = f["rate_with"] / f["rate_without"]
}

func (l limits) drain(ctx context.Context, e *Env, part int) (figures.Sample, error) {
	jobs := e.Sizes.Jobs
	if l.takes > 0 {
		jobs = max(l.alone*int(seconds(e.Sizes.Seconds)/l.takes), 1)
	}
	return e.try(ctx, part, system.Options{Slots: l.slots, Queues: l.queues}, func(t *trial) (int64, error) {
		all := jobs
		if l.stuck {
			last := len(l.queues) - 1
			if err := t.jam(ctx, last); err != nil {
				return 0, err
			}
			all += jammed
		}
		if err := t.fillQueues(ctx, jobs, l.busy); err != nil {
			return 0, err
		}
		if err := t.begin(ctx); err != nil {
			return 0, err
		}
		var left atomic.Int64
		left.Store(int64(jobs))
		over := make(chan struct{})
		worker, err := t.work(ctx, func(args system.Args) {
			if args.Stay {
				<-over
				return
			}
			_ = system.Pause(ctx, l.takes) // one that is cut short does no harm
			if left.Add(-1) == 0 {
				t.span.Mark()
				close(over)
			}
		})
		if err != nil {
			return 0, err
		}
		if err := worker.Wait(ctx, int64(all)); err != nil {
			return 0, err
		}
		if !l.stuck {
			t.span.Mark()
		}
		return int64(jobs), t.empty(ctx)
	})
}

// jammed is how many jobs a queue that is stuck has.
const jammed = 2

// jam stores jobs that stay in a queue.
func (t *trial) jam(ctx context.Context, queue int) error {
	client, err := t.naming()
	if err != nil {
		return err
	}
	stay := make([]system.Args, jammed)
	for i := range stay {
		stay[i].Stay = true
	}
	return client.InsertInto(ctx, stay, func(int) string { return queueName(queue) })
}

func queueName(i int) string { return fmt.Sprintf("queue-%d", i) }

// queuesOf are so many queues with as many slots each.
func queuesOf(count, slots int) (list []system.Queue) {
	for i := range count {
		list = append(list, system.Queue{Name: queueName(i), Slots: slots})
	}
	return list
}

// limitScenarios compare a node whose queues have limits with one without that has as many slots
// for the same jobs.
func limitScenarios() []Scenario {
	const short = 10 * time.Millisecond
	beside := append(queuesOf(2, 8), system.Queue{Name: queueName(2), Slots: 1})
	return []Scenario{
		limitScenario("limit-8", "jobs of 10 ms of a queue with 8 slots ÷ of a node with 8",
			limits{slots: 100, queues: queuesOf(1, 8), busy: 1, takes: short, alone: 8}),
		limitScenario("limit-1", "jobs of 10 ms of a queue with one slot ÷ of a node with one",
			limits{slots: 8, queues: queuesOf(1, 1), busy: 1, takes: short, alone: 1}),
		limitScenario("limit-idle", "the same with 8 slots, beside a queue without jobs and one that is stuck",
			limits{slots: 17, queues: beside, busy: 1, takes: short, stuck: true, alone: 8}),
		limitScenario("limit-many", "jobs of 10 ms of ten queues with one slot each ÷ of a node with ten",
			limits{slots: 10, queues: queuesOf(10, 1), busy: 10, takes: short, alone: 10}),
		limitScenario("limit-drain", "no-op jobs of four queues with 25 slots each ÷ of a node with 100",
			limits{slots: 100, queues: queuesOf(4, 25), busy: 4, alone: 100}),
		limitScenario("limit-over", "no-op jobs of four queues with 100 slots each ÷ of a node with 100",
			limits{slots: 100, queues: queuesOf(4, 100), busy: 4, alone: 100}),
	}
}
