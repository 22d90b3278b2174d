package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bed is an engine on the in-memory model under virtual time: time advances only while every
// goroutine waits.
type bed struct {
	resumed atomic.Bool // the last request about a job that is to be held
	t       *testing.T
	st      *probe
	e       *Engine
	cfg     Config
	stop    chan struct{}
	now     context.CancelFunc
	ran     chan error
}

// probe counts the calls to a store, and lets a test replace some.
type probe struct {
	store.Store
	calls   atomic.Int64
	applies atomic.Int64

	mu         sync.Mutex
	onApply    func(*store.Batch) error                  // called before; an error is returned instead of applying
	carry      func(context.Context, *store.Batch) error // the same
	instead    func(*store.Batch) error                  // errApplied: the hook has applied the batch; nil: the store applies it
	convey     func(context.Context, store.ClaimParams, func() ([]store.Claimed, error)) ([]store.Claimed, error)
	onClaim    func(p store.ClaimParams, jobs []store.Claimed, err error) ([]store.Claimed, error)
	onBeat     func() error
	promote    func() (store.Promoted, bool)                       // false: the store promotes
	onLost     func(ctx context.Context, lost []store.Lease) error // called before leases are given up; an error is returned instead
	onGet      func()
	onJournals func() error // an error is returned instead of reading
	onAwaitTx  func() error // called instead
	onJoin     func()
	onBusy     func() error                                  // an error is returned instead of looking
	onLogs     func(context.Context, []store.LogChunk) error // called before; an error is returned instead of keeping
	onFacts    func([]store.Fact) error                      // called before; an error is returned instead of keeping
	kept       int
	maxJobs    int // largest number of jobs in one Apply
}

func (p *probe) KeepLogs(ctx context.Context, chunks []store.LogChunk) error {
	p.mu.Lock()
	hook := p.onLogs
	p.kept++
	p.mu.Unlock()
	if hook != nil {
		if err := hook(ctx, chunks); err != nil {
			return err
		}
	}
	return p.Store.KeepLogs(ctx, chunks)
}

func (p *probe) KeepFacts(ctx context.Context, facts []store.Fact) error {
	p.mu.Lock()
	hook := p.onFacts
	p.mu.Unlock()
	if hook != nil {
		if err := hook(facts); err != nil {
			return err
		}
	}
	return p.Store.KeepFacts(ctx, facts)
}

func (p *probe) Busy(ctx context.Context, namespace string) ([]store.BusyQueue, error) {
	p.mu.Lock()
	hook := p.onBusy
	p.mu.Unlock()
	if hook != nil {
		if err := hook(); err != nil {
			return nil, err
		}
	}
	return p.Store.Busy(ctx, namespace)
}

func (p *probe) Apply(ctx context.Context, b *store.Batch) error {
	p.calls.Add(1)
	p.applies.Add(1)
	p.mu.Lock()
	p.maxJobs = max(p.maxJobs, b.Len())
	hook, carry := p.onApply, p.carry
	p.mu.Unlock()
	if carry != nil {
		if err := carry(ctx, b); err != nil {
			return err
		}
	}
	if hook != nil {
		if err := hook(b); err != nil {
			return err
		}
	}
	p.mu.Lock()
	instead := p.instead
	p.mu.Unlock()
	if instead != nil {
		if err := instead(b); errors.Is(err, errApplied) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return p.Store.Apply(ctx, b)
}

func (p *probe) Claim(ctx context.Context, params store.ClaimParams) ([]store.Claimed, error) {
	p.calls.Add(1)
	p.mu.Lock()
	hook, convey := p.onClaim, p.convey
	p.mu.Unlock()
	claim := func() ([]store.Claimed, error) { return p.Store.Claim(ctx, params) }
	if convey != nil {
		return convey(ctx, params, claim)
	}
	jobs, err := claim()
	if hook != nil {
		return hook(params, jobs, err)
	}
	return jobs, err
}

func (p *probe) Join(ctx context.Context, info store.NodeInfo) (int64, error) {
	p.mu.Lock()
	hook := p.onJoin
	p.mu.Unlock()
	if hook != nil {
		hook()
	}
	return p.Store.Join(ctx, info)
}

func (p *probe) Beat(ctx context.Context, params store.BeatParams) (store.Beat, error) {
	p.calls.Add(1)
	p.mu.Lock()
	hook := p.onBeat
	p.mu.Unlock()
	if hook != nil {
		if err := hook(); err != nil {
			return store.Beat{}, err
		}
	}
	return p.Store.Beat(ctx, params)
}

func (p *probe) Promote(ctx context.Context, limit int) (store.Promoted, error) {
	p.calls.Add(1)
	p.mu.Lock()
	hook := p.promote
	p.mu.Unlock()
	if hook != nil {
		if promoted, instead := hook(); instead {
			return promoted, nil
		}
	}
	return p.Store.Promote(ctx, limit)
}

func (p *probe) Rescue(ctx context.Context, params store.RescueParams) (store.Rescued, error) {
	p.calls.Add(1)
	p.mu.Lock()
	hook := p.onLost
	p.mu.Unlock()
	if hook != nil && len(params.Lost) > 0 {
		if err := hook(ctx, params.Lost); err != nil {
			return store.Rescued{}, err
		}
	}
	return p.Store.Rescue(ctx, params)
}

func (p *probe) Get(ctx context.Context, namespace string, id store.ID) (store.Record, error) {
	p.mu.Lock()
	hook := p.onGet
	p.mu.Unlock()
	if hook != nil {
		hook()
	}
	return p.Store.Get(ctx, namespace, id)
}

func (p *probe) Journals(ctx context.Context, namespace string, ids []store.ID) ([]store.Journal, error) {
	p.mu.Lock()
	hook := p.onJournals
	p.mu.Unlock()
	if hook != nil {
		if err := hook(); err != nil {
			return nil, err
		}
	}
	return p.Store.Journals(ctx, namespace, ids)
}

func (p *probe) AwaitTx(ctx context.Context, job store.ID) error {
	p.mu.Lock()
	hook := p.onAwaitTx
	p.mu.Unlock()
	if hook != nil {
		return hook()
	}
	return p.Store.AwaitTx(ctx, job)
}

func (p *probe) SweepCancels(ctx context.Context) (store.Swept, error) {
	p.calls.Add(1)
	return p.Store.SweepCancels(ctx)
}

func (p *probe) Retain(ctx context.Context, params store.Retention) (store.Retained, error) {
	p.calls.Add(1)
	return p.Store.Retain(ctx, params)
}

func (p *probe) hook(set func(p *probe)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	set(p)
}

// inBed runs a test under virtual time.
func inBed(t *testing.T, cfg Config, test func(b *bed)) {
	t.Helper()
	inBedOf(t, cfg, func(st store.Store) store.Store { return st }, test)
}

// inBedOf runs a test on what broken makes of the store, which the goroutines of the engine read
// from the start.
func inBedOf(t *testing.T, cfg Config, broken func(store.Store) store.Store, test func(b *bed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bed{t: t, cfg: cfg, st: &probe{Store: broken(model.New(time.Now))}}
		b.e = New(b.st, cfg)
		defer func() { // also when the test fails
			b.halt()
			if err := b.e.Close(context.Background()); err != nil {
				t.Errorf("closing: %v", err)
			}
		}()
		test(b)
	})
}

