package engine

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/internal/await"
	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// hub is one database for several processes. A Notify of one process reaches all others, and
// nothing else reaches anybody.
type hub struct {
	store.Store
	mu    sync.Mutex
	doors []*door
}

// door is the store of one process.
type door struct {
	*hub
	hears chan store.Wake

	mu      sync.Mutex
	promote bool // false: another process promotes
}

func (h *hub) open() *door {
	d := &door{hub: h, hears: make(chan store.Wake, 1000), promote: true}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.doors = append(h.doors, d)
	return d
}

func (h *hub) tell(from *door, wakes ...store.Wake) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range h.doors {
		for _, w := range wakes {
			if d != from {
				d.hears <- w
			}
		}
	}
}

func (d *door) Notify(wakes ...store.Wake) { d.tell(d, wakes...) }
func (d *door) Close() error               { return nil }

func (d *door) Watch(ctx context.Context, wake func(store.Wake)) error {
	for {
		select {
		case w := <-d.hears:
			wake(w)
		case <-ctx.Done():
			return nil
		}
	}
}

func (d *door) leavePromotion() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.promote = false
}

func (d *door) Promote(ctx context.Context, limit int) (store.Promoted, error) {
	d.mu.Lock()
	promote := d.promote
	d.mu.Unlock()
	if !promote {
		return store.Promoted{}, nil
	}
	return d.hub.Promote(ctx, limit)
}

// spaces are two nodes of one database: one leads and serves the namespace "here", the other one
// serves another namespace and has been idle for long.
type spaces struct {
	t           *testing.T
	store       *env.Env // what nobody is told of, in the other namespace
	here, there *Engine
	doors       [2]*door
	started     chan start // of jobs there
	ended       chan error // causes of the ends of their contexts
}

// start is the beginning of a run.
type start struct {
	job  store.ID
	late time.Duration // since the job became available, or due
}

func inSpaces(t *testing.T, test func(s *spaces)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &hub{Store: model.New(time.Now)}
		running, stop := context.WithCancel(context.Background())
		var all sync.WaitGroup
		defer all.Wait()
		defer stop()
		s := &spaces{
			t: t, store: env.On(t, h.Store, env.NewClock()).InOtherSpace(), started: make(chan start, 100), ended: make(chan error, 100),
		}
		for i, name := range []string{"here", env.OtherSpace} {
			s.doors[i] = h.open()
			e := New(s.doors[i], Config{})
			for _, kind := range []string{"k", "send"} {
				if err := e.Runner(name).Handle(&Handler{Kind: kind, Run: s.run}); err != nil {
					t.Fatal(err)
				}
			}
			all.Go(func() {
				if err := e.Runner(name).Run(running, Stop{Soft: running.Done(), Hard: context.Background()}); err != nil {
					t.Errorf("the node of %s: %v", name, err)
				}
				if err := e.Close(context.Background()); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait() // the first one leads
			if i == 0 {
				s.here = e
			} else {
				s.there = e
			}
		}
		time.Sleep(idle)
		test(s)
	})
}

// run is the handler of all jobs. Their args say what it does.
func (s *spaces) run(ctx context.Context, r Attempt) ([]byte, error) {
	s.started <- start{r.Job().ID, time.Since(r.Job().RunAt)}
	strand := r.Main()
	switch string(r.Job().Args) {
	case `"fails"`:
		return nil, &usercode.FailError{Err: errBoom}
	case `"waits"`:
		_, err := strand.Now() // recorded in its journal
		if err == nil {
			_, err = strand.Receive(&await.Signal{Name: "go"}, await.Limit{})
		}
		return nil, err
	case `"lasts"`:
		<-ctx.Done()
		s.ended <- context.Cause(ctx)
		return nil, ctx.Err()
	case `"goes on"`:
		for {
			if _, err := strand.Step("step", replay.StepPolicy{}, func(context.Context, int) ([]byte, error) { return nil, nil }); err != nil {
				return nil, err
			}
			time.Sleep(soon / 10)
		}
	case `"bears"`, `"bears and waits"`:
		_, err := strand.StartChild("k", func() (*store.Enqueue, error) { return s.job(`"lasts"`), nil })
		if err == nil && string(r.Job().Args) == `"bears and waits"` {
			_, err = strand.Receive(&await.Signal{Name: "go"}, await.Limit{})
			return nil, err
		}
		if err == nil {
			// A child that is enqueued with the end of its parent may be cancelled at once.
			_, err = strand.Step("rest", replay.StepPolicy{}, func(context.Context, int) ([]byte, error) {
				time.Sleep(soon + soon/2)
				return nil, nil
			})
		}
		return nil, err
	}
	return nil, nil
}

