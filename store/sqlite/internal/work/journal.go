package work

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/generations"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/updates"
)

// AppendTx implements store.Writer. The first thing it does is a write to the claim record: from
// then on nothing else can write until the caller's transaction ends, even if that was not begun as
// a writer's.
func (v Verbs) AppendTx(ctx context.Context, wrapped store.Tx, a *store.Append) error {
	return v.d.InCallers(ctx, "append", wrapped, func(t *core.Tx) error {
		st := t.Stmt("claim_lock")
		st.BindInt(a.Lease.Node)
		st.BindInt(a.Lease.Claim)
		if err := db.Exec(st); err != nil {
			return err
		}
		return appendEntries(t, a)
	})
}

// Append is AppendTx in a transaction of ours.
func Append(t *core.Tx, a *store.Append) error {
	return errors.Join(appendEntries(t, a), writeEntries(t))
}

// appendEntries does all of an append or nothing, and sets its result.
func appendEntries(t *core.Tx, a *store.Append) (err error) {
	for _, q := range a.Enqueues {
		q.Result, q.Err = store.EnqueueResult{}, nil
	}
	a.Err, err = tryAppend(t, a)
	return err
}

// tryAppend returns why an append is refused. Every reason is found before the first write, but for
// a number that is taken, which the first insert finds: the numbers of an append follow each other,
// and those that are stored have no gaps, so that no later insert can fail alone. Entries without
// anything else are only planned; then it is writeEntries that finds it.
func tryAppend(t *core.Tx, a *store.Append) (refused, err error) {
	if refused := a.CheckEntries(); refused != nil {
		return refused, nil
	}
	r, err := t.Record(core.RecordName{Node: a.Lease.Node, Seq: a.Lease.Claim})
	if err != nil {
		return nil, err
	}
	if !r.Holds(a.Lease) {
		return recogniseAppend(t, a, false)
	}
	if refused := a.CheckChildren(); refused != nil {
		return refused, nil
	}
	if len(a.Entries) > 0 {
		if _, ok := t.Tails[a.Lease.Job]; ok { // what it follows is planned
			if err := writeEntries(t); err != nil {
				return nil, err
			}
		}
		if follows, err := follows(t, a); err != nil {
			return nil, err
		} else if !follows {
			return recogniseAppend(t, a, true)
		}
	}
	if err := updates.Answer(t, a.Lease.Job, a.Answers); err != nil {
		return nil, err
	}
	if t.Own != nil && len(a.Entries) > 0 && len(a.Enqueues) == 0 && !a.Closing && a.Meta.IsEmpty() {
		return planEntries(t, a)
	}
	for i := range a.Entries {
		written, err := insertEntry(t, a.Lease.Job, a.Lease.Number, &a.Entries[i])
		if err != nil {
			return nil, err
		}
		if !written && i > 0 {
			return nil, gapBefore(a, i)
		}
		if !written {
			return recogniseAppend(t, a, true)
		}
	}
	for _, q := range a.Enqueues {
		if err := Enqueue(t, q); err != nil {
			return nil, err
		}
	}
	if a.Closing {
		s := t.Stmt("job_closing")
		s.BindInt(a.LastSeq())
		db.BindID(s, a.Lease.Job)
		if err := db.Exec(s); err != nil {
			return nil, err
		}
	}
	return nil, writeMeta(t, a.Lease.Job, a.Meta)
}

