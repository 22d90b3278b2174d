package sqlite_test

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// contents returns what is in the tables of a database, as text.
func contents(t *testing.T, db *sql.DB) map[string][]string {
	t.Helper()
	list := func(query string) (rows []string) {
		t.Helper()
		found, err := db.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		defer found.Close()
		columns, err := found.Columns()
		if err != nil {
			t.Fatal(err)
		}
		for found.Next() {
			values, places := make([]any, len(columns)), make([]any, len(columns))
			for i := range values {
				places[i] = &values[i]
			}
			if err := found.Scan(places...); err != nil {
				t.Fatal(err)
			}
			rows = append(rows, fmt.Sprintf("%v", values))
		}
		if err := found.Err(); err != nil {
			t.Fatal(err)
		}
		slices.Sort(rows)
		return rows
	}
	all := map[string][]string{}
	for _, name := range list("SELECT name FROM sqlite_schema WHERE type = 'table'") {
		name = strings.Trim(name, "[]")
		columns := strings.Trim(list(`SELECT group_concat('"' || name || '"') FROM pragma_table_info('` + name + `')`)[0], "[]")
		all[name] = list("SELECT " + columns + " FROM " + name)
	}
	return all
}

// TestRollbackLeavesNoTrace compares all tables before and after.
func TestRollbackLeavesNoTrace(t *testing.T) {
	ctx := t.Context()
	source := sqlite.File(file(t))
	s := open(t, source)
	node, err := s.Join(ctx, store.NodeInfo{Name: "n"})
	if err != nil {
		t.Fatal(err)
	}
	seq := int64(0)
	run := func(change ...func(*store.Enqueue)) store.Claimed {
		t.Helper()
		q := newJob()
		for _, f := range change {
			f(q)
		}
		batch := &store.Batch{Enqueues: []*store.Enqueue{q}}
		if err := store.ApplyEach(ctx, s, batch); err != nil || q.Err != nil {
			t.Fatal(err, q.Err)
		}
		seq++
		runs, err := s.Claim(ctx, store.ClaimParams{
			Node: node, Seq: seq, Namespace: q.Job.Namespace, Kinds: []string{q.Job.Kind}, Limit: 1,
		})
		if err != nil || len(runs) != 1 || runs[0].Job.ID != q.Job.ID {
			t.Fatalf("claimed %+v, %v", runs, err)
		}
		return runs[0]
	}
	unique := func(key string) func(*store.Enqueue) {
		return func(q *store.Enqueue) { q.Job.UniqueKey, q.Job.UniqueStates = []byte(key), store.Unfinished }
	}
	end := func(c store.Claimed, state store.State, wait *store.Wait) store.ID {
		t.Helper()
		batch := &store.Batch{}
		if wait != nil {
			batch.Appends = []*store.Append{{Lease: c.Lease, Entries: []store.Entry{{Seq: 1, Kind: store.EntryStep, Path: "1", Name: "s"}}}}
		}
		o := c.Outcome(state)
		o.Wait, o.Durable = wait, wait != nil
		batch.Outcomes = []*store.Outcome{o}
		if err := store.ApplyEach(ctx, s, batch); err != nil || o.Err != nil {
			t.Fatal(err, o.Err)
		}
		return c.Job.ID
	}
	parent := run()
	child := newJob()
	child.Job.Parent, child.Job.Answers, child.Delay = parent.Job.ID, true, time.Hour
	a := &store.Append{Lease: parent.Lease, Entries: []store.Entry{{Seq: 1, Kind: store.EntryChild}}, Enqueues: []*store.Enqueue{child}}
	if err := store.ApplyEach(ctx, s, &store.Batch{Appends: []*store.Append{a}}); err != nil || a.Err != nil {
		t.Fatal(err, a.Err)
	}
	handed := end(run(unique("handed"), func(q *store.Enqueue) { q.Job.OrderingKey = "k" }), store.Waiting, &store.Wait{HandedOver: true})
	undoes := end(run(), store.Waiting, &store.Wait{HandedOver: true, Compensates: true})
	jobs := []store.ID{
		child.Job.ID, parent.Job.ID, handed, undoes, run().Job.ID, end(run(unique("failed")), store.Failed, nil),
		end(run(), store.Waiting, &store.Wait{Kinds: store.MessagesOf(store.MessageSignal)}),
	}
	db := database(t, source.Path)
	before := contents(t, db)
	verbs := map[string]func(tx store.Tx) error{
		"cancel": func(tx store.Tx) error {
			_, err := s.CancelTx(ctx, tx, store.CancelParams{Jobs: jobs, Reason: "r", Actor: "ada"})
			return err
		},
		"retry": func(tx store.Tx) error {
			_, err := s.RetryTx(ctx, tx, store.RetryParams{Jobs: jobs, Reason: "r", Actor: "ada"})
			return err
		},
		"finish": func(tx store.Tx) error {
			_, err := s.FinishTx(ctx, tx, store.FinishParams{Actor: "ada", Ends: []store.End{
				{Job: handed, State: store.Completed, Result: []byte(`1`)}, {Job: undoes, State: store.Failed, Error: "e"},
			}})
			return err
		},
	}
	for _, verb := range []string{"finish", "cancel", "retry"} {
		do := verbs[verb]
		for _, commit := range []bool{false, true} {
			tx := begin(t, db)
			if err := do(sqlite.Tx(tx)); err != nil {
				t.Fatalf("%s: %v", verb, err)
			}
			if commit { // what is committed is seen, or the test would see nothing
				if err := tx.Commit(); err != nil {
					t.Fatal(err)
				}
				if maps.EqualFunc(contents(t, db), before, slices.Equal) {
					t.Errorf("a %s that was committed has changed nothing", verb)
				}
				before = contents(t, db)
				continue
			}
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
			after := contents(t, db)
			for name := range before {
				if !slices.Equal(after[name], before[name]) {
					t.Errorf("%s: the table %s has\n\t%s\nwant\n\t%s", verb, name,
						strings.Join(after[name], "\n\t"), strings.Join(before[name], "\n\t"))
				}
			}
		}
	}
}
