package view

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/lists"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/attributes"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Declared implements lists.Tables.
func (l *tables) Declared() (map[string]lists.Declared, error) {
	all, err := attributes.Declared(l.Tx, l.filter.Namespace)
	declared := make(map[string]lists.Declared, len(all))
	for _, a := range all {
		if !a.Leaving {
			declared[a.Name] = lists.Declared{ID: a.ID, Type: a.Type}
		}
	}
	return declared, err
}

// Valued implements lists.Tables.
func (l *tables) Valued(attribute int64, value string, s store.Sort, r lists.Range, n int) (rows lists.Rows, err error) {
	st := l.Stmt(ordered("valued", s))
	st.BindInt(attribute)
	st.BindBlob([]byte(value))
	bindRange(st, r, n)
	ids, err := readIDs(st)
	if rows.Looked = len(ids); rows.Looked == 0 {
		return rows, err
	}
	for _, id := range ids {
		rows.Found = append(rows.Found, lists.Found{Place: lists.Place{ID: id}})
	}
	rows.Last = rows.Found[rows.Looked-1].Place
	return rows, err
}

// ValuedIn implements lists.Tables.
func (l *tables) ValuedIn(attribute int64, in lists.Values, limit int) ([]store.ID, error) {
	s := l.Stmt("valued_few")
	s.BindInt(attribute)
	s.BindBlob([]byte(in.From))
	s.BindBlob([]byte(in.Below))
	s.BindInt(int64(limit))
	return readIDs(s)
}

// ValuesOf implements lists.Tables.
func (l *tables) ValuesOf(attribute int64, ids []store.ID) ([]string, error) {
	values := make([]string, len(ids))
	for i, id := range ids {
		s := l.Stmt("attribute_value")
		db.BindID(s, id)
		s.BindInt(attribute)
		found, err := s.Next()
		if err != nil {
			return nil, err
		}
		if found {
			values[i] = string(s.ReadBlob())
			s.Done()
		}
	}
	return values, nil
}
