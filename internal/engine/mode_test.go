package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// ask asks the node of the bed for a mode, as another process does on a database without wake-ups,
// or as a client of this one.
func (b *bed) ask(mode store.NodeMode) {
	b.t.Helper()
	node := b.runner().Health().Node
	if err := b.e.AskNode(b.t.Context(), store.AskNodeParams{Node: node, Mode: mode, Actor: "ada"}); err != nil {
		b.t.Fatal(err)
	}
	synctest.Wait()
}

// states counts the jobs by their states.
func (b *bed) states(ids []store.ID) map[store.State]int {
	b.t.Helper()
	n := map[store.State]int{}
	for _, id := range ids {
		n[b.get(id).State]++
	}
	return n
}

// TestQuietNodeEndsWhatItRuns: it claims nothing, neither by claims nor by starts with an enqueue,
// gives back at once what it has prefetched, and goes on when it is resumed.
func TestQuietNodeEndsWhatItRuns(t *testing.T) {
	inBed(t, Config{Node: NodeConfig{Slots: 2}}, func(b *bed) {
		leave := make(chan struct{})
		quick := true
		b.handle("k", func(context.Context, Attempt) ([]byte, error) {
			if !quick {
				<-leave
			}
			return nil, nil
		})
		b.run()
		for range 20 { // so that it prefetches
			b.wait(b.enqueue(b.job("k")))
		}
		quick = false
		var ids []store.ID
		for range 10 {
			ids = append(ids, b.enqueue(b.job("k")))
		}
		synctest.Wait()
		if n := len(b.runner().node.worksOn()); n <= 2 {
			t.Fatalf("%d jobs are here: none is prefetched, so that this shows nothing", n)
		}
		b.ask(store.NodeQuiet)
		if mode := b.runner().Health().Mode; mode != store.NodeQuiet {
			t.Errorf("its health says that it is %v", mode)
		}
		if n := b.states(ids); n[store.Running] != 2 || n[store.Available] != 8 {
			t.Errorf("at once the jobs are %v", n)
		}
		late := b.enqueue(b.job("k"))
		close(leave)
		time.Sleep(time.Minute)
		if n := b.states(append(ids, late)); n[store.Completed] != 2 || n[store.Available] != 9 {
			t.Errorf("a minute later the jobs are %v", n)
		}
		for _, id := range ids {
			if r := b.get(id); r.State == store.Available && r.Attempt != 0 {
				t.Errorf("a job that was given back has attempt %d", r.Attempt)
			}
		}
		b.ask(store.NodeRuns)
		for _, id := range append(ids, late) {
			b.expect(b.wait(id), store.Completed, "")
		}
		started := b.enqueue(b.job("k"))
		b.expect(b.wait(started), store.Completed, "")
	})
}

// TestQuietReachesTheNodeByABeat: where no wake-up comes.
func TestQuietReachesTheNodeByABeat(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.handle("k", ok)
		b.run()
		node := b.runner().Health().Node
		if err := b.st.AskNode(t.Context(), store.AskNodeParams{Node: node, Mode: store.NodeQuiet}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5*time.Second + time.Millisecond)
		id := b.enqueue(b.job("k"))
		time.Sleep(time.Minute)
		if s := b.get(id).State; s != store.Available {
			t.Errorf("the job is %v", s)
		}
		if err := b.st.AskNode(t.Context(), store.AskNodeParams{Node: node, Mode: store.NodeRuns}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5*time.Second + time.Millisecond)
		if s := b.get(id).State; s != store.Completed {
			t.Errorf("the job is %v", s)
		}
	})
}

// TestClaimOnItsWayWhenTheNodeGetsQuiet: what it brings is given back and does not start, then or
// later.
func TestClaimOnItsWayWhenTheNodeGetsQuiet(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		var runs atomic.Int64
		b.handle("k", func(context.Context, Attempt) ([]byte, error) { runs.Add(1); return nil, nil })
		b.run()
		claimed, answer := make(chan struct{}), make(chan struct{})
		b.st.hook(func(p *probe) {
			p.onClaim = func(_ store.ClaimParams, jobs []store.Claimed, err error) ([]store.Claimed, error) {
				if len(jobs) > 0 {
					close(claimed)
					<-answer
				}
				return jobs, err
			}
		})
		q := b.job("k", func(q *store.Enqueue) { q.Delay = time.Second })
		id := b.enqueue(q)
		<-claimed
		b.st.hook(func(p *probe) { p.onClaim = nil })
		b.ask(store.NodeQuiet)
		close(answer)
		synctest.Wait()
		if r := b.get(id); r.State != store.Available || runs.Load() != 0 {
			t.Errorf("the job is %v, and ran %d times", r.State, runs.Load())
		}
		b.ask(store.NodeRuns)
		b.expect(b.wait(id), store.Completed, "")
	})
}

