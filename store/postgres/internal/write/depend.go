package write

import (
	"bytes"
	"context"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/edges"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// markEarly notes which enqueues come after later ones: these are not there yet, unless they were
// before.
func markEarly(entries []*Entry, early map[*store.Enqueue]store.ID) {
	for _, e := range entries {
		_, e.early = early[e.Enqueue]
	}
}

// waits reports whether the job was inserted and comes after others that have not finished.
func (e *Entry) waits() bool { return e.Result.State == store.Waiting }

// enqueueAfter enqueues, and then lets those wait that come after others. Where one comes after a
// later one, that is enqueued behind it. Follow-ups come last.
func enqueueAfter(
	ctx context.Context, t pg.Runner, entries []*Entry, now int64, mark bool, enqueue func([]*Entry) error,
) error {
	if !slices.ContainsFunc(entries, func(e *Entry) bool { return len(e.After)+len(e.followUps) > 0 }) {
		return enqueue(entries)
	}
	all := entries
	for len(entries) > 0 {
		n := 1 + slices.IndexFunc(entries, func(e *Entry) bool { return e.early })
		if n == 0 {
			n = len(entries)
		}
		if err := enqueueAwaiting(ctx, t, entries[:n:n], now, mark, enqueue); err != nil {
			return err
		}
		entries = entries[n:]
	}
	return followUp(ctx, t, all, now, mark, enqueue)
}

// enqueueAwaiting enqueues together. If some of those after which jobs come are not there it begins
// again without the enqueues that need them.
func enqueueAwaiting(
	ctx context.Context, t pg.Runner, entries []*Entry, now int64, mark bool, enqueue func([]*Entry) error,
) error {
	for len(entries) > 0 {
		if err := t.Run(ctx, "savepoint", nil); err != nil {
			return err
		}
		awaits := slices.ContainsFunc(entries, func(e *Entry) bool { return len(e.After) > 0 })
		for _, e := range entries {
			e.awaits, e.later = awaits, nil
		}
		if err := enqueue(entries); err != nil {
			return err
		}
		missing, err := await(ctx, t, entries, now, mark)
		if err == nil && len(missing) == 0 {
			err = replaceLater(entries)
		}
		if err != nil {
			return err
		}
		if len(missing) > 0 {
			if err := t.Run(ctx, "savepoint_back", nil); err != nil {
				return err
			}
		}
		if err := t.Run(ctx, "savepoint_release", nil); err != nil || len(missing) == 0 {
			return err
		}
		entries = slices.DeleteFunc(slices.Clone(entries), func(e *Entry) bool {
			on, is := missing[e.Job.ID]
			e.Result, e.Err = store.EnqueueResult{}, nil
			if is {
				e.Err = &store.DependencyError{Job: e.Job.ID, On: on, Fault: store.MissingPredecessor}
			}
			return is
		})
	}
	return nil
}

// replaceLater puts enqueues on those that hold their unique keys, now that it is known which of
// these wait for others: by the holder, as settleLosers does.
func replaceLater(entries []*Entry) error {
	var later []*Entry
	for _, e := range entries {
		if e.later != nil {
			later = append(later, e)
		}
	}
	slices.SortStableFunc(later, func(a, b *Entry) int { return bytes.Compare(a.Result.ID[:], b.Result.ID[:]) })
	for _, e := range later {
		if err := e.later(); err != nil {
			return err
		}
	}
	return nil
}

// await lets jobs that were inserted just now wait for those after which they come, and returns
// those of which one is not there: then nothing was written.
func await(ctx context.Context, t pg.Runner, entries []*Entry, now int64, mark bool) (missing map[store.ID]store.ID, err error) {
	var all edges.List
	for _, e := range entries {
		if e.Result.State != 0 && e.Err == nil {
			all.Add(&e.Job, e.After)
		}
	}
	if all.IsEmpty() {
		return nil, nil
	}
	open, missing, err := all.Open(ctx, t, nil)
	if err != nil || len(missing) > 0 {
		return missing, err
	}
	held, err := open.Put(ctx, t, now, mark)
	for _, e := range entries {
		if held[e.Job.ID] {
			e.Result.State = store.Waiting
		}
	}
	return nil, err
}
