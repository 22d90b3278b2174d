// Package descriptors keeps what code tells of queues and kinds. It imports core, db and store.
package descriptors

import (
	"bytes"
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Verbs are those of store.Descriptors.
type Verbs struct{ d *core.Database }

// New returns the verbs of a database.
func New(d *core.Database) Verbs { return Verbs{d} }

// Describe implements store.Descriptors.
func (v Verbs) Describe(ctx context.Context, list []store.Descriptor, actor string) (changed int, err error) {
	if err := store.CheckDescriptors(list); err != nil {
		return 0, err
	}
	// A node that starts finds nearly always that all is told already, and does not wait for the
	// writer then.
	err = v.d.WriteIf(ctx, "describe",
		func(t *core.Tx) (bool, error) {
			changed = 0
			for i := range list {
				if was, err := dataOf(t, &list[i]); err != nil || !bytes.Equal(was, list[i].Data) {
					return err == nil, err
				}
			}
			return false, nil
		},
		func(t *core.Tx) error {
			changed = 0
			for i := range list {
				was, err := dataOf(t, &list[i])
				if err != nil {
					return err
				}
				if bytes.Equal(was, list[i].Data) {
					continue
				}
				if err := put(t, &list[i]); err != nil {
					return err
				}
				if err := forgotten(t, &list[i], actor); err != nil {
					return err
				}
				changed++
			}
			return bounded(t, list)
		})
	return changed, err
}

// forgotten records that a person has removed a descriptor.
func forgotten(t *core.Tx, d *store.Descriptor, actor string) error {
	if actor == "" || len(d.Data) > 0 {
		return nil
	}
	return core.AuditChange(t, 0, audited.Forgotten(d, actor))
}

func bindName(s db.Stmt, d *store.Descriptor) {
	s.BindText(d.Namespace)
	s.BindInt(int64(d.Subject))
	s.BindText(d.Name)
}

// dataOf is what there is of the same subject and name; nil: nothing.
func dataOf(t *core.Tx, d *store.Descriptor) (data []byte, err error) {
	s := t.Stmt("descriptor")
	bindName(s, d)
	return data, db.Each(s, func() error {
		data = []byte(s.ReadText())
		return nil
	})
}

func put(t *core.Tx, d *store.Descriptor) error {
	if len(d.Data) == 0 {
		s := t.Stmt("descriptor_delete")
		bindName(s, d)
		return db.Exec(s)
	}
	s := t.Stmt("descriptor_put")
	bindName(s, d)
	s.BindInt(t.Now)
	s.BindText(d.Build.Program)
	s.BindText(d.Build.Engine)
	s.BindText(string(d.Data))
	return db.Exec(s)
}

// bounded returns an error if there are too many of the sort of one of the descriptors.
func bounded(t *core.Tx, list []store.Descriptor) error {
	for i := range list {
		d := &list[i]
		if i > 0 && d.Namespace == list[i-1].Namespace && d.Subject == list[i-1].Subject {
			continue
		}
		s := t.Stmt("descriptor_count")
		s.BindText(d.Namespace)
		s.BindInt(int64(d.Subject))
		n := int64(0)
		err := db.Each(s, func() error {
			n = s.ReadInt()
			return nil
		})
		if err == nil && n > store.MostDescriptors {
			err = store.TooManyDescriptors(d)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Descriptors implements store.Descriptors.
func (v Verbs) Descriptors(ctx context.Context, params store.DescriptorParams) (all []store.Descriptor, err error) {
	if err := store.CheckLimit(params.Limit); err != nil {
		return nil, err
	}
	err = v.d.Read(ctx, "list descriptors", func(t *core.Tx) error {
		all = nil
		s := t.Stmt("descriptors")
		if params.Name != "" {
			s = t.Stmt("descriptors_of")
		}
		s.BindText(params.Namespace)
		s.BindInt(int64(params.Subject))
		if params.Name != "" {
			s.BindText(params.Name)
		} else {
			s.BindText(params.After)
			s.BindInt(int64(params.Limit))
		}
		return db.Each(s, func() error {
			d := store.Descriptor{Namespace: params.Namespace, Subject: params.Subject, Name: s.ReadText(), At: db.ReadTime(s)}
			d.Build = store.Build{Program: s.ReadText(), Engine: s.ReadText()}
			d.Data = []byte(s.ReadText())
			all = append(all, d)
			return nil
		})
	})
	return all, err
}