// TestDrainedNodeStops: as by a soft stop: its running jobs have the stop timeout to end, Run
// returns, and the process may be a node again, which is not drained.
func TestDrainedNodeStops(t *testing.T) {
	for name, c := range map[string]struct {
		takes time.Duration
		state store.State
	}{
		"a short job": {10 * time.Second, store.Completed},
		"a long job":  {time.Hour, store.Available}, // given back when the stop timeout is over
	} {
		t.Run(name, func(t *testing.T) {
			inBed(t, Config{Node: NodeConfig{StopTimeout: 20 * time.Second}}, func(b *bed) {
				takes := c.takes
				b.handle("k", func(ctx context.Context, _ Attempt) ([]byte, error) {
					select {
					case <-time.After(takes):
						return nil, nil
					case <-ctx.Done():
						return nil, context.Cause(ctx)
					}
				})
				b.run()
				first := b.runner().Health().Node
				id := b.enqueue(b.job("k"))
				synctest.Wait()
				began := time.Now()
				b.ask(store.NodeDrains)
				late := b.enqueue(b.job("k"))
				if err := <-b.ran; err != nil {
					t.Errorf("Run: %v", err)
				}
				b.now()
				b.stop = nil
				if took := time.Since(began); took > 21*time.Second || took < min(c.takes, 20*time.Second) {
					t.Errorf("it took %v", took)
				}
				if r := b.get(id); r.State != c.state || r.Attempt > 1 {
					t.Errorf("the job is %v, with attempt %d", r.State, r.Attempt)
				}
				takes = 0
				b.run()
				b.expect(b.wait(late), store.Completed, "")
				b.expect(b.wait(id), store.Completed, "")
				if second := b.runner().Health().Node; second == first {
					t.Error("the node has the same id")
				}
			})
		})
	}
}

// TestQuietNodeThatWasTakenForDeadStaysQuiet: also if the wish came while it could not hear of it.
// It claims nothing between its join and the beat that tells.
func TestQuietNodeThatWasTakenForDeadStaysQuiet(t *testing.T) {
	for name, before := range map[string]bool{"asked before": true, "asked while it was silent": false} {
		t.Run(name, func(t *testing.T) {
			inBed(t, Config{}, func(b *bed) {
				var runs atomic.Int64
				b.handle("k", func(context.Context, Attempt) ([]byte, error) { runs.Add(1); return nil, nil })
				b.run()
				node := b.runner().Health().Node
				if before {
					b.ask(store.NodeQuiet)
				}
				b.st.hook(func(p *probe) {
					p.onBeat = func() error { return store.ErrUnavailable }
					p.onClaim = func(store.ClaimParams, []store.Claimed, error) ([]store.Claimed, error) {
						return nil, store.ErrUnavailable
					}
				})
				time.Sleep(21 * time.Second)
				if err := b.st.AskNode(t.Context(), store.AskNodeParams{Node: node, Mode: store.NodeQuiet}); err != nil {
					t.Fatal(err)
				}
				nodes, err := b.st.Nodes(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				dead := []store.NodeBeat{{Node: node, At: nodes[0].BeatAt}}
				if _, err := b.st.Store.Rescue(t.Context(), store.RescueParams{Dead: dead}); err != nil {
					t.Fatal(err)
				}
				if err := b.st.AskNode(t.Context(), store.AskNodeParams{Node: node}); !errors.Is(err, store.ErrNodeDead) {
					t.Errorf("asking a dead node: %v", err)
				}
				id := b.enqueue(b.job("k"))
				b.st.hook(func(p *probe) { p.onBeat, p.onClaim = nil, nil })
				time.Sleep(time.Minute)
				again := b.runner().Health().Node
				if s := b.get(id).State; s != store.Available || runs.Load() != 0 || again == node {
					t.Errorf("the job is %v, %d runs on node %d after %d", s, runs.Load(), again, node)
				}
				b.ask(store.NodeRuns)
				b.expect(b.wait(id), store.Completed, "")
			})
		})
	}
}

// TestNodeTellsWhatIsWrong: with its beats, and nothing while all is well.
func TestNodeTellsWhatIsWrong(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.handle("k", ok)
		b.run()
		unwell := func() []string {
			nodes, err := b.st.Nodes(t.Context())
			if err != nil || len(nodes) != 1 {
				t.Fatal(nodes, err)
			}
			return nodes[0].Unwell
		}
		time.Sleep(time.Hour)
		if wrong := unwell(); wrong != nil {
			t.Errorf("after an hour without a job: %q", wrong)
		}
		hang := make(chan struct{})
		b.st.hook(func(p *probe) { p.promote = func() (store.Promoted, bool) { <-hang; return store.Promoted{}, false } })
		time.Sleep(5 * time.Minute)
		stands := func(text string) bool { return strings.HasPrefix(text, "promote: the loop has stood still for ") }
		if wrong := unwell(); !slices.ContainsFunc(wrong, stands) {
			t.Errorf("with a promotion that hangs: %q", wrong)
		}
		b.st.hook(func(p *probe) { p.promote = nil })
		close(hang)
		time.Sleep(time.Minute)
		if wrong := unwell(); wrong != nil {
			t.Errorf("when it has come back: %q", wrong)
		}
		again := make(chan struct{})
		b.st.hook(func(p *probe) {
			p.convey = func(_ context.Context, _ store.ClaimParams, claim func() ([]store.Claimed, error)) ([]store.Claimed, error) {
				<-again
				return claim()
			}
		})
		time.Sleep(5 * time.Minute)
		stands = func(text string) bool { return strings.HasPrefix(text, "claims: the loop has stood still for ") }
		if wrong := unwell(); !slices.ContainsFunc(wrong, stands) {
			t.Errorf("with a claim that hangs: %q", wrong)
		}
		b.ask(store.NodeQuiet)
		time.Sleep(time.Minute)
		if wrong := unwell(); wrong != nil {
			t.Errorf("of a quiet node, which has nothing to claim for: %q", wrong)
		}
		close(again)
	})
}