func (s *spaces) job(args string, change ...func(*store.Enqueue)) *store.Enqueue {
	e := &store.Enqueue{Job: store.Job{
		ID: uuid.Must(uuid.NewV7()), Namespace: env.OtherSpace, Queue: "q", Kind: "k", Priority: 2, Args: []byte(args), MaxAttempts: 3,
	}}
	for _, c := range change {
		c(e)
	}
	return e
}

func (s *spaces) add(args string, change ...func(*store.Enqueue)) store.ID {
	s.t.Helper()
	e := s.job(args, change...)
	if err := s.there.Enqueue(s.t.Context(), []*store.Enqueue{e}); err != nil || e.Err != nil {
		s.t.Fatal(err, e.Err)
	}
	return e.Job.ID
}

// old makes a job that has run long ago; both nodes are idle.
func (s *spaces) old(args string) store.ID {
	s.t.Helper()
	id := s.add(args)
	s.wantStart(id)
	time.Sleep(idle)
	return id
}

// idle is how long nothing happens before what a test is about: no poll is due right after it.
const idle = time.Hour + idlePoll/3

// soon bounds the delay of a wake-up. A poll takes seconds.
const soon = 200 * time.Millisecond

func (s *spaces) wantStart(id store.ID) {
	s.t.Helper()
	time.Sleep(soon)
	if started := s.next(); started.job != id {
		s.t.Fatalf("job %v started, and not %v", started.job, id)
	}
}

// next is the next job that has started. To wait for one would be to wait for ever.
func (s *spaces) next() start {
	s.t.Helper()
	select {
	case started := <-s.started:
		return started
	default:
		s.t.Fatal("the job has not started: nobody told its node")
		return start{}
	}
}

func (s *spaces) wantEnd(cause error) {
	s.t.Helper()
	time.Sleep(soon)
	select {
	case why := <-s.ended:
		if !errors.Is(why, cause) {
			s.t.Fatalf("the run ended with %v, not %v", why, cause)
		}
	default:
		s.t.Fatal("the run goes on: nobody told its node")
	}
}

func (s *spaces) must(_ any, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *spaces) cancel(by *Engine, id store.ID, terminate bool) {
	s.t.Helper()
	s.must(by.Cancel(s.t.Context(), store.CancelParams{Jobs: []store.ID{id}, Actor: "ada", Terminate: terminate}))
}

// TestNodesAreToldByTheLeader: what the leader finds to do by its beats wakes the nodes of other
// processes.
func TestNodesAreToldByTheLeader(t *testing.T) {
	for name, test := range map[string]func(s *spaces){
		"a rescue": func(s *spaces) {
			run := s.store.Started()
			s.wantStartByLeader(run.Job.ID)
		},
		"the end of a parent whose child is to end itself": func(s *spaces) {
			parent := s.store.Started()
			child := s.store.ClaimOne(parent.Lease.Node, s.store.Bear(&parent, 1)[0])
			s.store.Write(&child, env.Step(1))
			s.store.Park(child, env.ForSignals())
			s.store.End(parent, store.Completed, env.WithChildren)
			s.wantStartByLeader(child.Job.ID)
		},
		"a sweep that ends a child for whose end its parent waits": func(s *spaces) {
			parent, id := s.parentOf()
			run := s.store.ClaimOne(s.store.Join(), id)
			s.store.Write(&run, env.Step(1))
			s.store.Cancel(id)
			s.store.End(run, store.Retryable, func(o *store.Outcome) { o.CancelSeen, o.Delay = true, time.Hour })
			s.store.PauseJob(id, store.Waiting)
			params := env.Resumption(id)
			params.Keep = 0
			_, _, err := s.store.Store.Resume(s.t.Context(), params)
			s.must(nil, err)
			s.wantStartByLeader(parent)
		},
	} {
		t.Run(name, func(t *testing.T) { inSpaces(t, test) })
	}
}

// parentOf makes a parent that waits for the end of its child, of which no node is told.
func (s *spaces) parentOf() (parent, child store.ID) {
	s.t.Helper()
	run := s.store.Started()
	child = s.store.Bear(&run, 1)[0]
	s.store.Park(run, env.ForSignals(store.MessageChild), env.WithChildren)
	return run.Job.ID, child
}

// wantStartByLeader checks that a job starts as soon as the leader has made it available, or due.
func (s *spaces) wantStartByLeader(id store.ID) {
	s.t.Helper()
	select {
	case started := <-s.started:
		if started.job != id || started.late > soon {
			s.t.Fatalf("job %v started %v after it was due; want %v", started.job, started.late, id)
		}
	case <-time.After(time.Minute):
		s.t.Fatal("the job has not started: nobody told its node")
	}
}
