package write

import (
	"context"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/keys"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// isNamed reports whether the job has a business key.
func (e *Entry) isNamed() bool { return e.Job.Options.Key != "" }

// hasKey reports whether the job has a unique key or a business key.
func (e *Entry) hasKey() bool { return len(e.Job.UniqueKey) > 0 || e.isNamed() }

// named divides enqueues into those with business keys and others, and returns the keys.
func named(entries []*Entry) (with, without []*Entry, wanted []keys.Wanted) {
	if !slices.ContainsFunc(entries, (*Entry).isNamed) {
		return nil, entries, nil
	}
	for _, e := range entries {
		if e.isNamed() {
			with, wanted = append(with, e), append(wanted, keys.WantedBy(&e.Job))
		} else {
			without = append(without, e)
		}
	}
	return with, without, wanted
}

// enqueueAndSend enqueues, and then sends what goes along, in a transaction that may be a caller's.
// What has happened before is answered. It returns the jobs that woke.
func enqueueAndSend(ctx context.Context, t pg.Runner, entries []*Entry, now int64, enqueue func([]*Entry) error) (Woken, error) {
	var sending []*store.Enqueue
	for _, e := range entries {
		if e.Send != nil {
			sending = append(sending, e.Enqueue)
		}
	}
	if len(sending) == 0 {
		return nil, enqueue(entries)
	}
	were, err := keys.WereSent(ctx, t, sending)
	if err != nil {
		return nil, err
	}
	left := slices.DeleteFunc(slices.Clone(entries), func(e *Entry) bool { return were[e.Enqueue] })
	if len(left) > 0 {
		if err := enqueue(left); err != nil {
			return nil, err
		}
	}
	left = slices.DeleteFunc(left, func(e *Entry) bool { return e.Send == nil || e.Err != nil })
	return sendAlong(ctx, t, left, now)
}

// sendAlong sends the signals of enqueues to the jobs that these resulted in. Of one whose signal
// cannot be sent nothing has happened: a new job takes any signal.
func sendAlong(ctx context.Context, t pg.Runner, entries []*Entry, now int64) (Woken, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	sends := make([]*store.Send, len(entries))
	for i, e := range entries {
		e.Send.Job, e.Send.Result, sends[i] = e.Result.ID, store.SendResult{}, e.Send
	}
	woken, err := deliver(ctx, t, sends, now)
	if err != nil {
		return nil, err
	}
	sent := make([]*store.Enqueue, 0, len(entries))
	for _, e := range entries {
		err := e.Send.Err
		switch e.Send.Err = nil; {
		case err == nil:
			sent = append(sent, e.Enqueue)
			continue
		case e.Result.ID == e.Job.ID:
			e.Err = err
		case e.kept:
			e.Err = store.KeyKept(e.Job.Options.Key, e.Result.ID)
		default:
			e.changedHands() // its holder has just finished
		}
		e.Result = store.EnqueueResult{}
	}
	if len(sent) == 0 {
		return woken, nil
	}
	return woken, keys.NoteSent(ctx, t, sent, now)
}
