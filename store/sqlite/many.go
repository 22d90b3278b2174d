package sqlite

import (
	"strings"
	"sync"

	"zombiezen.com/go/sqlite"
)

// rowsAtOnce is how many rows one statement inserts: a statement has a price of its own, which is a third of that of a row.
const rowsAtOnce = 16

// manyRows is an insert of several rows at once, made of the one of a single row. It ends at the first row that is there already, and keeps
// those before it.
type manyRows struct {
	name string
	text func() string
}

func many(name string) manyRows {
	return manyRows{"many " + name, sync.OnceValue(func() string {
		into, values, _ := strings.Cut(textOf(name), "VALUES")
		values, _, _ = strings.Cut(values, "ON CONFLICT")
		into = strings.Replace(strings.Replace(into, "OR IGNORE ", "", 1), "INSERT ", "INSERT OR FAIL ", 1)
		return into + "VALUES" + strings.Repeat(values+",", rowsAtOnce-1) + values
	})}
}

// The inserts of what comes in numbers.
var (
	manyJobs     = many("job_insert")
	manyPointers = many("ready_insert")
	manyEnds     = many("finished_insert")
	manyEntries  = many("journal_insert")
)

// many returns the statement to be bound for rowsAtOnce rows, one after the other. There is one on a connection of ours only.
func (t *tx) many(m manyRows) *nativeStmt {
	if s, ok := t.own.stmts[m.name]; ok {
		return s
	}
	return t.own.kept(m.name, m.text())
}

// written runs such a statement and returns how many rows it has inserted: fewer than rowsAtOnce if the next one is there already.
func (t *tx) written(s *nativeStmt) (int, error) {
	_, err := s.exec()
	switch {
	case err == nil:
		return rowsAtOnce, nil
	case sqlite.ErrCode(err).ToPrimary() == sqlite.ResultConstraint:
		return t.own.c.Changes(), nil
	}
	return 0, err
}

// rest drops the first rows of a plan. If there are few left it keeps the plan's array, since there are many to come.
func rest[T any](plan []T, dropped int) []T {
	if len(plan) > 2*dropped {
		return plan[dropped:]
	}
	return append(plan[:0], plan[dropped:]...)
}
