package storetest

import (
	"context"
	"errors"
	"flag"
	"sync"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
)

var propertyTests = []test{
	{"the_store_does_what_the_model_does", func(e *env) { e.property(mode{}) }},
	{"the_store_does_what_the_model_does_with_ordering_keys", func(e *env) { e.property(mode{keyed: true}) }},
	{"NoLoss_lost_requests_and_answers_change_nothing", func(e *env) { e.property(mode{lossy: true}) }},
	{"the_store_does_what_the_model_does_with_jobs_that_remember", func(e *env) { e.property(mode{durable: true}) }},
	{"the_store_does_what_the_model_does_with_jobs_that_remember_and_ordering_keys", func(e *env) {
		e.property(mode{durable: true, keyed: true})
	}},
	{"NoLoss_lost_requests_and_answers_change_nothing_of_what_jobs_remember", func(e *env) {
		e.property(mode{durable: true, lossy: true})
	}},
	{"NoLoss_lost_requests_and_answers_change_nothing_with_ordering_keys", func(e *env) { e.property(mode{keyed: true, lossy: true}) }},
}

// defaultChecks is how many sequences each property test draws, so that the suite takes seconds. The flag
// -rapid.checks goes before it.
const defaultChecks = "15"

var limitChecks = sync.OnceFunc(func() {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		_ = flag.Set("rapid.checks", defaultChecks)
	}
})

// property draws sequences of operations and lets a machine compare the store with the model.
func (e *env) property(mode mode) {
	stores := &pool{t: e.T, open: e.open, clock: e.clock, ids: e.ids, store: e.store}
	rapid.Check(e.T, func(t *rapid.T) { stores.check(t, mode) })
}

func (p *pool) check(t *rapid.T, mode mode) {
	m := newMachine(t, p, mode)
	inner := m.store
	if mode.lossy {
		m.store = persistent{faults.Wrap(inner, faults.Seeded(rapid.Uint64().Draw(t, "faults"), 0.3))}
	}
	if mode.durable {
		m.family(t)
	}
	t.Repeat(m.actions())
	m.finish(p, inner)
}

// persistent is a caller that asks again until it gets an answer, by the rules of the contract (package store,
// "Repeating"): outcomes, appends and claims are marked as repeated, everything else is sent as it was. It does so with a Resume too,
// whose answer is then of little worth: the job may go on already.
type persistent struct{ store.Store }

// persist asks until there is an answer. The function gets true from the second time on.
func persist(ask func(again bool) error) error {
	for again := false; ; again = true {
		if err := ask(again); !errors.Is(err, store.ErrUnavailable) {
			return err
		}
	}
}

func persistFor[T any](ask func() (T, error)) (answer T, err error) {
	err = persist(func(bool) (err error) {
		answer, err = ask()
		return err
	})
	return answer, err
}

func (p persistent) Apply(ctx context.Context, batch *store.Batch) error {
	return persist(func(again bool) error {
		for _, a := range batch.Appends {
			a.Repeat = a.Repeat || again
		}
		for _, o := range batch.Outcomes {
			o.Repeat = o.Repeat || again
		}
		return p.Store.Apply(ctx, batch)
	})
}

func (p persistent) Claim(ctx context.Context, params store.ClaimParams) (claimed []store.Claimed, err error) {
	err = persist(func(again bool) (err error) {
		params.Repeat = params.Repeat || again
		claimed, err = p.Store.Claim(ctx, params)
		return err
	})
	return claimed, err
}

func (p persistent) AwaitTx(ctx context.Context, job store.ID) error {
	return persist(func(bool) error { return p.Store.AwaitTx(ctx, job) })
}

func (p persistent) Join(ctx context.Context, info store.NodeInfo) (int64, error) {
	return persistFor(func() (int64, error) { return p.Store.Join(ctx, info) })
}

func (p persistent) Beat(ctx context.Context, params store.BeatParams) (store.Beat, error) {
	return persistFor(func() (store.Beat, error) { return p.Store.Beat(ctx, params) })
}

func (p persistent) Leave(ctx context.Context, node int64) error {
	return persist(func(bool) error { return p.Store.Leave(ctx, node) })
}

func (p persistent) Nodes(ctx context.Context) ([]store.Node, error) {
	return persistFor(func() ([]store.Node, error) { return p.Store.Nodes(ctx) })
}

func (p persistent) Cancel(ctx context.Context, params store.CancelParams) ([]store.CancelResult, error) {
	return persistFor(func() ([]store.CancelResult, error) { return p.Store.Cancel(ctx, params) })
}

func (p persistent) Retry(ctx context.Context, params store.RetryParams) ([]store.RetryResult, error) {
	return persistFor(func() ([]store.RetryResult, error) { return p.Store.Retry(ctx, params) })
}

func (p persistent) Pause(ctx context.Context, params store.PauseParams) error {
	return persist(func(bool) error { return p.Store.Pause(ctx, params) })
}

func (p persistent) PauseJobs(ctx context.Context, params store.PauseJobsParams) ([]store.PauseResult, error) {
	return persistFor(func() ([]store.PauseResult, error) { return p.Store.PauseJobs(ctx, params) })
}

func (p persistent) Resume(ctx context.Context, params store.ResumeParams) (store.State, error) {
	return persistFor(func() (store.State, error) { return p.Store.Resume(ctx, params) })
}

func (p persistent) Fork(ctx context.Context, params store.ForkParams) error {
	return persist(func(bool) error { return p.Store.Fork(ctx, params) })
}

func (p persistent) Journals(ctx context.Context, ids []store.ID) ([]store.Journal, error) {
	return persistFor(func() ([]store.Journal, error) { return p.Store.Journals(ctx, ids) })
}

func (p persistent) Entries(ctx context.Context, params store.JournalParams) ([]store.Entry, error) {
	return persistFor(func() ([]store.Entry, error) { return p.Store.Entries(ctx, params) })
}

func (p persistent) CloseChildren(ctx context.Context, limit int) (store.Closed, error) {
	return persistFor(func() (store.Closed, error) { return p.Store.CloseChildren(ctx, limit) })
}

func (p persistent) Get(ctx context.Context, id store.ID) (store.Record, error) {
	return persistFor(func() (store.Record, error) { return p.Store.Get(ctx, id) })
}

func (p persistent) List(ctx context.Context, params store.ListParams) (store.Page, error) {
	return persistFor(func() (store.Page, error) { return p.Store.List(ctx, params) })
}

func (p persistent) Queues(ctx context.Context, namespace string) ([]store.Queue, error) {
	return persistFor(func() ([]store.Queue, error) { return p.Store.Queues(ctx, namespace) })
}

func (p persistent) Ended(ctx context.Context, ids []store.ID) ([]store.Ended, error) {
	return persistFor(func() ([]store.Ended, error) { return p.Store.Ended(ctx, ids) })
}

func (p persistent) Promote(ctx context.Context, limit int) (store.Promoted, error) {
	return persistFor(func() (store.Promoted, error) { return p.Store.Promote(ctx, limit) })
}

func (p persistent) Rescue(ctx context.Context, params store.RescueParams) ([]store.Rescued, error) {
	return persistFor(func() ([]store.Rescued, error) { return p.Store.Rescue(ctx, params) })
}

func (p persistent) SweepCancels(ctx context.Context) (int, error) {
	return persistFor(func() (int, error) { return p.Store.SweepCancels(ctx) })
}

func (p persistent) Retain(ctx context.Context, params store.RetainParams) (store.Retained, error) {
	return persistFor(func() (store.Retained, error) { return p.Store.Retain(ctx, params) })
}
