package read

import (
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/lists"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Declared implements lists.Tables.
func (l *tables) Declared() (map[string]lists.Declared, error) {
	declared := map[string]lists.Declared{}
	return declared, l.run("attributes_declared", func(r pg.Row) error {
		var id, typ int32
		var name string
		var at int64
		var leaving bool
		err := r.Scan(&id, &name, &typ, &at, &leaving)
		if !leaving {
			declared[name] = lists.Declared{ID: int64(id), Type: store.AttributeType(typ)}
		}
		return err
	}, l.filter.Namespace)
}

// Valued implements lists.Tables.
func (l *tables) Valued(attribute int64, value string, s store.Sort, r lists.Range, n int) (rows lists.Rows, err error) {
	args := []any{int32(attribute), []byte(value), pg.UUIDOf(r.Least), pg.UUIDOf(r.Below), s == store.SortNewest, int32(n)}
	return rows, l.run("list_valued", func(row pg.Row) error {
		var id pgtype.UUID
		err := row.Scan(&id)
		rows.Last = lists.Place{ID: id.Bytes}
		rows.Found = append(rows.Found, lists.Found{Place: rows.Last})
		rows.Looked++
		return err
	}, args...)
}

// ValuedIn implements lists.Tables.
func (l *tables) ValuedIn(attribute int64, in lists.Values, limit int) ([]store.ID, error) {
	return l.ids("list_valued_few", int32(attribute), []byte(in.From), []byte(in.Below), int32(limit))
}

// ValuesOf implements lists.Tables.
func (l *tables) ValuesOf(attribute int64, ids []store.ID) ([]string, error) {
	values := make([]string, len(ids))
	return values, l.run("list_values", func(r pg.Row) error {
		var place int64
		var value []byte
		err := r.Scan(&place, &value)
		values[place-1] = string(value)
		return err
	}, int32(attribute), pg.UUIDsOf(ids))
}
