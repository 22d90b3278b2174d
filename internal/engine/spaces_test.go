package engine

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// hub is one database for several processes. A Notify of one process reaches all others, and the
// store's own wake-ups reach all.
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
// serves "there" and has been idle for long.
type spaces struct {
	t           *testing.T
	here, there *Engine
	doors       [2]*door
	started     chan store.ID // jobs there
	ended       chan error    // causes of the ends of their contexts
}

func inSpaces(t *testing.T, test func(s *spaces)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &hub{Store: model.New(time.Now)}
		running, stop := context.WithCancel(context.Background())
		var all sync.WaitGroup
		defer all.Wait()
		defer stop()
		all.Go(func() { _ = h.Watch(running, func(w store.Wake) { h.tell(nil, w) }) })
		s := &spaces{t: t, started: make(chan store.ID, 100), ended: make(chan error, 100)}
		for i, name := range []string{"here", "there"} {
			s.doors[i] = h.open()
			e := New(s.doors[i], Config{})
			if err := e.Runner(name).Handle(&Handler{Kind: "k", Run: s.run}); err != nil {
				t.Fatal(err)
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
		time.Sleep(time.Hour)
		test(s)
	})
}

// run is the handler of all jobs. Their args say what it does.
func (s *spaces) run(ctx context.Context, r Attempt) ([]byte, error) {
	s.started <- r.Job().ID
	strand := r.Main()
	switch string(r.Job().Args) {
	case `"fails"`:
		return nil, &usercode.FailError{Err: errBoom}
	case `"waits"`:
		_, err := strand.Now() // recorded in its journal
		if err == nil {
			_, err = strand.Receive(&replay.Signal{Name: "go"}, replay.Limit{})
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
			_, err = strand.Receive(&replay.Signal{Name: "go"}, replay.Limit{})
		}
		return nil, err
	}
	return nil, nil
}

func (s *spaces) job(args string, change ...func(*store.Enqueue)) *store.Enqueue {
	e := &store.Enqueue{Job: store.Job{
		ID: uuid.Must(uuid.NewV7()), Namespace: "there", Queue: "q", Kind: "k", Priority: 2, Args: []byte(args), MaxAttempts: 3,
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
	time.Sleep(time.Hour)
	return id
}

// soon bounds the delay of a wake-up. A poll takes seconds.
const soon = 200 * time.Millisecond

func (s *spaces) wantStart(id store.ID) {
	s.t.Helper()
	time.Sleep(soon)
	select {
	case started := <-s.started:
		if started != id {
			s.t.Fatalf("job %v started, and not %v", started, id)
		}
	default:
		s.t.Fatal("the job has not started: nobody told its node")
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

// TestNodesAreToldInTheNamespaceOfTheJob: whatever makes a job available or asks a run to stop, on
// either node, wakes the node of the job's namespace.
func TestNodesAreToldInTheNamespaceOfTheJob(t *testing.T) {
	for name, test := range map[string]func(s *spaces){
		"a job that another node promotes": func(s *spaces) {
			s.doors[1].leavePromotion()
			id := s.add(`""`, func(q *store.Enqueue) { q.Delay = time.Hour })
			time.Sleep(time.Hour)
			s.wantStart(id)
		},
		"a retry": func(s *spaces) {
			id := s.old(`"fails"`)
			s.must(s.here.Retry(s.t.Context(), store.RetryParams{Jobs: []store.ID{id}, Actor: "ada"}))
			s.wantStart(id)
		},
		"a resume": func(s *spaces) {
			id := s.old(`"waits"`)
			s.must(s.here.PauseJobs(s.t.Context(), store.PauseJobsParams{Jobs: []store.ID{id}, Actor: "ada"}))
			time.Sleep(time.Hour)
			s.must(s.here.Resume(s.t.Context(), store.ResumeParams{Job: id, Keep: -1, Expect: -1, Actor: "ada"}))
			s.wantStart(id)
		},
		"a fork": func(s *spaces) {
			from, fork := s.old(`"waits"`), s.job(`""`)
			s.must(nil, s.here.Fork(s.t.Context(), store.ForkParams{From: from, Job: fork.Job, Actor: "ada"}))
			s.wantStart(fork.Job.ID)
		},
		"a message": func(s *spaces) {
			id := s.old(`"waits"`)
			q := &store.Send{Job: id, Message: store.Message{Kind: store.MessageSignal, Name: "go"}}
			s.must(nil, s.here.Send(s.t.Context(), []*store.Send{q}))
			s.wantStart(id)
		},
		"a cancel of one that is to end itself": func(s *spaces) {
			id := s.old(`"waits"`)
			s.cancel(s.here, id, false)
			s.wantStart(id)
		},
		"a cancel of one that runs": func(s *spaces) {
			s.cancel(s.here, s.old(`"lasts"`), false)
			s.wantEnd(usercode.ErrCancelled)
		},
		"a terminate of one that runs": func(s *spaces) {
			s.cancel(s.here, s.old(`"lasts"`), true)
			s.wantEnd(store.ErrLeaseLost)
		},
		"a pause of one that runs": func(s *spaces) {
			id := s.add(`"goes on"`)
			s.wantStart(id)
			s.must(s.here.PauseJobs(s.t.Context(), store.PauseJobsParams{Jobs: []store.ID{id}, Actor: "ada"}))
			time.Sleep(soon)
			if rec, err := s.here.Store.Get(s.t.Context(), "", id); err != nil || rec.State != store.Waiting {
				s.t.Fatalf("the job is %v, %v: nobody told its node", rec.State, err)
			}
		},
		"the end of a parent": func(s *spaces) {
			s.wantStart(s.add(`"bears"`))
			<-s.started
			s.wantEnd(usercode.ErrCancelled)
		},
		"a terminate of a parent that waits": func(s *spaces) {
			id := s.add(`"bears and waits"`)
			s.wantStart(id)
			<-s.started
			time.Sleep(time.Hour)
			s.cancel(s.there, id, true)
			s.wantEnd(usercode.ErrCancelled)
		},
	} {
		t.Run(name, func(t *testing.T) { inSpaces(t, test) })
	}
}
