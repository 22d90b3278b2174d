package crashtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/holdfastdev/holdfast"
)

// paid is the signal that is sent along with what may be the first job of an order.
var paid = holdfast.NewSignal[key]("paid")

// orders is how many business keys there are, and firstOrder the first place of their jobs in the
// plan.
const (
	orders     = 6
	firstOrder = 1_000_000
)

func orderKey(n int) string { return fmt.Sprint("order ", n) }

// keepFor is how long the jobs of an order keep its key when they have ended.
func keepFor(n int) time.Duration { return time.Duration(n%3) * 400 * time.Millisecond }

// payment is a signal that was sent along with an enqueue, and what came of it.
type payment struct {
	number int // it has one of its own
	order  int
	item   holdfast.ID // the job that it starts if no job has the key
	n      int         // the place of that in the plan
	sent   holdfast.SendResult
	at     time.Time // when that was known
	undone bool      // its transaction was rolled back
	lost   bool      // nobody knows whether it was sent
}

// began reports whether it has started its job. An enqueue under an id that is known is told when
// it is a repeated one, whatever the earlier try has done.
func (p *payment) began() bool { return p.sent.Started || p.sent.Duplicate && p.sent.Job == p.item }

// keepPaying sends payments for orders, each of which starts a job unless one has its key, until
// ctx ends.
func (l *flowLoad) keepPaying(ctx context.Context, planner *flowPlanner) {
	random := planner.random
	for number := 1; spend(ctx, time.Duration(random.IntN(80))*time.Millisecond) == nil; number++ {
		t := planner.order()
		l.mu.Lock()
		l.orders[t.N] = t
		l.mu.Unlock()
		p := &payment{number: number, order: random.IntN(orders), item: holdfast.NewID(), n: t.N}
		kept := l.pay(ctx, p, t, random)
		l.mu.Lock()
		if kept {
			l.payments = append(l.payments, p)
		}
		if kept && p.began() {
			l.enqueued[p.item] = t.N
			l.hear(p.item)
		}
		l.mu.Unlock()
	}
}

// pay sends a payment, and repeats that under the same id until there is an answer. It reports
// whether it has, or may have, happened.
func (l *flowLoad) pay(ctx context.Context, p *payment, t task, random *rand.Rand) bool {
	item := t.kind().Item(t, holdfast.JobID(p.item), holdfast.Key(orderKey(p.order)), holdfast.KeepKey(keepFor(p.order)))
	once := func(ctx context.Context) (err error) {
		p.sent, err = paid.SendOrStart(ctx, l.clients[1], item, key{p.number})
		return err
	}
	if random.IntN(4) == 0 {
		p.undone = random.IntN(2) == 0
		once = func(ctx context.Context) error { return l.payTx(ctx, p, item) }
	}
	for {
		bounded, stop := context.WithTimeout(ctx, patience)
		err := once(bounded)
		stop()
		switch {
		case err == nil || p.undone && isLost(err):
			p.at = time.Now()
			return true
		case errors.Is(err, holdfast.ErrConflict):
			return false // it has ended, and keeps its key
		}
		l.c.allow(err)
		if ctx.Err() != nil {
			p.lost = true
			return true
		}
	}
}

// payTx sends a payment in a transaction of the caller's own.
func (l *flowLoad) payTx(ctx context.Context, p *payment, item holdfast.BatchItem) error {
	tx, err := l.caller.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("%w: %w", holdfast.ErrUnavailable, err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	sent, err := paid.SendOrStartTx(ctx, l.clients[1], l.caller.wrap(tx), item, key{p.number})
	if err != nil || p.undone {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("%w: %w", holdfast.ErrUnavailable, err)
	}
	p.sent = sent
	return nil
}

// order draws a job of an order, which does not last long. There are orders of two kinds.
func (p *flowPlanner) order() task {
	if p.chance(30) {
		return p.errand()
	}
	t := task{Talks: p.chance(50), Listens: p.chance(30)}
	ids := 0
	t.Ops = p.ops(&ids, 1+p.random.IntN(2), 0, false)
	for i := range t.Ops {
		p.words(&t, &t.Ops[i])
	}
	p.trouble(&t)
	return p.add(t)
}
