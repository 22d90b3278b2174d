package limit_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/store"
)

// TestHeavyJobsGetTheirTurn: while light jobs fill a limit all the time, those that take all of its
// slots, or those of a node, run between them; on several nodes if these share it fairly.
func TestHeavyJobsGetTheirTurn(t *testing.T) {
	t.Parallel()
	for nodes, settings := range map[int][]limit.Option{1: nil, 2: {limit.FairShare()}} {
		t.Run(strconv.Itoa(nodes), func(t *testing.T) {
			t.Parallel()
			onDatabases(t, func(t *testing.T, source store.Source) {
				c := newCluster(t, source, nodes, holdfast.WithSlots(20))
				of := append([]limit.Option{limit.Capacity(4 * nodes), limit.Kinds("light"), limit.Weight("heavy", 4)}, settings...)
				set(t)(limit.Set(t.Context(), c.nodes[0], "weighed", of...))
				c.never(func(runs map[string]int) string {
					if used := runs["light"] + 4*runs["heavy"]; used > 4*nodes {
						return "more runs than there are slots"
					}
					return ""
				})
				enough, fed := make(chan struct{}), make(chan []holdfast.ID)
				go func() { fed <- c.keepEnqueued(light, 20*nodes, 40*time.Millisecond, enough) }()
				c.start()
				for range 4 {
					c.finish(c.enqueue(heavy, 1, time.Millisecond, holdfast.Priority(4)))
				}
				close(enough)
				c.finish(<-fed)
			})
		})
	}
}

// keepEnqueued keeps about so many jobs waiting until there were enough. It returns all of them.
func (c *cluster) keepEnqueued(
	kind holdfast.Task[time.Duration], n int, takes time.Duration, enough <-chan struct{}, opts ...holdfast.EnqueueOption,
) (ids []holdfast.ID) {
	for {
		select {
		case <-enough:
			return ids
		case <-time.After(time.Millisecond):
		}
		if len(ids) > n {
			job, err := c.nodes[0].Get(c.t.Context(), ids[len(ids)-n])
			if err != nil {
				c.t.Error(err)
				return ids
			}
			if !job.State.Finished() {
				continue
			}
		}
		ids = append(ids, c.enqueue(kind, n, takes, opts...)...)
	}
}
