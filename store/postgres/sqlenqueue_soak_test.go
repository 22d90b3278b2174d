//go:build soak

package postgres_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// TestSQLEnqueueRace: of many who enqueue the same key at once, by the library and by the function,
// one makes the job.
func TestSQLEnqueueRace(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	s, conn := open(t, config), connect(t, config.URL)
	for round := range 20 {
		// What the library computes for the key is what the function stores (see the vectors): here
		// it is read.
		name := fmt.Sprint("key ", round)
		probe, err := conn.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r := enqueued(t, probe, config.SchemaName, `'send', unique_key => $1`, name)
		var key []byte
		err = probe.QueryRow(t.Context(), "SELECT unique_key FROM "+config.SchemaName+".job WHERE id = $1::text::uuid", r.id.String()).Scan(&key)
		if err != nil {
			t.Fatal(err)
		}
		if err := probe.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		var mu sync.Mutex
		ids, made := map[store.ID]bool{}, 0
		note := func(id store.ID, existing bool) {
			mu.Lock()
			defer mu.Unlock()
			if ids[id] = true; !existing {
				made++
			}
		}
		for n := range 8 {
			if n%2 == 0 {
				q := newJob(withKey(string(key)))
				all.Go(func() {
					for {
						err := errors.Join(s.Apply(t.Context(), &store.Batch{Enqueues: []*store.Enqueue{q}}), q.Err)
						if !errors.Is(err, store.ErrUnavailable) {
							if err != nil {
								t.Errorf("the library: %v", err)
							}
							note(q.Result.ID, q.Result.Existing)
							return
						}
					}
				})
				continue
			}
			conn := connect(t, config.URL)
			all.Go(func() {
				r, err := sqlEnqueue(t, conn, config.SchemaName, `'send', unique_key => $1`, name)
				if err != nil {
					t.Errorf("the function: %v", err)
				}
				note(r.id, r.existing)
			})
		}
		if all.Wait(); len(ids) != 1 || made != 1 {
			t.Fatalf("round %d: %d jobs have the key, and %d were made", round, len(ids), made)
		}
	}
}

// TestSQLEnqueueTellsNodes the same as an enqueue in a caller's transaction by the library.
func TestSQLEnqueueTellsNodes(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	s, conn := open(t, config), connect(t, config.URL)
	heard := listenTo(t, config)
	at := time.Date(2040, 1, 1, 0, 0, 0, 1000, time.UTC)
	early := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
	round := 0
	for _, c := range []struct {
		params string
		change func(q *store.Enqueue)
	}{
		{`'send', queue => 'mail'`, func(*store.Enqueue) {}},
		{`'send', queue => $$a "b" <ü>$$`, func(q *store.Enqueue) { q.Job.Queue = `a "b" <ü>` }},
		{`'send', queue => 'mail', run_at => '2001-01-01 00:00:00+00'`, func(q *store.Enqueue) { q.Job.RunAt = early }},
		{`'send', queue => 'mail', run_at => '2040-01-01 00:00:00.000001+00'`, func(q *store.Enqueue) { q.Job.RunAt = at }},
		{`'send', queue => 'mail', run_at => '2040-01-01 00:00:00.000001+00', ordering_key => 'k'`, func(q *store.Enqueue) {
			q.Job.RunAt, q.Job.OrderingKey = at, "k"
		}},
		{`'send', queue => 'mail', run_at => '2001-01-01 00:00:00+00', ordering_key => 'k'`, func(q *store.Enqueue) {
			q.Job.RunAt, q.Job.OrderingKey = early, "k"
		}},
	} {
		round++
		q := newJob(c.change)
		tx, commit, _ := callers["pgx"](t, config.URL)
		if err := errors.Join(s.EnqueueTx(t.Context(), tx, []*store.Enqueue{q}), commit()); err != nil {
			t.Fatal(err)
		}
		byGo := heard(2 * round)
		sql, err := conn.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		enqueued(t, sql, config.SchemaName, c.params)
		if got := heard(-round); len(got) != 0 {
			t.Errorf("%s: %q before the commit", c.params, got)
		}
		if err := sql.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		bySQL := heard(2*round + 1)
		if a, b := told(t, byGo), told(t, bySQL); a != b {
			t.Errorf("%s: the library tells\n     %s\nand SQL\n     %s", c.params, a, b)
		}
	}
	// Of many jobs in a statement, or in a transaction, nodes are told little.
	for n, c := range []struct {
		params string
		most   int
	}{
		{"'send', i", 2},
		{"'send' || i % 2, i", 5},
		{"'send', i, run_at => timestamptz '2001-01-01' + i * interval '1 second'", 103},
		{"'send', i, delay => i * interval '1 minute'", 1},
		{"'send', i, delay => hashint4(i) % 1000 * interval '1 minute' + interval '1 day'", 30},
		{"'send', i, ordering_key => i::text", 1},
	} {
		_, err := conn.Exec(t.Context(), "SELECT "+config.SchemaName+".enqueue("+c.params+") FROM generate_series(1, 1000) i")
		if err != nil {
			t.Fatal(err)
		}
		if got := heard(1000 + n); len(got) == 0 || len(got) > c.most {
			t.Errorf("%s: %d notifications of a thousand jobs", c.params, len(got))
		}
	}
	// What was told behind a savepoint that is gone is told again.
	tx := beginOn(t, config.URL)
	inner, err := tx.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	enqueued(t, inner, config.SchemaName, `'send', run_at => '2001-01-01'`)
	if err := inner.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	enqueued(t, tx, config.SchemaName, `'send', run_at => '2001-01-01'`)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := heard(2000); len(got) != 2 {
		t.Errorf("after a savepoint: %q", got)
	}
	// Who replaces a job tells of its queue, not of another one.
	enqueued(t, conn, config.SchemaName, `'send', queue => 'first', unique_key => 'k', delay => '1h'`)
	heard(2001)
	enqueued(t, conn, config.SchemaName, `'send', queue => 'second', unique_key => 'k', on_conflict => 'replace'`)
	if got := heard(2002); len(got) != 2 || !strings.Contains(got[1], `"first"`) {
		t.Errorf("a job was replaced: %q", got)
	}
}
