package engine

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// claims counts claims, each of which takes some time.
type claims struct{ all, empty atomic.Int64 }

const claimTakes = 2 * time.Millisecond

func (b *bed) slowClaims() *claims {
	n := &claims{}
	b.st.hook(func(p *probe) {
		p.convey = func(_ context.Context, _ store.ClaimParams, claim func() ([]store.Claimed, error)) ([]store.Claimed, error) {
			time.Sleep(claimTakes)
			jobs, err := claim()
			if n.all.Add(1); len(jobs) == 0 {
				n.empty.Add(1)
			}
			return jobs, err
		}
	})
	return n
}

// TestNodeDoesNotClaimForAQueueThatHasNoSlot: it claims when there is a slot again.
func TestNodeDoesNotClaimForAQueueThatHasNoSlot(t *testing.T) {
	for _, limits := range []string{"of the queue", "of the node"} {
		t.Run(limits, func(t *testing.T) {
			cfg := NodeConfig{Slots: 8, Queues: []store.QueueDemand{{Name: "a", Limit: 1}, {Name: "b", Limit: 2}}}
			if limits == "of the node" {
				cfg.Slots = 1
			}
			inBed(t, Config{Node: cfg}, func(b *bed) {
				n := b.slowClaims()
				release := make(chan struct{})
				b.handle("k", func(context.Context, Attempt) ([]byte, error) { <-release; return nil, nil })
				b.run()
				first := b.job("k", func(q *store.Enqueue) { q.Job.Queue = "a" })
				b.enqueue(first)
				time.Sleep(time.Minute)
				before := n.all.Load()
				var last *store.Enqueue
				for i := range 1000 {
					last = b.job("k", func(q *store.Enqueue) { q.Job.Queue = "a" })
					b.enqueue(last)
					if i%10 == 0 {
						time.Sleep(time.Second)
					}
				}
				if made := n.all.Load() - before; made > 30 { // the polls, and one claim that finds the first
					t.Errorf("%d claims while the slot was taken", made)
				}
				close(release)
				b.expect(b.wait(last.Job.ID), store.Completed, "")
			})
		})
	}
}

// TestJobsAreClaimedAheadForAQueueWithALimit: as for a node, so that short jobs need not wait for a
// claim each, and long ones are left for other nodes.
func TestJobsAreClaimedAheadForAQueueWithALimit(t *testing.T) {
	for _, c := range []struct {
		takes  time.Duration
		atMost int // claims for the jobs
		held   int // jobs of them claimed while they run
	}{{time.Millisecond, 60, 100}, {time.Minute, 105, 1}} {
		t.Run(fmt.Sprint(c.takes), func(t *testing.T) {
			const jobs = 100
			inBed(t, Config{Node: NodeConfig{Slots: 8, Queues: []store.QueueDemand{{Name: "default", Limit: 1}, {Name: "other"}}}}, func(b *bed) {
				n := b.countClaims()
				var batch []*store.Enqueue
				for range jobs {
					batch = append(batch, b.job("k"))
				}
				b.handle("k", func(context.Context, Attempt) ([]byte, error) {
					time.Sleep(c.takes)
					held := 0
					for _, q := range batch {
						if b.get(q.Job.ID).State == store.Running {
							held++
						}
					}
					if held > c.held+1 { // and one whose outcome is being written
						t.Errorf("%d jobs are claimed, of which one can run", held)
					}
					return nil, nil
				})
				b.enqueue(batch...)
				b.run()
				time.Sleep(jobs*c.takes + time.Minute)
				for _, q := range batch {
					if state := b.get(q.Job.ID).State; state != store.Completed {
						t.Fatalf("a job is %v", state)
					}
				}
				if *n > c.atMost {
					t.Errorf("%d claims for %d jobs", *n, jobs)
				}
			})
		})
	}
}

// TestJobsClaimedAheadOfTheirQueueAreInNobodysWay: if they turn out to be long, the slots of the
// node go to other queues.
func TestJobsClaimedAheadOfTheirQueueAreInNobodysWay(t *testing.T) {
	inBed(t, Config{Node: NodeConfig{Slots: 3, Queues: []store.QueueDemand{{Name: "a", Limit: 1}, {Name: "b", Limit: 2}}}}, func(b *bed) {
		var slow atomic.Bool
		release := make(chan struct{})
		b.handle("k", func(_ context.Context, r Attempt) ([]byte, error) {
			if r.Job().Queue == "a" && slow.Load() {
				<-release
			}
			time.Sleep(time.Millisecond)
			return nil, nil
		})
		b.run()
		var batch []*store.Enqueue
		for range 300 {
			batch = append(batch, b.job("k", func(q *store.Enqueue) { q.Job.Queue = "a" }))
		}
		b.enqueue(batch...)
		time.Sleep(100 * time.Millisecond)
		slow.Store(true)
		time.Sleep(10 * time.Millisecond)
		slots := b.runner().node.slots
		if ahead := len(slots.Jobs()) - slots.Running(); ahead < 10 {
			t.Errorf("%d jobs are claimed ahead", ahead)
		}
		var others []*store.Enqueue
		for range 20 {
			others = append(others, b.job("k", func(q *store.Enqueue) { q.Job.Queue = "b" }))
		}
		b.enqueue(others...)
		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
		for _, q := range others {
			if state := b.get(q.Job.ID).State; state != store.Completed {
				t.Errorf("a job of the other queue is %v", state)
			}
		}
		slow.Store(false)
		close(release)
		for _, q := range batch {
			b.expect(b.wait(q.Job.ID), store.Completed, "")
		}
	})
}
