package pg

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfastdev/holdfast/store"
)

// asked is the request in whose context a transaction was begun (store.WithRequest).
type asked struct {
	*store.KeyedRequest

	changed bool // the transaction does something that a person asks for
	before  bool // what changed was at the savepoint
}

// ofRequest is the request of a context, or nil.
func ofRequest(ctx context.Context) *asked {
	if r := store.RequestIn(ctx); r != nil {
		return &asked{KeyedRequest: r}
	}
	return nil
}

// isDone reports whether something was changed so far.
func (a *asked) isDone() bool { return a != nil && a.changed }

// undo takes back what was changed since then.
func (a *asked) undo(done bool) {
	if a != nil {
		a.changed = done
	}
}

// asks reports whether a statement does what people ask for: the audit tells of it, and it answers
// with a row, or writes one, for each change. Of a batch that is made the audit tells nothing.
func asks(name string) bool { return asking()[name] }

var asking = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{"batch_insert": true}
	for name, text := range statements() {
		if strings.Contains(text, "INSERT INTO {schema}.audit ") {
			names[name] = true
		}
	}
	return names
})

// asksAny reports whether one of the statements does what people ask for.
func asksAny(list []Statement) bool {
	return slices.ContainsFunc(list, func(st Statement) bool { return asks(st.Name) })
}

// listen lets those of the statements of a batch that do what people ask for note whether they
// have.
func (a *asked) listen(batch *pgx.Batch, list []Statement) {
	for i, st := range list {
		queued := batch.QueuedQueries[i]
		switch {
		case st.Name == "savepoint":
			a.before = a.changed
		case st.Name == "savepoint_back":
			a.changed = a.before
		case !asks(st.Name):
		case st.Each == nil:
			queued.Exec(func(tag pgconn.CommandTag) error {
				a.changed = a.changed || tag.RowsAffected() > 0
				return nil
			})
		default:
			queued.Query(func(rows pgx.Rows) error {
				return eachOf(rows, func(r Row) error {
					a.changed = true
					return st.Each(r)
				})
			})
		}
	}
}

// happens notes that the request of the transaction has happened, if that has changed something. It
// is the last that the transaction does.
func (t Session) happens(ctx context.Context) error {
	a := t.asked
	if a == nil || !a.changed {
		return nil
	}
	t.asked = nil
	var kept *store.KeptRequest
	if err := t.Run(ctx, "requests_lock", func(r Row) (err error) {
		_, kept, err = ScanRequest(r)
		return err
	}, [][]byte{a.Hash}); err != nil {
		return err
	}
	now := t.DB.Now()
	step, err := a.Judge(kept, now)
	if err != nil || step != store.UpdateRequest {
		return err
	}
	until := OptMicros(a.Until(now))
	return t.Run(ctx, "requests_answer", nil, [][]byte{a.Hash}, []*int64{until}, [][]byte{a.Owner}, [][]byte{a.Kept()})
}

// ScanRequest reads a row of the statement requests_lock.
func ScanRequest(r Row) (hash []byte, kept *store.KeptRequest, err error) {
	var at int64
	var until *int64
	kept = &store.KeptRequest{}
	err = r.Scan(&hash, &kept.Print, &at, &until, &kept.Owner, &kept.Answer)
	kept.At, kept.Until = TimeOf(at), OptTime(until)
	return hash, kept, err
}
