package move

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/attributes"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/batches"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/classes"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/limits"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/schedules"
)

// Verbs are what a copy asks of a database.
type Verbs struct{ d *core.Database }

// New returns the verbs of a database.
func New(d *core.Database) Verbs { return Verbs{d} }

// Survey implements store.Copies.
func (v Verbs) Survey(ctx context.Context) (store.Survey, error) {
	var s store.Survey
	err := v.d.Read(ctx, "survey", func(t *core.Tx) (err error) {
		s = store.Survey{Counts: map[store.State]int64{}}
		if s.Origin, err = origin(t); err != nil {
			return err
		}
		sent := t.Stmt("copy_messages_count")
		if err := db.Each(sent, func() error { s.Origin.Messages = sent.ReadInt(); return nil }); err != nil {
			return err
		}
		if s.Note, err = note(t); err != nil {
			return err
		}
		if s.Queues, err = queues(t); err != nil {
			return err
		}
		if s.Schedules, err = schedules.Sum(t); err != nil {
			return err
		}
		if s.Batches, err = batches.Sum(t); err != nil {
			return err
		}
		if s.Limits, err = limits.Export(t); err != nil {
			return err
		}
		if s.Attributes, err = attributes.All(t); err != nil {
			return err
		}
		if s.Classes, err = classes.All(t); err != nil {
			return err
		}
		counts := t.Stmt("copy_counts")
		err = db.Each(counts, func() error {
			if state, n := store.State(counts.ReadInt()), counts.ReadInt(); n > 0 {
				s.Counts[state] += n
			}
			return nil
		})
		if err != nil {
			return err
		}
		ids := t.Stmt("copy_ids")
		if err := db.Each(ids, func() error {
			id := db.ReadID(ids)
			s.AddID(binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:]))
			return nil
		}); err != nil {
			return err
		}
		runs, err := t.RunningByQueue()
		for _, n := range runs {
			s.Counts[store.Running] += int64(n)
		}
		return err
	})
	return s, err
}

func origin(t *core.Tx) (o store.Origin, err error) {
	if o.Database, err = db.DatabaseID(t.Session); err != nil {
		return o, err
	}
	s := t.Stmt("copy_origin")
	if found, err := s.Next(); err != nil || !found {
		return o, db.Unexpected("copy_origin", err)
	}
	defer s.Done()
	o.Nodes, o.Actions = s.ReadInt(), s.ReadInt()
	return o, nil
}

// note returns what is known of a copy into this database; nil if there was none.
func note(t *core.Tx) (*store.CopyNote, error) {
	s := t.Stmt("copy_note")
	found, err := s.Next()
	if err != nil || !found {
		return nil, err
	}
	text := s.ReadText()
	s.Done()
	n := &store.CopyNote{}
	if err := json.Unmarshal([]byte(text), n); err != nil {
		return nil, fmt.Errorf("%w: the note of a copy: %w", store.ErrInvalid, err)
	}
	return n, nil
}

func putNote(t *core.Tx, n *store.CopyNote) error {
	text, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("%w: the note of a copy: %w", store.ErrInvalid, err)
	}
	s := t.Stmt("copy_note_put")
	s.BindText(string(text))
	return db.Exec(s)
}

func queues(t *core.Tx) (list []store.QueueSettings, err error) {
	s := t.Stmt("copy_queues")
	return list, db.Each(s, func() error {
		q := store.QueueSettings{
			Namespace: s.ReadText(), Name: s.ReadText(), CreatedAt: db.ReadTime(s), PausedAt: db.ReadOptTime(s),
			PausedBy: db.ReadOptText(s), Rest: db.ReadRest(s),
		}
		q.Attempts, err = db.ReadAttempts(s)
		q.DeletedAt = db.ReadOptTime(s)
		list = append(list, q)
		return err
	})
}
