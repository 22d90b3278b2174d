package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// along lets a signal go with an enqueue.
func along(name string) func(*store.Enqueue) {
	return func(q *store.Enqueue) {
		q.Send = &store.Send{Message: store.Message{Kind: store.MessageSignal, Name: name}}
	}
}

// TestSendOrStartIsOneTransaction: the program dies after each of the statements of an enqueue with
// a signal, for which its connection is closed in place of the answer. Nothing has happened then,
// or, if that was the commit, everything; and when it is repeated it happens once.
func TestSendOrStartIsOneTransaction(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	s := open(t, config)
	p := newProxy(t, config.URL)
	// Each statement is sent with its text, by which the proxy knows it.
	dying := open(t, postgres.Config{URL: p.url, SchemaName: config.SchemaName, NoSession: true})
	conn := connect(t, config.URL)
	for _, before := range []string{"no job", "an unfinished job", "a finished job"} {
		for i, c := range []struct {
			statement, text string
			done            bool // then it has happened
		}{
			{"key_sent", ".key_sent a WHERE", false},
			{"keys_take", "SELECT DISTINCT ON (namespace", false},
			{"enqueue_careful", "ON CONFLICT (id) DO NOTHING RETURNING id", false},
			{"lock_bodies", "FOR NO KEY UPDATE) b", false},
			{"send", "judged AS MATERIALIZED", false},
			{"wake", "candidates AS MATERIALIZED", false},
			{"key_sent_note", "RETURNING 1", false},
			{"the commit", "COMMIT\x00", true},
		} {
			name := fmt.Sprintf("%s, %s", before, c.statement)
			key := fmt.Sprintf("%s %d", before, i)
			holder := newJob(named(key, 0))
			if before != "no job" {
				enqueue(t, s, holder)
			}
			if before == "a finished job" {
				if _, _, err := s.Cancel(t.Context(), store.CancelParams{Jobs: []store.ID{holder.Job.ID}}); err != nil {
					t.Fatal(err)
				}
			}
			q := newJob(named(key, 0), along("s"))
			target := q.Job.ID
			if before == "an unfinished job" {
				target = holder.Job.ID
			}
			p.cut.Store(&c.text)
			if err := dying.Apply(t.Context(), &store.Batch{Enqueues: []*store.Enqueue{q}}); err == nil {
				t.Fatalf("%s: nothing was cut", name)
			}
			eventually(t, "the server has noticed", func() bool {
				return value[int](t, conn, `SELECT count(*) FROM pg_stat_activity
					WHERE state LIKE 'idle in transaction%' AND datname = current_database() AND pid <> pg_backend_pid()
					AND query LIKE '%' || $1 || '%'`, config.SchemaName) == 0
			})
			check := func(happened bool) {
				t.Helper()
				want := map[bool]int{true: 1}[happened]
				if n := value[int](t, conn, "SELECT count(*) FROM "+config.SchemaName+".inbox WHERE id = $1", target); n != want {
					t.Errorf("%s: %d signals, want %d", name, n, want)
				}
				if n := value[int](t, conn, "SELECT count(*) FROM "+config.SchemaName+".key_sent WHERE id = $1", q.Job.ID); n != want {
					t.Errorf("%s: %d are remembered, want %d", name, n, want)
				}
				jobs := want
				if target != q.Job.ID {
					jobs = 0
				}
				if n := value[int](t, conn, "SELECT count(*) FROM "+config.SchemaName+".job WHERE id = $1", q.Job.ID); n != jobs {
					t.Errorf("%s: %d jobs, want %d", name, n, jobs)
				}
				id, err := s.Find(t.Context(), q.Job.Key())
				switch {
				case happened && (err != nil || id != target):
					t.Errorf("%s: the key is that of %v (%v), want %v", name, id, err, target)
				case !happened && before == "no job" && err == nil, !happened && before != "no job" && id != holder.Job.ID:
					t.Errorf("%s: the key is that of %v (%v)", name, id, err)
				}
			}
			check(c.done)
			again := newJob(named(key, 0), along("s"), func(again *store.Enqueue) { again.Job.ID = q.Job.ID })
			enqueue(t, s, again)
			if again.Result.ID != target || again.Send.Job != target || again.Send.Result.Seq != 1 || again.Send.Result.Duplicate != c.done {
				t.Errorf("%s: repeated: %+v, %+v", name, again.Result, again.Send)
			}
			check(true)
		}
	}
	if n := p.cuts.Load(); n != 24 {
		t.Errorf("%d connections were cut", n)
	}
}

// TestSerializableCallersTakeKeys: the transaction of a caller sees what was there when it began. A
// key that was taken since, or whose job runs again since, ends it, as any row that was changed.
func TestSerializableCallersTakeKeys(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	s := open(t, config)
	for i, meanwhile := range []string{"nothing", "another job", "a retry", "another key"} {
		key := fmt.Sprint("key ", i)
		old := newJob(named(key, 0))
		enqueue(t, s, old)
		if _, _, err := s.Cancel(t.Context(), store.CancelParams{Jobs: []store.ID{old.Job.ID}}); err != nil {
			t.Fatal(err)
		}
		tx, err := connect(t, config.URL).Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"); err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), "SELECT count(*) FROM "+config.SchemaName+".job_key"); err != nil {
			t.Fatal(err)
		}
		switch meanwhile {
		case "another job":
			enqueue(t, s, newJob(named(key, 0)))
		case "another key":
			enqueue(t, s, newJob(named(key+"?", time.Hour)))
		case "a retry":
			results, _, err := s.Retry(t.Context(), store.RetryParams{Jobs: []store.ID{old.Job.ID}})
			if err != nil || results[0].Err != nil {
				t.Fatal(results, err)
			}
		}
		q := newJob(named(key, 0))
		err = s.EnqueueTx(t.Context(), postgres.Tx(tx), []*store.Enqueue{q})
		if err == nil && q.Err == nil {
			err = tx.Commit(t.Context())
		}
		_ = tx.Rollback(t.Context())
		holder, findErr := s.Find(t.Context(), q.Job.Key())
		if findErr != nil {
			t.Fatal(findErr)
		}
		if took := holder == q.Job.ID; took != (err == nil) || took != (i == 0 || meanwhile == "another key") {
			t.Errorf("%s came meanwhile: %v, %+v, %v; the key is that of %v, the old job is %v", meanwhile, err, q.Result, q.Err, holder, old.Job.ID)
		}
	}
}
