package tuning

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

const (
	gap  = 250 * time.Millisecond // between two looks: on SQLite each write of another process is a reason for one
	away = 500 * time.Millisecond // before another look after an error
)

// Parts are what a table stands on.
type Parts struct {
	Store     store.Store
	Namespace string
	// Every is how often it looks without a reason.
	Every func() time.Duration
	// Turn is called after each look.
	Turn   func()
	Outage *logs.Outage
}

// Table is what is set of the queues of a namespace.
type Table struct {
	Parts

	set     atomic.Pointer[map[string]store.QueueAttempts]
	changed chan struct{}
}

// New makes a table that knows of nothing.
func New(p Parts) *Table { return &Table{Parts: p, changed: make(chan struct{}, 1)} }

// Of is what is set of a queue, as far as is known.
func (t *Table) Of(queue string) store.AttemptSettings {
	set := t.set.Load()
	if set == nil {
		return store.AttemptSettings{}
	}
	return (*set)[queue].AttemptSettings
}

// Heard takes in a wake-up. It does not block.
func (t *Table) Heard(w store.Wake) {
	if w.Kind == store.WakeQueue || w.Kind == store.WakeAll {
		supervise.Signal(t.changed)
	}
}

// Load reads what is set now.
func (t *Table) Load(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, store.CallTimeout)
	defer cancel()
	set, err := t.Store.AttemptsOfQueues(call, t.Namespace)
	if err == nil {
		t.set.Store(&set)
	}
	return err
}

// Run keeps the table up to date until ctx ends.
func (t *Table) Run(ctx context.Context) {
	timer := time.NewTimer(t.Every())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.changed:
		case <-timer.C:
		}
		wait := gap
		switch err := t.Load(ctx); {
		case err == nil:
			t.Outage.Succeeded(logs.CallQueues)
		case ctx.Err() == nil:
			t.Outage.Failed(logs.CallQueues, err)
			supervise.Signal(t.changed)
			wait = away
		}
		t.Turn()
		timer.Reset(t.Every())
		supervise.Sleep(ctx, wait)
	}
}
