package postgres_test

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// portion is how many children are closed at once here, and how many answers are delivered.
const portion = 2

// closeChildren closes children until there is nothing left to do, or nothing that can be done.
func closeChildren(t *testing.T, s store.Store) {
	t.Helper()
	for range 50 {
		closed, err := s.CloseChildren(t.Context(), portion)
		if err != nil {
			t.Fatalf("CloseChildren: %v", err)
		}
		if !closed.More {
			return
		}
	}
	t.Fatal("CloseChildren never comes to an end")
}

// families are parents with n children each, which are due in an hour.
type families struct {
	s        store.Store
	node     int64
	n        int
	parents  []store.ID
	children [][]store.ID
}

// add starts a parent, which bears its children, and ends as the outcome says.
func (f *families) add(t *testing.T, child func(*store.Enqueue), end func(*store.Outcome)) {
	t.Helper()
	enqueue(t, f.s, newJob())
	runs, err := f.s.Claim(t.Context(), demand(f.node, int64(len(f.parents)+1), 1))
	if err != nil || len(runs) != 1 {
		t.Fatalf("claimed %+v, %v", runs, err)
	}
	a := &store.Append{Lease: runs[0].Lease, Entries: []store.Entry{step(1)}}
	var ids []store.ID
	for range f.n {
		q := newJob(child, func(q *store.Enqueue) { q.Job.Parent, q.Delay = runs[0].Job.ID, time.Hour })
		a.Enqueues, ids = append(a.Enqueues, q), append(ids, q.Job.ID)
	}
	if err := store.ApplyEach(t.Context(), f.s, &store.Batch{Appends: []*store.Append{a}}); err != nil || a.Err != nil {
		t.Fatalf("append: %v, %v", err, a.Err)
	}
	o := runs[0].Outcome(store.Waiting)
	o.Durable, o.HasChildren = true, true
	end(o)
	if err := store.ApplyEach(t.Context(), f.s, &store.Batch{Outcomes: []*store.Outcome{o}}); err != nil || o.Err != nil {
		t.Fatalf("outcome: %v, %v", err, o.Err)
	}
	f.parents, f.children = append(f.parents, runs[0].Job.ID), append(f.children, ids)
}

func answers(q *store.Enqueue) { q.Job.Answers = true }
func waitsForAll(o *store.Outcome) {
	o.Wait = &store.Wait{Kinds: store.MessagesOf(store.MessageChild)}
}

// inCallers does something to jobs in a caller's transaction.
func inCallers(
	t *testing.T, url string, ids []store.ID, do func(tx store.Tx, ids []store.ID) ([]store.Result, error),
) (commit, rollback func() error) {
	t.Helper()
	tx, commit, rollback := callers["pgx"](t, url)
	results, err := do(tx, ids)
	for _, r := range results {
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return commit, rollback
}

func cancelsIn(t *testing.T, s store.Store) func(tx store.Tx, ids []store.ID) ([]store.Result, error) {
	return func(tx store.Tx, ids []store.ID) ([]store.Result, error) {
		return s.CancelTx(t.Context(), tx, store.CancelParams{Jobs: ids, Actor: "ada"})
	}
}

// TestHeldParentsHoldUpNoAnswersOfOthers: parents that a caller's transaction has are told later,
// however many answers they are to get, and all others at once. Answers for parents that are gone
// go.
func TestHeldParentsHoldUpNoAnswersOfOthers(t *testing.T) {
	t.Parallel()
	for name, held := range map[string]int{
		"one with more answers than are delivered at once": 1, "more than are looked for at once": portion + 1,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := fresh(t)
			s := open(t, config)
			f := &families{s: s, node: join(t, s), n: 2*portion + 1}
			for range held + 1 {
				f.add(t, answers, waitsForAll)
			}
			commit, _ := inCallers(t, config.URL, slices.Concat(f.children...), cancelsIn(t, s))
			if err := commit(); err != nil {
				t.Fatal(err)
			}
			conn := connect(t, config.URL)
			if _, err := conn.Exec(t.Context(), "INSERT INTO "+config.SchemaName+`.untold (id, parent, state, codec)
				SELECT gen_random_uuid(), ('ffffffff-ffff-7fff-bfff-ffffffffff' || lpad((i / 2)::text, 2, '0'))::uuid, 5, 0
				FROM generate_series(1, 9) i`); err != nil {
				t.Fatal(err)
			}
			_, rollback := inCallers(t, config.URL, f.parents[:held], cancelsIn(t, s))
			closeChildren(t, s)
			wantState(t, s, f.parents[held], store.Available)
			untold := "SELECT count(*)::int FROM " + config.SchemaName + ".untold"
			if n := value[int](t, conn, untold); n != held*f.n {
				t.Errorf("%d answers are left, want %d", n, held*f.n)
			}
			if err := rollback(); err != nil {
				t.Fatal(err)
			}
			closeChildren(t, s)
			if n := value[int](t, conn, untold); n != 0 {
				t.Errorf("in the end %d answers are left", n)
			}
			for i, parent := range f.parents {
				wantState(t, s, parent, store.Available)
				told := value[[]string](t, conn, "SELECT array_agg(from_id::text ORDER BY seq) FROM "+config.SchemaName+
					".inbox WHERE id = $1::text::uuid", parent.String())
				want := make([]string, f.n)
				for j, child := range f.children[i] {
					want[j] = child.String()
				}
				if !slices.Equal(told, want) {
					t.Errorf("parent %d is told of %v, want %v", i, told, want)
				}
			}
		})
	}
}
