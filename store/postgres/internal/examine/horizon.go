package examine

import (
	"context"
	"fmt"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

const (
	// longOpen is how many seconds a transaction should be open for at the most, and veryLong when
	// claims have become slower for certain.
	longOpen, veryLong = 5 * 60, 60 * 60
	// muchKept is how much of the log an unused slot may keep before that is told.
	muchKept = 1e9
	// manyDead is how many dead rows a table may have before that is told.
	manyDead = 1_000_000
	// oldID is how old a transaction id may become; the server stops at two thousand millions.
	oldID = 1_000_000_000
)

// horizon tells what keeps dead rows from being cleared away.
func horizon(ctx context.Context, db *pg.DB) ([]store.Finding, error) {
	var found []store.Finding
	for _, look := range []func(context.Context, *pg.DB) (store.Finding, error){openTransactions, preparedTransactions, unusedSlots} {
		f, err := look(ctx, db)
		if err != nil {
			return found, err
		}
		found = append(found, f)
	}
	return found, nil
}

// open is the transaction that has been open for longest.
type open struct {
	pid                  int
	program, role, state string
	seconds              float64
}

func openTransactions(ctx context.Context, db *pg.DB) (store.Finding, error) {
	var o open
	err := db.Send(ctx, pg.Statement{Name: "examine_open", Each: func(r pg.Row) error {
		return r.Scan(&o.pid, &o.program, &o.role, &o.state, &o.seconds)
	}})
	if err != nil {
		return unseen("open transactions", err)
	}
	return o.finding(), nil
}

func (o *open) finding() store.Finding {
	f := store.Finding{Check: "open transactions", Text: "none has been open for long"}
	if o.seconds < longOpen {
		return f
	}
	if f.Severity = store.Warning; o.seconds > veryLong {
		f.Severity = store.Problem
	}
	f.Text = fmt.Sprintf("one has been open for %v: pid %d, role %q, application %q, %s; dead rows are kept meanwhile, and claims read them",
		rounded(o.seconds), o.pid, o.role, o.program, o.state)
	f.Do = fmt.Sprintf("end it in its program, or with SELECT pg_terminate_backend(%d); "+
		"idle_in_transaction_session_timeout ends those that are forgotten", o.pid)
	return f
}

func preparedTransactions(ctx context.Context, db *pg.DB) (store.Finding, error) {
	var id string
	var seconds float64
	err := db.Send(ctx, pg.Statement{Name: "examine_prepared", Each: func(r pg.Row) error { return r.Scan(&id, &seconds) }})
	if err != nil {
		return unseen("prepared transactions", err)
	}
	return preparedFinding(id, seconds), nil
}

func preparedFinding(id string, seconds float64) store.Finding {
	f := store.Finding{Check: "prepared transactions", Text: "none has been left"}
	if seconds >= longOpen {
		f.Severity = store.Warning
		f.Text = fmt.Sprintf("%q has been prepared for %v, and keeps its locks and all dead rows", id, rounded(seconds))
		f.Do = "COMMIT PREPARED or ROLLBACK PREPARED it"
	}
	return f
}

func unusedSlots(ctx context.Context, db *pg.DB) (store.Finding, error) {
	var s slot
	err := db.Send(ctx, pg.Statement{Name: "examine_slots", Each: func(r pg.Row) error { return r.Scan(&s.name, &s.kept, &s.holds) }})
	if err != nil {
		return unseen("replication slots", err)
	}
	return s.finding(), nil
}

// slot is one of replication that nothing reads.
type slot struct {
	name  string
	kept  int64 // bytes of the log
	holds bool  // dead rows, too
}

func (s *slot) finding() store.Finding {
	f := store.Finding{Check: "replication slots", Text: "none is left without a reader"}
	switch {
	case s.kept >= muchKept:
		f.Severity = store.Warning
		f.Text = fmt.Sprintf("nothing reads %q, for which the server keeps %s of its log", s.name, inBytes(s.kept))
		f.Do = "start its reader, or pg_drop_replication_slot it: the disk fills"
	case s.holds:
		f.Severity = store.Note
		f.Text = fmt.Sprintf("nothing reads %q, for which dead rows may be kept", s.name)
		f.Do = "start its reader, or pg_drop_replication_slot it"
	}
	return f
}

// sizes are those of the tables, and of the one with most dead rows.
type sizes struct {
	size, age, dead, live int64
	worst                 *string
}

// tables tells how large the tables are, and how many dead rows are in them.
func tables(ctx context.Context, db *pg.DB) ([]store.Finding, error) {
	var s sizes
	err := db.Send(ctx, pg.Statement{Name: "examine_tables", Args: []any{db.SchemaName}, Each: func(r pg.Row) error {
		return r.Scan(&s.size, &s.age, &s.worst, &s.dead, &s.live)
	}})
	if err != nil {
		f, err := unseen("size", err)
		return []store.Finding{f}, err
	}
	return s.findings(), nil
}

func (s *sizes) findings() []store.Finding {
	rows := store.Finding{Check: "dead rows", Text: "no table has many"}
	if s.worst != nil && s.dead > manyDead && s.dead > s.live {
		rows.Severity = store.Warning
		rows.Text = fmt.Sprintf("table %s has %d dead rows beside %d", *s.worst, s.dead, s.live)
		rows.Do = "see the findings above for what keeps them; if that is nothing, VACUUM the table, " +
			"and let autovacuum work more (autovacuum_naptime)"
	}
	ids := store.Finding{Check: "transaction ids", Text: fmt.Sprintf("the oldest is %d million transactions old", s.age/1_000_000)}
	if s.age > oldID {
		ids.Severity, ids.Do = store.Problem, "VACUUM FREEZE the tables: the server refuses all writes when it reaches two thousand million"
	}
	return []store.Finding{rows, ids, {Check: "size", Text: "the tables have " + inBytes(s.size)}}
}
