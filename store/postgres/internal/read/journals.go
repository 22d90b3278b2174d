package read

import (
	"context"
	"math"
	"sort"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Journals is that of store.Journals, without the class of its error.
func (s *Store) Journals(ctx context.Context, namespace string, ids []store.ID) ([]store.Journal, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	journals, look := journalsOf(ids)
	others, err := s.LookIn(ctx, namespace, ids, look)
	if err != nil {
		return nil, err
	}
	for i := range journals {
		if others[ids[i]] {
			journals[i] = store.Journal{Job: ids[i]}
		}
	}
	sortJournals(journals)
	return journals, nil
}

// JournalsIn are what jobs remember, as a transaction sees it.
func JournalsIn(ctx context.Context, t pg.Runner, ids []store.ID) ([]store.Journal, error) {
	journals, look := journalsOf(ids)
	err := t.Run(ctx, look.Name, look.Each, look.Args...)
	sortJournals(journals)
	return journals, err
}

// journalsOf is the statement that reads journals, and where it puts them.
func journalsOf(ids []store.ID) ([]store.Journal, pg.Statement) {
	journals := make([]store.Journal, len(ids))
	for i, id := range ids {
		journals[i].Job = id
	}
	return journals, pg.Statement{Name: "journals", Args: []any{pg.UUIDsOf(ids)}, Each: func(r pg.Row) error {
		var (
			place int64
			sent  bool
			m     pg.MessageRow
		)
		err := r.Scan(&place, &sent, &m.Seq, &m.At, &m.Kind, &m.Codec, &m.Name, &m.Data, &m.Path, &m.Lease, &m.Ref, &m.Took,
			&m.From, &m.State, &m.Reason, &m.Words, &m.Trace)
		if err != nil {
			return err
		}
		if j := &journals[place-1]; sent {
			j.Messages = append(j.Messages, m.Message())
		} else {
			j.Entries = append(j.Entries, m.Entry())
		}
		return nil
	}}
}

// sortJournals sorts what came: in order from the primary keys, but nothing promises it.
func sortJournals(journals []store.Journal) {
	for i := range journals {
		// sort.Slice copies no large values to compare them, and adds 20 kB less to a program.
		entries, messages := journals[i].Entries, journals[i].Messages
		sort.Slice(entries, func(a, b int) bool { return entries[a].Seq < entries[b].Seq })
		sort.Slice(messages, func(a, b int) bool { return messages[a].Seq < messages[b].Seq })
	}
}

// Entries is that of store.Journals, without the class of its error.
func (s *Store) Entries(ctx context.Context, params store.JournalParams) (entries []store.Entry, err error) {
	if err := store.CheckLimit(params.Limit); err != nil {
		return nil, err
	}
	from := params.After
	if params.Newest && from == 0 {
		from = math.MaxInt64
	}
	name := "entries"
	args := []any{pg.UUIDOf(params.Job), nil, pg.OptText(params.Name), from, int32(params.Limit), params.Earlier}
	if params.Kinds != nil {
		kinds := make([]int32, len(params.Kinds))
		for i, k := range params.Kinds {
			kinds[i] = int32(k)
		}
		args[1] = kinds
		if len(kinds) == 1 && params.Name != "" && isNamed(params.Kinds[0]) {
			name, args[1] = "entries_named", kinds[0]
		}
	}
	if params.Newest {
		name += "_newest"
	}
	others, err := s.LookIn(ctx, params.Namespace, []store.ID{params.Job}, pg.Statement{Name: name, Args: args, Each: func(r pg.Row) error {
		var m pg.MessageRow
		err := r.Scan(&m.Seq, &m.At, &m.Kind, &m.Codec, &m.Name, &m.Data, &m.Path, &m.Lease, &m.Ref, &m.Took)
		entries = append(entries, m.Entry())
		return err
	}})
	if others[params.Job] {
		return nil, err
	}
	return entries, err
}

// Messages is that of store.Journals, without the class of its error.
func (s *Store) Messages(ctx context.Context, params store.InboxParams) (messages []store.Message, err error) {
	if err := store.CheckLimit(params.Limit); err != nil {
		return nil, err
	}
	args := []any{pg.UUIDOf(params.Job), params.After, int32(params.Limit)}
	look := pg.Statement{Name: "messages", Args: args, Each: func(r pg.Row) error {
		var m pg.MessageRow
		err := r.Scan(&m.Seq, &m.At, &m.Kind, &m.Codec, &m.Name, &m.Data, &m.From, &m.State, &m.Reason, &m.Words, &m.Trace)
		messages = append(messages, m.Message())
		return err
	}}
	others, err := s.LookIn(ctx, params.Namespace, []store.ID{params.Job}, look)
	if others[params.Job] {
		return nil, err
	}
	return messages, err
}

// isNamed reports whether entries of a kind have an index by name.
func isNamed(kind store.EntryKind) bool {
	return kind == store.EntryCallback || kind == store.EntryPublished || kind == store.EntryStreamed
}
