package facts

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Verbs are those of store.Facts, but for Measure, which needs to know the file.
type Verbs struct{ d *core.Database }

// New returns the verbs of a database.
func New(d *core.Database) Verbs { return Verbs{d} }

// KeepFacts implements store.Facts.
func (v Verbs) KeepFacts(ctx context.Context, facts []store.Fact) error {
	if err := store.CheckFacts(facts, store.FactMinute); err != nil {
		return err
	}
	if len(facts) == 0 {
		return ctx.Err()
	}
	return v.d.Write(ctx, "keep facts", func(t *core.Tx) error {
		for i := range facts {
			if facts[i].At.UnixMicro() <= t.Now-store.FactsLate.Microseconds() {
				continue
			}
			s := t.Stmt("fact_keep")
			bind(s, &facts[i])
			if err := db.Exec(s); err != nil {
				return err
			}
		}
		return nil
	})
}

// MergeFacts implements store.Facts.
func (v Verbs) MergeFacts(ctx context.Context, gone []store.FactKey, merged []store.Fact) error {
	if err := store.CheckFacts(merged, 0); err != nil {
		return err
	}
	return v.d.Write(ctx, "merge facts", func(t *core.Tx) error {
		for i := range gone {
			s := t.Stmt("fact_delete")
			bindKey(s, &gone[i])
			if n, err := s.Exec(); err != nil || n != 1 {
				return missing(err)
			}
		}
		for i := range merged {
			s := t.Stmt("fact_put")
			bind(s, &merged[i])
			if n, err := s.Exec(); err != nil || n != 1 {
				return missing(err)
			}
		}
		return nil
	})
}

// missing is the error of a row that was not there, or was.
func missing(err error) error {
	if err != nil {
		return err
	}
	return store.FactsMissing()
}

// Facts implements store.Facts.
func (v Verbs) Facts(ctx context.Context, params store.FactParams) (facts []store.Fact, err error) {
	if err := params.Check(); err != nil {
		return nil, err
	}
	err = v.d.Read(ctx, "read facts", func(t *core.Tx) error {
		facts = nil
		s := look(t, &params)
		return db.Each(s, func() error {
			var f store.Fact
			f.Namespace, f.Span, f.At = s.ReadText(), store.FactSpan(s.ReadInt()), db.TimeOf(s.ReadInt())
			f.Node, f.Number, f.Version = s.ReadInt(), s.ReadInt(), s.ReadInt()
			f.Jobs, f.Gauges = db.ReadOptBlob(s), db.ReadOptBlob(s)
			facts = append(facts, f)
			return nil
		})
	})
	return facts, err
}

// look is the statement that reads a page.
func look(t *core.Tx, p *store.FactParams) db.Stmt {
	after := p.After.At
	if after.IsZero() {
		after = p.From.Add(-1) // the first key may be all zero
	}
	var s db.Stmt
	if p.All {
		s = t.Stmt("facts_page_of_all")
	} else {
		s = t.Stmt("facts_page")
		s.BindText(p.Namespace)
	}
	s.BindInt(int64(p.Span))
	s.BindInt(p.From.UnixMicro())
	s.BindInt(p.To.UnixMicro())
	s.BindInt(after.UnixMicro())
	if p.All {
		s.BindText(p.After.Namespace)
	}
	s.BindInt(p.After.Node)
	s.BindInt(p.After.Number)
	s.BindInt(int64(p.Limit))
	return s
}

func bindKey(s db.Stmt, k *store.FactKey) {
	s.BindText(k.Namespace)
	s.BindInt(int64(k.Span))
	s.BindInt(k.At.UnixMicro())
	s.BindInt(k.Node)
	s.BindInt(k.Number)
}

func bind(s db.Stmt, f *store.Fact) {
	bindKey(s, &f.FactKey)
	s.BindInt(f.Version)
	db.BindOptBlob(s, f.Jobs)
	db.BindOptBlob(s, f.Gauges)
}

// Pages is how large the file is by itself, and how much of that is empty, in bytes.
func Pages(ctx context.Context, d *core.Database) (size, free int64, err error) {
	err = d.Read(ctx, "measure the database", func(t *core.Tx) error {
		s := t.Stmt("measure")
		return db.Each(s, func() error {
			page := s.ReadInt()
			size, free = page*s.ReadInt(), page*s.ReadInt()
			return nil
		})
	})
	return size, free, err
}
