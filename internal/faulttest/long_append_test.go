package faulttest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// TestTwentyThousandDecisions lets a run decide twenty thousand things before its next step,
// which are stored with that. The line in which everybody's writes wait is not held up by one
// giant transaction: others enqueue in between.
func TestTwentyThousandDecisions(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, db *database) {
		const decisions, most = 20_000, 2500
		counts := &appends{}
		hf := db.wrapped(func(st store.Store) store.Store { return &counting{Store: st, counts: counts} }).open(t)
		decides := holdfast.NewKind[int, int64]("decides")
		plain := holdfast.NewKind[int, int]("plain")
		register(t, hf, plain, func(_ *holdfast.Run, n int) (int, error) { return n, nil })
		register(t, hf, decides, func(run *holdfast.Run, n int) (int64, error) {
			sum := int64(0)
			for range n {
				now, err := run.Now()
				if err != nil {
					return 0, err
				}
				sum = sum*31 + now.UnixMicro()
			}
			decided, err := holdfast.Step(run, "sum", func(context.Context) (int64, error) { return sum, nil })
			if err != nil {
				return 0, err
			}
			if run.Attempt() == 1 {
				return 0, errors.New("to replay it")
			}
			if decided != sum {
				return 0, holdfast.Fail(errors.New("the replay has decided something else"))
			}
			return sum, nil
		}, holdfast.Backoff(time.Millisecond, time.Millisecond))
		work(t, hf)
		job := enqueue(t, hf, decides, decisions)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var others sync.WaitGroup
		for range 2 {
			others.Go(func() {
				for ctx.Err() == nil {
					if err := finishes(ctx, hf, plain, 1); err != nil && ctx.Err() == nil {
						t.Errorf("an enqueue of somebody else: %v", err)
						return
					}
					linger(ctx, 5*time.Millisecond)
				}
			})
		}
		ends(t, hf, job.ID, store.Completed)
		cancel()
		others.Wait()
		counts.mu.Lock()
		defer counts.mu.Unlock()
		t.Logf("%d entries in %d transactions, at most %d in one; %d transactions of others in between",
			counts.entries, counts.transactions, counts.most, counts.between)
		if counts.most > most {
			t.Errorf("one transaction carried %d entries", counts.most)
		}
		if counts.between == 0 {
			t.Error("nobody's enqueue was stored while the entries were")
		}
		if got := get(t, hf, job.ID).Journal; got <= decisions {
			t.Errorf("the journal has %d entries", got)
		}
	})
}

// appends counts what transactions carry.
type appends struct {
	mu           sync.Mutex
	entries      int // in all
	transactions int // that carried entries
	most         int // entries in one of them
	between      int // transactions with enqueues after the first of them and before the last
	since        int // the same since the last one so far
}

func (a *appends) note(b *store.Batch) {
	n := 0
	for _, one := range b.Appends {
		n += len(one.Entries)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.entries > 0 && len(b.Enqueues) > 0 {
		a.since++
	}
	if n > 0 {
		a.entries += n
		a.transactions++
		a.most = max(a.most, n)
		a.between += a.since
		a.since = 0
	}
}

// counting is a store that counts.
type counting struct {
	store.Store

	counts *appends
}

func (c *counting) Apply(ctx context.Context, b *store.Batch) error {
	c.counts.note(b)
	return c.Store.Apply(ctx, b)
}
