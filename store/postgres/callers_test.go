package postgres_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// cast are jobs in the states in which callers meet them.
type cast struct {
	scheduled, available, inLine, failed, parked, handed, undoes, running, child, parent store.ID
}

func castOf(t *testing.T, s store.Store) cast {
	t.Helper()
	node := join(t, s)
	seq := int64(0)
	run := func(change ...func(*store.Enqueue)) store.Claimed {
		t.Helper()
		q := newJob(change...)
		enqueue(t, s, q)
		seq++
		runs, err := s.Claim(t.Context(), demand(node, seq, 1))
		if err != nil || len(runs) != 1 || runs[0].Job.ID != q.Job.ID {
			t.Fatalf("claimed %+v, %v", runs, err)
		}
		return runs[0]
	}
	end := func(run store.Claimed, state store.State, wait *store.Wait) store.ID {
		t.Helper()
		o := run.Outcome(state)
		o.Wait, o.Durable, o.HasChildren = wait, wait != nil, true
		if err := store.ApplyEach(t.Context(), s, &store.Batch{Outcomes: []*store.Outcome{o}}); err != nil || o.Err != nil {
			t.Fatalf("outcome: %v, %v", err, o.Err)
		}
		return run.Job.ID
	}
	remember := func(run store.Claimed, children ...*store.Enqueue) store.Claimed {
		t.Helper()
		a := &store.Append{Lease: run.Lease, Entries: []store.Entry{step(1)}, Enqueues: children}
		if err := store.ApplyEach(t.Context(), s, &store.Batch{Appends: []*store.Append{a}}); err != nil || a.Err != nil {
			t.Fatalf("append: %v, %v", err, a.Err)
		}
		return run
	}
	var c cast
	c.running = run().Job.ID
	c.failed = end(run(withKey("failed")), store.Failed, nil)
	c.parked = end(remember(run()), store.Waiting, &store.Wait{Kinds: store.MessagesOf(store.MessageSignal)})
	c.undoes = end(remember(run()), store.Waiting, &store.Wait{HandedOver: true, Compensates: true})
	c.handed = end(run(withKey("handed"), func(q *store.Enqueue) { q.Job.OrderingKey = "k" }), store.Waiting, &store.Wait{HandedOver: true})
	parent := run()
	child := newJob(func(q *store.Enqueue) { q.Job.Parent, q.Job.Answers, q.Delay = parent.Job.ID, true, time.Hour })
	c.parent = end(remember(parent, child), store.Waiting, &store.Wait{Kinds: store.MessagesOf(store.MessageChild)})
	scheduled, available := newJob(withKey("scheduled"), func(q *store.Enqueue) { q.Delay = time.Hour }), newJob()
	inLine := newJob(func(q *store.Enqueue) { q.Job.OrderingKey = "k" })
	enqueue(t, s, scheduled, available, inLine)
	c.child, c.scheduled, c.available, c.inLine = child.Job.ID, scheduled.Job.ID, available.Job.ID, inLine.Job.ID
	return c
}

func (c cast) all() []store.ID {
	return []store.ID{c.scheduled, c.available, c.inLine, c.failed, c.parked, c.handed, c.undoes, c.running, c.child, c.parent}
}

// callersVerbs are what callers do in transactions.
func callersVerbs(ctx context.Context, s store.Store, c cast) map[string]func(tx store.Tx) ([]store.Result, error) {
	return map[string]func(tx store.Tx) ([]store.Result, error){
		"cancel": func(tx store.Tx) ([]store.Result, error) {
			return s.CancelTx(ctx, tx, store.CancelParams{Jobs: c.all(), Reason: "r", Actor: "ada"})
		},
		"retry": func(tx store.Tx) ([]store.Result, error) {
			return s.RetryTx(ctx, tx, store.RetryParams{Jobs: c.all(), Reason: "r", Actor: "ada"})
		},
		"finish": func(tx store.Tx) ([]store.Result, error) {
			return s.FinishTx(ctx, tx, store.FinishParams{Actor: "ada", Ends: []store.End{
				{Job: c.handed, State: store.Completed, Result: []byte(`1`)}, {Job: c.undoes, State: store.Failed, Error: "e"},
			}})
		},
	}
}