// Journals implements store.Journals. A statement is no round trip here: each job is a look
// and two range scans of one snapshot.
func (v Verbs) Journals(ctx context.Context, namespace string, ids []store.ID) ([]store.Journal, error) {
	var journals []store.Journal
	err := v.d.Read(ctx, "read journals", func(t *core.Tx) error {
		journals = make([]store.Journal, len(ids))
		for i, id := range ids {
			j := &journals[i]
			j.Job = id
			own, err := t.IsIn(namespace, id)
			if err != nil {
				return err
			}
			if !own {
				continue
			}
			g, there, err := generations.Visible(t, id)
			if err != nil {
				return err
			}
			if !there {
				continue
			}
			if j.Entries, err = entriesFrom(t, id, g); err != nil {
				return err
			}
			if j.Messages, err = readMessages(t, id, g, 0, -1); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return journals, nil
}

func entriesFrom(t *core.Tx, id store.ID, g generations.Generation) ([]store.Entry, error) {
	s := t.Stmt("journal")
	db.BindID(s, id)
	s.BindInt(g.First)
	return scanEntries(s)
}

// journalOf returns what a job remembers that is there.
func journalOf(t *core.Tx, id store.ID) ([]store.Entry, error) {
	g, err := generations.Of(t, id)
	if err != nil {
		return nil, err
	}
	return entriesFrom(t, id, g)
}

// Entries implements store.Journals.
func (v Verbs) Entries(ctx context.Context, params store.JournalParams) ([]store.Entry, error) {
	if err := store.CheckLimit(params.Limit); err != nil {
		return nil, err
	}
	if params.Job == uuid.Nil || params.Kinds != nil && len(params.Kinds) == 0 {
		return nil, ctx.Err()
	}
	var entries []store.Entry
	err := v.d.Read(ctx, "read the journal of job "+params.Job.String(), func(t *core.Tx) (err error) {
		entries, err = readEntries(t, params)
		return err
	})
	return entries, err
}

func readEntries(t *core.Tx, params store.JournalParams) ([]store.Entry, error) {
	if own, err := t.IsIn(params.Namespace, params.Job); !own {
		return nil, err
	}
	g, there, err := generations.Visible(t, params.Job)
	if !there {
		return nil, err
	}
	kinds := kindSet(params.Kinds)
	earlier := int64(0)
	if params.Earlier {
		earlier = kinds & kindSet([]store.EntryKind{store.EntryPublished, store.EntryStreamed})
	}
	from, after := g.First, params.After
	if earlier != 0 {
		from = 0
	}
	name := "entries"
	named := params.Name != "" && len(params.Kinds) == 1 && isNamed(params.Kinds[0])
	if named {
		name += "_named"
	}
	if params.Newest {
		name += "_newest"
		if after == 0 {
			after = math.MaxInt64
		}
	}
	s := t.Stmt(name)
	db.BindID(s, params.Job)
	s.BindInt(from)
	s.BindInt(after)
	if named {
		s.BindInt(int64(params.Kinds[0]))
	} else {
		s.BindInt(g.First)
		s.BindInt(kinds)
		s.BindInt(earlier)
	}
	s.BindText(params.Name)
	s.BindInt(int64(params.Limit))
	return scanEntries(s)
}

// lastKind is the highest kind of which a set can be asked.
const lastKind = 62

// kindSet is a set of kinds as bits; nil is all of them.
func kindSet(kinds []store.EntryKind) int64 {
	if kinds == nil {
		return -1
	}
	set := int64(0)
	for _, kind := range kinds {
		set |= 1 << min(kind, lastKind+1)
	}
	return set
}

// isNamed reports whether there is an index of the entries of a kind by name.
func isNamed(kind store.EntryKind) bool {
	return kind == store.EntryCallback || kind == store.EntryPublished || kind == store.EntryStreamed
}

func scanEntries(s db.Stmt) ([]store.Entry, error) {
	var entries []store.Entry
	return entries, db.Each(s, func() error {
		entries = append(entries, ScanEntry(s))
		return nil
	})
}

// ScanEntry reads an entry.
func ScanEntry(s db.Stmt) store.Entry {
	e := store.Entry{
		Seq: s.ReadInt(), Kind: store.EntryKind(s.ReadInt()), Path: db.ReadOptText(s), Name: db.ReadOptText(s), Ref: db.ReadOptInt(s),
		Data: db.ReadOptBlob(s), Codec: int(s.ReadInt()), At: db.ReadTime(s), LeaseNumber: s.ReadInt(),
		Took: time.Duration(db.ReadOptInt(s)) * time.Microsecond,
	}
	if e.Kind == store.EntryContinued {
		e.Ref = 0 // see generation
	}
	return e
}
