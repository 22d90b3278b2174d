package write

import "github.com/holdfastdev/holdfast/store/postgres/internal/pg"

// Beside are the statements that come after those that have inserted jobs, in the same transaction:
// what is noted of queues, and the search attributes of the jobs that were inserted.
func (s *Store) Beside(entries []*Entry, now int64) []pg.Statement {
	return append(s.newQueues(entries, now), attributesOf(entries)...)
}

// attributesOf are the statements that write the search attributes of jobs that were inserted, none
// as a rule.
func attributesOf(entries []*Entry) []pg.Statement {
	var list pg.Attributes
	for _, e := range unfold(entries) {
		if len(e.Job.Attributes) > 0 && e.Err == nil && e.Result.State != 0 {
			list.Add(e.Job.ID, e.Job.Attributes)
		}
	}
	return list.Writing(nil)
}

// attributesAhead are the same statements on the fast path, which does not know yet what it has
// inserted: of simple enqueues all are, or nothing happens. One with a key, which may have yielded
// to another job or to itself, is told by when its job was inserted.
func attributesAhead(simple, unique []*Entry, now int64) []pg.Statement {
	var all, some pg.Attributes
	for _, e := range simple {
		all.Add(e.Job.ID, e.Job.Attributes)
	}
	for _, e := range unique {
		some.Add(e.Job.ID, e.Job.Attributes)
	}
	return append(all.Writing(nil), some.Writing(&now)...)
}