// tables returns what is in the tables of a schema, as text.
func tables(t *testing.T, conn *pgx.Conn, schema string) map[string][]string {
	t.Helper()
	rows, err := conn.Query(t.Context(), `SELECT c.relname FROM pg_class c
		WHERE c.relnamespace = $1::text::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition`, schema)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for _, name := range names {
		table := pgx.Identifier{schema, name}.Sanitize()
		rows, err := conn.Query(t.Context(), "SELECT t::text FROM "+table+" t ORDER BY 1")
		if err != nil {
			t.Fatal(err)
		}
		if all[name], err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func wantSameTables(t *testing.T, what string, got, want map[string][]string) {
	t.Helper()
	for name := range want {
		if !slices.Equal(got[name], want[name]) {
			t.Errorf("%s: the table %s has\n\t%s\nwant\n\t%s", what, name, strings.Join(got[name], "\n\t"), strings.Join(want[name], "\n\t"))
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d tables became %d", what, len(want), len(got))
	}
}

// TestRollbackLeavesNoTrace compares all tables before and after, and what processes hear.
func TestRollbackLeavesNoTrace(t *testing.T) {
	t.Parallel()
	for name, begin := range callers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := used(t, nil)
			s := open(t, config)
			c := castOf(t, s)
			w := watch(t, s)
			eventually(t, "wake-ups", func() bool { return s.Traits().Wakeups })
			conn := connect(t, config.URL)
			before := tables(t, conn, config.SchemaName)
			heard := w.count(func(store.Wake) bool { return true })
			for verb, do := range callersVerbs(t.Context(), s, c) {
				tx, _, rollback := begin(t, config.URL)
				if _, err := do(tx); err != nil {
					t.Fatalf("%s: %v", verb, err)
				}
				if err := rollback(); err != nil {
					t.Fatal(err)
				}
				wantSameTables(t, verb, tables(t, conn, config.SchemaName), before)
			}
			s.Notify(store.Wake{Kind: store.WakeReady, Namespace: "default", Queue: "last"})
			if n := w.count(func(store.Wake) bool { return true }); n != heard {
				t.Errorf("%d wake-ups of what was rolled back", n-heard)
			}
			// What is committed is seen, or the test would see nothing.
			tx, commit, _ := begin(t, config.URL)
			if _, err := callersVerbs(t.Context(), s, c)["cancel"](tx); err != nil {
				t.Fatal(err)
			}
			if err := commit(); err != nil {
				t.Fatal(err)
			}
			if after := tables(t, conn, config.SchemaName); maps.EqualFunc(after, before, slices.Equal) {
				t.Error("a cancel that was committed has changed nothing")
			}
		})
	}
}

// TestCallersWakeAtTheirCommit: nodes, waiters and the leader of every process are told.
func TestCallersWakeAtTheirCommit(t *testing.T) {
	t.Parallel()
	for name, begin := range callers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := used(t, nil)
			s, other := open(t, config), open(t, config)
			c := castOf(t, s)
			here, there := watch(t, s), watch(t, other)
			eventually(t, "wake-ups", func() bool { return s.Traits().Wakeups && other.Traits().Wakeups })
			about := func(kind store.WakeKind, id store.ID) func(store.Wake) bool {
				return func(w store.Wake) bool { return w.Kind == kind && slices.Contains(w.Jobs, id) }
			}
			ofKind := func(kind store.WakeKind) func(store.Wake) bool {
				return func(w store.Wake) bool { return w.Kind == kind }
			}
			ready := func(w store.Wake) bool { return w.Kind == store.WakeReady && w.Queue == "mail" }
			for _, step := range []struct {
				verb string
				want []func(store.Wake) bool
			}{
				{"finish", []func(store.Wake) bool{about(store.WakeNews, c.handed), ready, ofKind(store.WakeLeader), ofKind(store.WakeDeferred)}},
				{"cancel", []func(store.Wake) bool{
					about(store.WakeNews, c.child), about(store.WakeCancel, c.running), ofKind(store.WakeLeader), ready,
				}},
				{"retry", []func(store.Wake) bool{ready}},
			} {
				tx, commit, _ := begin(t, config.URL)
				if _, err := callersVerbs(t.Context(), s, c)[step.verb](tx); err != nil {
					t.Fatal(err)
				}
				var before [][2]int
				for _, is := range step.want {
					before = append(before, [2]int{here.count(is), there.count(is)})
				}
				if err := commit(); err != nil {
					t.Fatal(err)
				}
				for i, is := range step.want {
					eventually(t, step.verb+": both hear of it", func() bool { return here.count(is) > before[i][0] && there.count(is) > before[i][1] })
				}
			}
		})
	}
}

