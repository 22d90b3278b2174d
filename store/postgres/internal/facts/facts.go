package facts

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Store keeps what nodes have counted and measured.
type Store struct{ *local.Store }

// KeepFacts is that of store.Facts, without the class of its error.
func (s *Store) KeepFacts(ctx context.Context, facts []store.Fact) error {
	if err := store.CheckFacts(facts, store.FactMinute); err != nil {
		return err
	}
	if len(facts) == 0 {
		return ctx.Err()
	}
	c := columnsOf(facts)
	keep := pg.Statement{Name: "facts_keep", Args: []any{
		c.namespaces, c.ats, c.nodes, c.numbers, c.versions, c.jobs, c.gauges,
		int32(store.FactMinute), store.FactsLate.Microseconds(), s.Injected(),
	}}
	return pg.RetryOnConflict(ctx, func() error { return s.Send(ctx, keep) })
}

// columns are facts by their columns.
type columns struct {
	keys

	versions     []int64
	jobs, gauges [][]byte
}

// keys are the columns of keys.
type keys struct {
	namespaces          []string
	spans               []int32
	ats, nodes, numbers []int64
}

func (k *keys) add(key *store.FactKey) {
	k.namespaces, k.spans = append(k.namespaces, key.Namespace), append(k.spans, int32(key.Span))
	k.ats, k.nodes, k.numbers = append(k.ats, key.At.UnixMicro()), append(k.nodes, key.Node), append(k.numbers, key.Number)
}

// columnsOf are the columns of facts. Of several with one key the newest is taken.
func columnsOf(facts []store.Fact) (c columns) {
	at := map[store.FactKey]int{}
	for i := range facts {
		f := &facts[i]
		key := f.FactKey
		key.At = pg.TimeOf(f.At.UnixMicro())
		n, there := at[key]
		switch {
		case !there:
			at[key] = len(c.versions)
			c.add(&f.FactKey)
			c.versions, c.jobs, c.gauges = append(c.versions, f.Version), append(c.jobs, f.Jobs), append(c.gauges, f.Gauges)
		case f.Version >= c.versions[n]:
			c.versions[n], c.jobs[n], c.gauges[n] = f.Version, f.Jobs, f.Gauges
		}
	}
	return c
}

// MergeFacts is that of store.Facts, without the class of its error.
func (s *Store) MergeFacts(ctx context.Context, gone []store.FactKey, merged []store.Fact) error {
	if err := store.CheckFacts(merged, 0); err != nil {
		return err
	}
	var old keys
	for i := range gone {
		old.add(&gone[i])
	}
	var c columns
	for i := range merged {
		f := &merged[i]
		c.add(&f.FactKey)
		c.versions, c.jobs, c.gauges = append(c.versions, f.Version), append(c.jobs, f.Jobs), append(c.gauges, f.Gauges)
	}
	return pg.RetryOnConflict(ctx, func() error {
		return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
			n := 0
			each := func(r pg.Row) error { return r.Scan(&n) }
			err := t.Run(ctx, "facts_delete", each, old.namespaces, old.spans, old.ats, old.nodes, old.numbers)
			if err != nil || n != len(gone) {
				return missing(err)
			}
			err = t.Run(ctx, "facts_put", each, c.namespaces, c.spans, c.ats, c.nodes, c.numbers, c.versions, c.jobs, c.gauges)
			if err != nil || n != len(merged) {
				return missing(err)
			}
			return nil
		})
	})
}

// missing is the error of a row that was not there, or was.
func missing(err error) error {
	if err != nil {
		return err
	}
	return store.FactsMissing()
}

// Facts is that of store.Facts, without the class of its error.
func (s *Store) Facts(ctx context.Context, p store.FactParams) (facts []store.Fact, err error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	after := p.After.At
	if after.IsZero() {
		after = p.From.Add(-1) // the first key may be all zero
	}
	look := pg.Statement{Each: func(r pg.Row) error {
		var f store.Fact
		var at int64
		var span int32
		err := r.Scan(&f.Namespace, &span, &at, &f.Node, &f.Number, &f.Version, &f.Jobs, &f.Gauges)
		f.Span, f.At = store.FactSpan(span), pg.TimeOf(at)
		facts = append(facts, f)
		return err
	}}
	from, to := p.From.UnixMicro(), p.To.UnixMicro()
	if p.All {
		if look.Name = "facts_minutes"; p.Span == store.FactHour {
			look.Name = "facts_hours"
		}
		look.Args = []any{from, to, after.UnixMicro(), p.After.Namespace, p.After.Node, p.After.Number, int32(p.Limit)}
	} else {
		look.Name = "facts_page"
		look.Args = []any{p.Namespace, int32(p.Span), from, to, after.UnixMicro(), p.After.Node, p.After.Number, int32(p.Limit)}
	}
	return facts, s.Send(ctx, look)
}

// Measure is that of store.Facts, without the class of its error.
func (s *Store) Measure(ctx context.Context) (m store.Measured, err error) {
	for _, look := range []pg.Statement{
		{Name: "measure_size", Each: func(r pg.Row) error { return r.Scan(&m.Size) }},
		{Name: "measure_server", Each: func(r pg.Row) error { return r.Scan(&m.Written, &m.Connections, &m.MaxConnections) }},
	} {
		if err := s.Send(ctx, look); err != nil && pg.CodeOf(err) != pg.CodeDenied {
			return store.Measured{}, err
		}
	}
	return m, nil
}
