package jobs

import (
	"context"
	"slices"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/store"
)

// growth tells without reading a journal whether it may have grown.
type growth struct {
	entries, messages, lease, due int64
	state                         store.State
}

func growthOf(r *store.Record) growth {
	return growth{r.Journal, r.Messages, r.LeaseNumber, r.RunAt.UnixMicro(), r.State}
}

// followJournal prints a journal as it grows, and returns when the job has finished. It polls at
// intervals that grow while nothing comes, and reads what is new and the last known entry.
func (a verbs) followJournal(ctx context.Context, id holdfast.ID) error {
	out, err := a.followed(views.JournalColumns...)
	if err != nil {
		return err
	}
	return a.WithClient(ctx, func(client *holdfast.Client) error {
		if _, err := a.Find(ctx, client, id); err != nil {
			return err
		}
		f := &follower{app: a, client: client, out: out, written: holdfast.Journal{Job: id}}
		down := a.NewOutage()
		for interval := app.FirstLook; ; interval = min(2*interval, app.LastLook) {
			grown, finished, err := f.look(ctx)
			switch {
			case down.Passes(ctx, err):
				continue
			case err != nil:
				return err
			}
			down.Over()
			if finished {
				return nil
			}
			if grown {
				interval = app.FirstLook
			}
			if err := app.PauseFor(ctx, interval); err != nil {
				return err
			}
		}
	})
}

// followed starts the output of a verb that follows.
func (a verbs) followed(columns ...output.Column) (*output.Tail, error) {
	if out := a.NewTail(columns...); out != nil {
		return out, nil
	}
	return nil, arg.Usagef("--follow cannot write %s, which is one value; use --output jsonl", a.Asked)
}

// follower prints a journal as it grows.
type follower struct {
	app     verbs
	client  *holdfast.Client
	out     *output.Tail
	seen    growth
	written holdfast.Journal
}

// look prints what is new.
func (f *follower) look(ctx context.Context) (grown, finished bool, err error) {
	// In this order: a journal read after the record has everything written before the job's end.
	record, err := f.app.Find(ctx, f.client, f.written.Job)
	if err != nil {
		return false, false, err
	}
	now := growthOf(&record)
	if grown = now != f.seen; grown {
		j, err := readOn(ctx, f.client, &f.written)
		if err != nil {
			return false, false, err
		}
		if err := f.app.writeNew(f.out, &f.written, &j); err != nil {
			return false, false, err
		}
		f.seen, f.written = now, withoutData(j)
	}
	return grown, record.State.Finished(), nil
}

// sameEntry reports whether two entries with one number are the same.
func sameEntry(x, y *holdfast.JournalEntry) bool {
	return x.Seq == y.Seq && x.At.Equal(y.At) && x.Kind == y.Kind && x.Path == y.Path && x.Lease == y.Lease
}

func sameMessage(x, y *holdfast.JournalMessage) bool {
	return x.Seq == y.Seq && x.At.Equal(y.At) && x.Kind == y.Kind && x.Name == y.Name
}

// readOn returns the current journal of a job; known is what was read before.
func readOn(ctx context.Context, client *holdfast.Client, known *holdfast.Journal) (now holdfast.Journal, err error) {
	now.Job = known.Job
	now.Entries, err = readAfter(known.Entries, func(e *holdfast.JournalEntry) int64 { return e.Seq }, sameEntry,
		func(after int64) ([]holdfast.JournalEntry, error) {
			return client.JournalEntries(ctx, known.Job, after, app.MaxPage)
		})
	if err != nil {
		return now, err
	}
	now.Messages, err = readAfter(known.Messages, func(m *holdfast.JournalMessage) int64 { return m.Seq }, sameMessage,
		func(after int64) ([]holdfast.JournalMessage, error) {
			return client.JournalMessages(ctx, known.Job, after, app.MaxPage)
		})
	received := map[int64]bool{}
	for i := range now.Entries {
		received[now.Entries[i].Message] = true
	}
	for i := range now.Messages {
		m := &now.Messages[i]
		m.Unread = m.Kind == "signal" && !received[m.Seq]
	}
	return now, err
}

// readAfter reads the elements after the last known one, page by page. Each page starts with the
// last element of the previous one, an optimistic check: if that has changed or is gone, everything
// is read again.
func readAfter[T any](known []T, seq func(*T) int64, same func(x, y *T) bool, read func(after int64) ([]T, error)) ([]T, error) {
	for now := known; ; {
		after := int64(0)
		if len(now) > 0 {
			after = seq(&now[len(now)-1]) - 1
		}
		page, err := read(after)
		switch {
		case err != nil:
			return nil, err
		case len(now) == 0:
			now = page
		case len(page) == 0 || !same(&page[0], &now[len(now)-1]):
			now = nil
			continue
		default:
			now = append(slices.Clip(now), page[1:]...)
		}
		if len(page) < app.MaxPage {
			return now, nil
		}
	}
}

// withoutData drops the data of a journal that is printed already.
func withoutData(j holdfast.Journal) holdfast.Journal {
	for i := range j.Entries {
		j.Entries[i].Data = nil
	}
	for i := range j.Messages {
		j.Messages[i].Data = nil
	}
	return j
}

// writeNew prints what is in now and not in before.
func (a verbs) writeNew(out *output.Tail, before, now *holdfast.Journal) error {
	entries := alike(before.Entries, now.Entries, sameEntry)
	messages := alike(before.Messages, now.Messages, sameMessage)
	if entries < len(before.Entries) && out.Format == output.FormatTable {
		a.Notef("The job was resumed or continued as new: entries from %d on were dropped.", before.Entries[entries].Seq)
	}
	for line := range views.InTurn(now.Entries[entries:], now.Messages[messages:]) {
		line = output.Hidden(&a.Printer, line)
		if err := out.Add(line, func() []string { return line.Row(false) }); err != nil {
			return err
		}
	}
	return nil
}

// alike is the length of the common prefix of two lists.
func alike[T any](x, y []T, same func(x, y *T) bool) int {
	n := 0
	for n < len(x) && n < len(y) && same(&x[n], &y[n]) {
		n++
	}
	return n
}