// runner is the runner of the one namespace.
func (b *bed) runner() *Runner { return b.e.Runner("default") }

func (b *bed) handle(kind string, run func(ctx context.Context, r Attempt) ([]byte, error)) *Handler {
	b.t.Helper()
	h := &Handler{Kind: kind, Run: run}
	if err := b.runner().Handle(h); err != nil {
		b.t.Fatal(err)
	}
	return h
}

// run starts the node.
func (b *bed) run() {
	b.stop, b.ran = make(chan struct{}), make(chan error, 1)
	force, now := context.WithCancel(context.Background())
	b.now = now
	go func() { b.ran <- b.runner().Run(context.Background(), Stop{Soft: b.stop, Hard: force}) }()
	synctest.Wait()
}

// halt stops the node and checks that it left cleanly.
func (b *bed) halt() {
	b.t.Helper()
	if b.stop == nil {
		return
	}
	close(b.stop)
	if err := <-b.ran; err != nil {
		b.t.Errorf("the node did not leave in peace: %v", err)
	}
	b.now()
	b.stop = nil
}

// job prepares an enqueue of a kind with default settings.
func (b *bed) job(kind string, change ...func(*store.Enqueue)) *store.Enqueue {
	e := &store.Enqueue{Job: store.Job{
		ID: uuid.Must(uuid.NewV7()), Namespace: "default", Queue: "default", Kind: kind, Priority: 2, Args: []byte(`{}`),
	}}
	for _, c := range change {
		c(e)
	}
	return e
}

func (b *bed) enqueue(enqueues ...*store.Enqueue) store.ID {
	b.t.Helper()
	if err := b.e.Enqueue(b.t.Context(), enqueues); err != nil {
		b.t.Fatal(err)
	}
	for _, e := range enqueues {
		if e.Err != nil {
			b.t.Fatal(e.Err)
		}
	}
	return enqueues[0].Result.ID
}

// wait waits for the job to end, at most an hour of virtual time.
func (b *bed) wait(id store.ID) store.Ended {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Hour)
	defer cancel()
	ended, err := b.e.Wait(ctx, "", id)
	if err != nil {
		rec, _ := b.st.Get(b.t.Context(), "", id)
		b.t.Fatalf("waiting for the job: %v; it is %v", err, rec.State)
	}
	return ended
}

func (b *bed) get(id store.ID) store.Record {
	b.t.Helper()
	rec, err := b.st.Get(b.t.Context(), "", id)
	if err != nil {
		b.t.Fatal(err)
	}
	return rec
}

func (b *bed) expect(ended store.Ended, state store.State, reason store.Reason) {
	b.t.Helper()
	if ended.State != state || ended.Reason != reason {
		b.t.Errorf("the job ended %v (%s: %s), not %v (%s)", ended.State, ended.Reason, ended.Error, state, reason)
	}
}

var errBoom = errors.New("boom")

// onNode returns the Run of an attempt on a node.
func onNode(r Attempt) *Run { return r.(*Run) } //nolint:errcheck // always a *Run

func ok(context.Context, Attempt) ([]byte, error) { return []byte(`"ok"`), nil }

// until waits for the end of the run's context and returns its cause, as a well-behaved handler
// does.
func until(ctx context.Context, _ Attempt) ([]byte, error) {
	<-ctx.Done()
	return nil, fmt.Errorf("stopped: %w", context.Cause(ctx))
}
