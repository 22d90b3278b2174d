package engine

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/commit"
	"github.com/holdfastdev/holdfast/internal/lifetime"
	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/store"
)

// nothing is a no-op store, so that only the engine is measured. Its claims return the jobs that
// are left.
type nothing struct {
	store.Store // nil: no other method is called

	left    atomic.Int64
	claimed int64
	ends    sync.WaitGroup // outcomes expected
	asked   chan struct{}  // closed by the first claim
	ask     sync.Once
}

func newNothing() *nothing { return &nothing{asked: make(chan struct{})} }

func (*nothing) Traits() store.Traits {
	return store.Traits{Name: "nothing", Wakeups: true, MaxBatch: 500}
}

func (*nothing) Now() time.Time                                      { return time.Now() }
func (*nothing) Notify(...store.Wake)                                {}
func (*nothing) Close() error                                        { return nil }
func (*nothing) Watch(ctx context.Context, _ func(store.Wake)) error { <-ctx.Done(); return nil }
func (*nothing) Join(context.Context, store.NodeInfo) (int64, error) { return 1, nil }
func (*nothing) Leave(context.Context, int64) ([]store.Wake, error)  { return nil, nil }

func (*nothing) Ended(context.Context, string, []store.ID) ([]store.Ended, error) { return nil, nil }

func (*nothing) Limits(context.Context, string, string) ([]store.Limit, error) { return nil, nil }

func (*nothing) Busy(context.Context, string) ([]store.BusyQueue, error) { return nil, nil }

func (*nothing) AttemptsOfQueues(context.Context, string) (map[string]store.QueueAttempts, error) {
	return nil, nil
}

func (*nothing) Beat(context.Context, store.BeatParams) (store.Beat, error) {
	return store.Beat{}, nil
}

func (*nothing) Promote(context.Context, int) (store.Promoted, error) {
	return store.Promoted{}, nil
}

func (*nothing) KeepFacts(context.Context, []store.Fact) error { return nil }

func (*nothing) Rescue(context.Context, store.RescueParams) (store.Rescued, error) {
	return store.Rescued{}, nil
}

func (s *nothing) Apply(_ context.Context, batch *store.Batch) error {
	for _, o := range batch.Outcomes {
		o.Final = o.State
		s.ends.Done()
	}
	return nil
}

func (s *nothing) Claim(_ context.Context, params store.ClaimParams) ([]store.Claimed, error) {
	s.ask.Do(func() { close(s.asked) })
	jobs := make([]store.Claimed, min(int64(params.Limit), s.left.Load()))
	s.left.Add(-int64(len(jobs)))
	now := time.Now()
	for i := range jobs {
		s.claimed++
		c := &jobs[i]
		c.Job.Kind, c.Job.Queue, c.Job.Namespace, c.Job.Attempt = params.Kinds[0], "default", params.Namespace, 1
		binary.BigEndian.PutUint64(c.Job.ID[8:], uint64(s.claimed))
		c.Lease = store.Lease{Job: c.Job.ID, Number: 1, Node: params.Node, Claim: params.Seq, Slot: i % store.MaxClaimSlots}
		c.ClaimedAt = now
	}
	return jobs, nil
}

// BenchmarkRun runs claimed jobs through their handlers to their outcomes.
func BenchmarkRun(b *testing.B) {
	for _, steps := range []int{0, 1, 10} {
		b.Run(fmt.Sprintf("steps=%d", steps), func(b *testing.B) {
			st := newNothing()
			e := openBench(b, st)
			err := e.Runner("default").Handle(&Handler{Kind: "k", Run: func(_ context.Context, r Attempt) ([]byte, error) {
				s := r.Main()
				for range steps {
					_, err := s.Step("step", replay.StepPolicy{}, func(context.Context, int) ([]byte, error) { return []byte(`1`), nil })
					if err != nil {
						return nil, err
					}
				}
				return nil, nil
			}})
			if err != nil {
				b.Fatal(err)
			}
			stop, ran := make(chan struct{}), make(chan error, 1)
			go func() {
				ran <- e.Runner("default").Run(context.Background(), Stop{Soft: stop, Hard: context.Background()})
			}()
			<-st.asked
			st.ends.Add(b.N)
			b.ReportAllocs()
			b.ResetTimer()
			st.left.Store(int64(b.N))
			e.wake(store.Wake{Kind: store.WakeAll})
			st.ends.Wait()
			b.StopTimer()
			close(stop)
			if err := <-ran; err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkCommit sends writes through the committer, one after the other.
func BenchmarkCommit(b *testing.B) {
	lease := store.Lease{Number: 1, Node: 1, Claim: 1}
	for name, prepare := range map[string]func(*nothing, *commit.Committer) func(context.Context) error{
		"enqueue": func(_ *nothing, c *commit.Committer) func(context.Context) error {
			enqueues := []*store.Enqueue{{Job: store.Job{Namespace: "default", Queue: "default", Kind: "k"}}}
			return func(ctx context.Context) error { return c.Enqueue(ctx, enqueues) }
		},
		"append": func(_ *nothing, c *commit.Committer) func(context.Context) error {
			a := &store.Append{Lease: lease, Entries: []store.Entry{{Seq: 1, Kind: store.EntryStep, Path: "1", Name: "step"}}}
			w := commit.NewCall()
			l := &lifetime.Contexts{}
			return func(context.Context) error { return c.Append(l, a, w) }
		},
		"outcome": func(st *nothing, c *commit.Committer) func(context.Context) error {
			o := &store.Outcome{Lease: lease, State: store.Completed}
			ended := make(chan error, 1)
			return func(context.Context) error {
				st.ends.Add(1)
				c.Finish(o, nil, nil, nil, func(err error) { ended <- err })
				return <-ended
			}
		},
	} {
		b.Run(name, func(b *testing.B) {
			st := newNothing()
			write := prepare(st, openBench(b, st).commit)
			b.ReportAllocs()
			for b.Loop() {
				if err := write(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func openBench(b *testing.B, st store.Store) *Engine {
	b.Helper()
	e := New(st, Config{})
	b.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return e
}