// TestCallersOnTheLastConnection: the caller's transaction has the only connection of the pool, so
// that nothing may ask for another one.
func TestCallersOnTheLastConnection(t *testing.T) {
	t.Parallel()
	source := used(t, nil)
	c := castOf(t, open(t, source))
	config, err := pgxpool.ParseConfig(source.URL)
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 1
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	s := open(t, postgres.Config{Pool: pool, SchemaName: source.SchemaName})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for _, verb := range []string{"finish", "cancel", "retry"} {
		tx, err := pool.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := callersVerbs(ctx, s, c)[verb](postgres.Tx(tx)); err != nil {
			t.Fatalf("%s: %v", verb, err)
		}
		var timeout string
		if err := tx.QueryRow(ctx, "SELECT current_setting('lock_timeout')").Scan(&timeout); err != nil || timeout != "0" {
			t.Fatalf("%s: the caller's lock_timeout is %s, %v", verb, timeout, err)
		}
		if err := tx.Commit(ctx); err != nil {
			t.Fatal(err)
		}
	}
	wantState(t, s, c.child, store.Available)
}

// TestCallersIsolation: what was there when the transaction began says nothing of where a job is.
func TestCallersIsolation(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	s := open(t, config)
	c := castOf(t, s)
	for verb, do := range callersVerbs(t.Context(), s, c) {
		for _, level := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
			tx, err := connect(t, config.URL).BeginTx(t.Context(), pgx.TxOptions{IsoLevel: level})
			if err != nil {
				t.Fatal(err)
			}
			_, err = do(postgres.Tx(tx))
			wantErr(t, verb+" at "+string(level), err, store.ErrInvalid)
			if err := tx.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestCommitWhoseAnswerIsLost: the connection breaks between the commit and its answer. What was
// done has happened, once, and to do it again says how it is.
func TestCommitWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	s := open(t, config)
	c := castOf(t, s)
	p := newProxy(t, config.URL)
	again := map[string]error{"cancel": nil, "retry": nil, "finish": store.ErrConflict}
	for _, verb := range []string{"finish", "cancel", "retry"} {
		tx, err := connect(t, p.url).Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := callersVerbs(t.Context(), s, c)[verb](postgres.Tx(tx)); err != nil {
			t.Fatalf("%s: %v", verb, err)
		}
		text := "commit"
		p.cut.Store(&text)
		if err := tx.Commit(t.Context()); err == nil {
			t.Fatalf("%s: the answer of the commit was not lost", verb)
		}
		eventually(t, verb+" has happened", func() bool {
			record, err := s.Get(t.Context(), "", map[string]store.ID{"finish": c.handed, "cancel": c.child, "retry": c.child}[verb])
			if err != nil {
				t.Fatal(err)
			}
			return record.State == map[string]store.State{"finish": store.Completed, "cancel": store.Cancelled, "retry": store.Available}[verb]
		})
		tx, err = connect(t, config.URL).Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		results, err := callersVerbs(t.Context(), s, c)[verb](postgres.Tx(tx))
		if err != nil {
			t.Fatal(err)
		}
		if r := results[0]; again[verb] != nil && !errors.Is(r.Err, again[verb]) {
			t.Errorf("%s once more: %+v", verb, r)
		}
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range c.all() {
		record, err := s.Get(t.Context(), "", id)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[store.ActionKind]int{}
		for _, a := range record.Actions {
			if seen[a.Kind]++; seen[a.Kind] > 1 {
				t.Errorf("job %v: %+v", id, record.Actions)
			}
		}
	}
}
