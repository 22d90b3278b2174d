package sqlite

import (
	"context"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
)

// AppendTx implements store.Writer. The first thing it does is a write to the claim record: from then on nobody else can write
// until the caller's transaction ends, even if that was not begun as a writer's.
func (v workVerbs) AppendTx(ctx context.Context, wrapped store.Tx, a *store.Append) error {
	return v.d.inCallers(ctx, "append", wrapped, func(t *tx) error {
		st := t.stmt("claim_lock")
		st.bindInt(a.Lease.Node)
		st.bindInt(a.Lease.Claim)
		if err := exec(st); err != nil {
			return err
		}
		return t.appendEntries(a)
	})
}

// appendEntries does all of an append or nothing, and sets its result.
func (t *tx) appendEntries(a *store.Append) (err error) {
	for _, q := range a.Enqueues {
		q.Result, q.Err = store.EnqueueResult{}, nil
	}
	a.Err, err = t.tryAppend(a)
	return err
}

// tryAppend returns why an append is refused. All of that is found before the first write, but for a number that is taken, which
// the first insert finds: the numbers of an append follow each other, and those that are stored have no gaps, so that no later insert
// can fail alone. Entries without anything else are only planned; then it is writeLines that finds it.
func (t *tx) tryAppend(a *store.Append) (refused, err error) {
	if refused := a.CheckEntries(); refused != nil {
		return refused, nil
	}
	r, err := t.record(recordName{a.Lease.Node, a.Lease.Claim})
	if err != nil {
		return nil, err
	}
	live := r.holds(a.Lease)
	if !live {
		return t.refuseAppend(a, live)
	}
	if refused := a.CheckChildren(); refused != nil {
		return refused, nil
	}
	if len(a.Entries) > 0 {
		if _, ok := t.ended[a.Lease.Job]; ok { // what it follows is planned
			if err := t.writeLines(); err != nil {
				return nil, err
			}
		}
		if follows, err := t.follows(a); err != nil {
			return nil, err
		} else if !follows {
			return t.refuseAppend(a, live)
		}
		if t.own != nil && len(a.Enqueues) == 0 && !a.Closing {
			return t.writeLater(a)
		}
	}
	for i := range a.Entries {
		written, err := t.insertEntry(a.Lease.Job, a.Lease.Number, &a.Entries[i])
		if err != nil {
			return nil, err
		}
		if !written && i > 0 {
			return nil, gapBefore(a, i)
		}
		if !written {
			return t.refuseAppend(a, live)
		}
	}
	for _, q := range a.Enqueues {
		if err := t.enqueue(q); err != nil {
			return nil, err
		}
	}
	if a.Closing {
		s := t.stmt("job_closing")
		s.bindInt(a.LastSeq())
		bindID(s, a.Lease.Job)
		return nil, exec(s)
	}
	return nil, nil
}

// Journals implements store.Reader. A statement is no round trip here: each job is a look
// and two range scans of one snapshot.
func (v workVerbs) Journals(ctx context.Context, namespace string, ids []store.ID) ([]store.Journal, error) {
	var journals []store.Journal
	err := v.d.read(ctx, "read journals", func(t *tx) error {
		journals = make([]store.Journal, len(ids))
		for i, id := range ids {
			j := &journals[i]
			j.Job = id
			own, err := t.isIn(namespace, id)
			if err != nil {
				return err
			}
			if !own {
				continue
			}
			g, there, err := t.memory(id)
			if err != nil {
				return err
			}
			if !there {
				continue
			}
			st := t.stmt("journal")
			bindID(st, id)
			st.bindInt(g.first)
			if j.Entries, err = scanEntries(st); err != nil {
				return err
			}
			if j.Messages, err = t.messages(id, g, 0, -1); err != nil {
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

// Entries implements store.Reader.
func (v workVerbs) Entries(ctx context.Context, params store.JournalParams) ([]store.Entry, error) {
	if err := store.CheckLimit(params.Limit); err != nil {
		return nil, err
	}
	if params.Job == uuid.Nil || params.Kinds != nil && len(params.Kinds) == 0 {
		return nil, ctx.Err()
	}
	var entries []store.Entry
	err := v.d.read(ctx, "read the journal of job "+params.Job.String(), func(t *tx) (err error) {
		entries, err = t.entries(params)
		return err
	})
	return entries, err
}

func (t *tx) entries(params store.JournalParams) ([]store.Entry, error) {
	if own, err := t.isIn(params.Namespace, params.Job); !own {
		return nil, err
	}
	g, there, err := t.memory(params.Job)
	if !there {
		return nil, err
	}
	kinds := kindSet(params.Kinds)
	earlier := int64(0)
	if params.Earlier {
		earlier = kinds & kindSet([]store.EntryKind{store.EntryPublished, store.EntryStreamed})
	}
	from, after := g.first, params.After
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
	s := t.stmt(name)
	bindID(s, params.Job)
	s.bindInt(from)
	s.bindInt(after)
	if named {
		s.bindInt(int64(params.Kinds[0]))
	} else {
		s.bindInt(g.first)
		s.bindInt(kinds)
		s.bindInt(earlier)
	}
	s.bindText(params.Name)
	s.bindInt(int64(params.Limit))
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

func scanEntries(s stmt) ([]store.Entry, error) {
	var entries []store.Entry
	return entries, each(s, func() error {
		e := store.Entry{
			Seq: s.readInt(), Kind: store.EntryKind(s.readInt()), Path: readOptText(s), Name: readOptText(s), Ref: readOptInt(s),
			Data: readOptBlob(s), Codec: int(s.readInt()), At: readTime(s), LeaseNumber: s.readInt(),
			Took: time.Duration(readOptInt(s)) * time.Microsecond,
		}
		if e.Kind == store.EntryContinued {
			e.Ref = 0 // see generation
		}
		entries = append(entries, e)
		return nil
	})
}
