package commit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/portion"
	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// stingy is a store that names one of the operations that refuse a batch, as a store may.
type stingy struct{ store.Store }

func (s stingy) Apply(ctx context.Context, b *store.Batch) error {
	err := s.Store.Apply(ctx, b)
	if refused, ok := errors.AsType[*store.RefusedError](err); ok {
		b.Reset()
		for _, q := range b.Sends {
			if errors.Is(refused.First, store.ErrNotFound) && q.Key == "nobody" {
				q.Err = refused.First
				return err
			}
		}
		return s.Store.Apply(ctx, b) // sets them all
	}
	return err
}

// desk makes units that want the same few things.
type desk struct {
	*env.Env

	draw    *rand.Rand
	callee  store.ID // a job whose callback "cb" has no answer
	ids     []store.ID
	refused int
}

func newDesk(t *testing.T, seed uint64, wrap func(store.Store) store.Store) *desk {
	t.Helper()
	e := env.New(t, func(_ *testing.T, c *env.Clock) store.Store { return wrap(model.New(c.Now)) })
	run := e.Started()
	e.Write(&run, env.Entry(1, store.EntryCallback, "cb"))
	return &desk{
		Env: e, draw: rand.New(rand.NewPCG(seed, 12)),
		callee: run.Job.ID, ids: []store.ID{e.IDs.Next(), e.IDs.Next()},
	}
}

// unit draws a unit of a few operations, which may be refused by itself or because of others.
func (d *desk) unit() *store.Unit {
	u := &store.Unit{}
	for range 1 + d.draw.IntN(3) {
		switch d.draw.IntN(6) {
		case 0:
			key := fmt.Sprint("key ", d.draw.IntN(2))
			u.Enqueues = append(u.Enqueues, d.Job(env.Unique(key), env.OnConflict(store.Reject)))
		case 1:
			q := d.Job(env.ID(d.ids[d.draw.IntN(2)]), env.In([]string{"default", "other"}[d.draw.IntN(2)]))
			q.KnownID = true
			u.Enqueues = append(u.Enqueues, q)
		case 2:
			u.Sends = append(u.Sends, &store.Send{Job: d.callee, Message: env.Callback(store.MessageCallback, "cb")})
		case 3:
			u.Sends = append(u.Sends, &store.Send{Job: d.IDs.Next(), Key: "nobody", Message: env.Signal("x")})
		case 4:
			u.Outcome = env.Outcome(d.Started(), store.Completed)
		case 5:
			run := d.Started()
			d.End(run, store.Completed)
			u.Outcome = env.Outcome(run, store.Failed)
		}
	}
	return u
}

// TestAUnitIsRefusedForWhatIsThere: units that are committed together want the same keys, ids and
// callbacks. One is refused only if it is refused alone as well, when all is done.
func TestAUnitIsRefusedForWhatIsThere(t *testing.T) {
	for name, wrap := range map[string]func(store.Store) store.Store{
		"all are named": func(st store.Store) store.Store { return st },
		"one is named":  func(st store.Store) store.Store { return stingy{st} },
	} {
		t.Run(name, func(t *testing.T) {
			refused := 0
			for seed := range uint64(300) {
				d := newDesk(t, seed, wrap)
				d.commitTogether()
				if refused += d.refused; t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
			if refused < 300 {
				t.Errorf("only %d units were refused", refused)
			}
		})
	}
}

// begin starts a committer of a store.
func begin(s store.Store, after func(*store.Batch)) *Committer {
	log := slog.New(slog.DiscardHandler)
	return New(Parts{
		Store: s, Patience: time.Second, Guard: supervise.New(logs.NewLimiter(log)), Outage: logs.NewOutage(log),
		Before: func() uint64 { return 0 }, After: func(b *store.Batch, _ uint64) { after(b) },
		Reserve: func([]*store.Enqueue) *Starting { return nil },
	})
}

// commitTogether commits some units as one batch.
func (d *desk) commitTogether() {
	c := begin(d.Store, func(*store.Batch) {})
	defer c.Close(d.Ctx)
	var ops []*op
	answers := 0
	for range 2 + d.draw.IntN(4) {
		ops = append(ops, &op{Unit: *d.unit(), done: func(err error) {
			answers++
			d.NoError("commit", err)
		}})
	}
	all := slices.Clone(ops)
	if again := c.flush(portion.New(100, time.Second), ops, assemble(ops), nil); len(again) > 0 || answers != len(all) {
		d.Fatalf("%d units have %d answers, %d are to be tried again", len(all), answers, len(again))
	}
	for i, o := range all {
		if why := o.Err(); why != nil {
			d.refused++
			if err := d.Store.Apply(d.Ctx, assemble([]*op{o})); !errors.Is(err, store.ErrRefused) {
				d.Fatalf("unit %d of %d was refused, %v, and is not when it is alone: %v", i, len(all), why, err)
			}
		}
	}
}
