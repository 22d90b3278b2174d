package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/storetest"
)

// sqlKeyed calls the function enqueue for a job of kind send with a business key, and returns its
// answer, and whether the holder of the key was enqueued with other args.
func sqlKeyed(t *testing.T, q querier, schema, args, key, more string) (r sqlResult, differs bool, err error) {
	t.Helper()
	var id string
	call := schema + ".enqueue('send', $1, key => $2" + more + ")"
	err = q.QueryRow(t.Context(), "SELECT id::text, existing, replaced, differs FROM "+call, args, key).
		Scan(&id, &r.existing, &r.replaced, &differs)
	if err == nil {
		r.id = uuid.MustParse(id)
	}
	return r, differs, err
}

// keyBed enqueues with business keys by SQL, and looks at what the library says of them.
type keyBed struct {
	*testing.T

	s      store.Store
	config postgres.Config
	conn   *pgx.Conn
	node   int64
	claims int64
}

func newKeyBed(t *testing.T, config postgres.Config) *keyBed {
	t.Helper()
	s := open(t, config)
	return &keyBed{t, s, config, connect(t, config.URL), join(t, s), 0}
}

// new enqueues what must be a new job.
func (b *keyBed) new(key, more string) store.ID {
	b.Helper()
	r, differs, err := sqlKeyed(b.T, b.conn, b.config.SchemaName, `{"a": 1, "b": 2.0}`, key, more)
	if err != nil || r.existing || r.replaced || differs {
		b.Fatalf("key %q: %+v, %v, %v", key, r, differs, err)
	}
	b.held(key, r.id)
	return r.id
}

// retire leaves of a finished job what retention does.
func (b *keyBed) retire(id store.ID) {
	b.Helper()
	for _, statement := range []string{
		"UPDATE %s.job_key k SET until = CASE WHEN k.keep < 0 THEN 9223372036854775807 ELSE f.finished_at + k.keep END FROM %[1]s.finished f " +
			"WHERE f.id = k.id AND k.id = $1",
		"DELETE FROM %s.finished WHERE id = $1",
		"DELETE FROM %s.job WHERE id = $1",
	} {
		if tag, err := b.conn.Exec(b.Context(), fmt.Sprintf(statement, b.config.SchemaName), id); err != nil || tag.RowsAffected() != 1 {
			b.Fatal(tag, err)
		}
	}
}

// held checks who holds a key, by SQL and by the library, with the same args and with others.
func (b *keyBed) held(key string, holder store.ID) {
	b.Helper()
	for args, other := range map[string]bool{`{"b":2.0,"a":1}`: false, `{"b":2,"a":1}`: true} {
		r, differs, err := sqlKeyed(b.T, b.conn, b.config.SchemaName, args, key, "")
		if err != nil || r.id != holder || !r.existing || r.replaced || differs != other {
			b.Fatalf("by SQL key %q is held by %+v, differs %v (%v), want %v", key, r, differs, err, holder)
		}
		q := newJob(named(key, 0))
		q.Job.Args = []byte(args)
		enqueue(b.T, b.s, q)
		if q.Result.ID != holder || !q.Result.Existing || q.Result.Differs != other {
			b.Fatalf("by the library key %q is held by %+v, want %v", key, q.Result, holder)
		}
	}
	if id, err := b.s.Find(b.Context(), newJob(named(key, 0)).Job.Key()); err != nil || id != holder {
		b.Fatalf("found is %v, %v, want %v", id, err, holder)
	}
}

// complete runs the only job that is available. Claims may have passed its place: that it is there
// was told by a notification, which may be on its way.
func (b *keyBed) complete(id store.ID) {
	b.Helper()
	var runs []store.Claimed
	eventually(b.T, "the job", func() bool {
		b.claims++
		var err error
		if runs, err = b.s.Claim(b.Context(), demand(b.node, b.claims, 10)); err != nil {
			b.Fatal(err)
		}
		return len(runs) > 0
	})
	if len(runs) != 1 || runs[0].Job.ID != id {
		b.Fatalf("claimed %+v, want %v", runs, id)
	}
	if err := store.ApplyEach(b.Context(), b.s, &store.Batch{Outcomes: []*store.Outcome{completed(runs[0])}}); err != nil {
		b.Fatal(err)
	}
}

// TestSQLEnqueueByKey: keys that SQL takes are those of the library, and as long.
func TestSQLEnqueueByKey(t *testing.T) {
	t.Parallel()
	b := newKeyBed(t, used(t, nil))
	first := b.new("k", "")
	record, err := b.s.Get(t.Context(), "default", first)
	if err != nil || record.Options.Key != "k" || record.Options.KeepKey != 0 {
		t.Fatalf("%+v, %v", record.Options, err)
	}
	// Another namespace, another kind: another key.
	for _, params := range []string{`'send', key => 'k', namespace => 'other'`, `'other', key => 'k'`, `'send', key => 'K'`} {
		if r := enqueued(t, b.conn, b.config.SchemaName, params+`, delay => '1h'`); r.existing {
			t.Errorf("%s: %+v", params, r)
		}
	}
	// A repeated enqueue is about its id, whoever holds the key.
	id := uuid.Must(uuid.NewV7())
	for _, repeated := range []bool{false, true} {
		r := enqueued(t, b.conn, b.config.SchemaName, fmt.Sprintf(`'send', key => 'id', delay => '1h', job_id => '%s'`, id))
		if r.id != id || r.existing != repeated {
			t.Errorf("%+v, repeated %v", r, repeated)
		}
	}
	if r := enqueued(t, b.conn, b.config.SchemaName, fmt.Sprintf(`'send', key => 'k', job_id => '%s'`, id)); r.id != id || !r.existing {
		t.Errorf("a known id with another key: %+v", r)
	}
	b.held("k", first)
	// In one statement, and of a job of the library.
	n := value[int](t, b.conn, "SELECT count(DISTINCT e.id)::int FROM generate_series(1, 3) i, LATERAL "+b.config.SchemaName+
		".enqueue('many', i, key => 'k') e")
	if n != 1 {
		t.Errorf("one statement has made %d jobs with one key", n)
	}
	q := newJob(named("library", 0), func(q *store.Enqueue) { q.Job.Args, q.Delay = []byte(`{"a":1,"b":2.0}`), time.Hour })
	enqueue(t, b.s, q)
	b.held("library", q.Job.ID)
}

// TestSQLEnqueueKeepsKeys after the end of a job, and after its removal.
func TestSQLEnqueueKeepsKeys(t *testing.T) {
	t.Parallel()
	b := newKeyBed(t, used(t, nil))
	for more, kept := range map[string]time.Duration{
		"": 0, ", keep_key => NULL": 0, ", keep_key => '0 s'": 0, ", keep_key => '1 day'": 24 * time.Hour,
		", keep_key => '-1 s'": store.KeepForever,
	} {
		key := "key" + more
		id := b.new(key, more)
		if record, err := b.s.Get(t.Context(), "default", id); err != nil || record.Options.KeepKey != kept {
			t.Fatalf("%q is kept for %v (%v), want %v", more, record.Options.KeepKey, err, kept)
		}
		b.complete(id)
		if kept != 0 {
			b.held(key, id)
			b.retire(id)
			b.held(key, id)
			continue
		}
		if next := b.new(key, ""); next == id {
			t.Errorf("%q: the key is kept", more)
		} else {
			b.complete(next)
		}
		q := newJob(named(key, 0))
		if enqueue(t, b.s, q); q.Result.Existing {
			t.Errorf("%q: after SQL has taken it over it is not free", more)
		}
		b.complete(q.Job.ID)
	}
	// Until when a key is kept that a removed job has left.
	id := b.new("over", ", keep_key => '1 day'")
	b.complete(id)
	b.retire(id)
	b.held("over", id)
	if _, err := b.conn.Exec(t.Context(), "UPDATE "+b.config.SchemaName+".job_key SET until = 1 WHERE key = 'over'"); err != nil {
		t.Fatal(err)
	}
	b.new("over", ", delay => '1h'")
}

// TestSQLEnqueueRetriesMeetKeys: a job that runs again does not get a key that SQL has taken over.
func TestSQLEnqueueRetriesMeetKeys(t *testing.T) {
	t.Parallel()
	b := newKeyBed(t, used(t, nil))
	id := b.new("k", "")
	if r, _, err := b.s.Delete(t.Context(), store.DeleteParams{Jobs: []store.ID{id}}); err != nil || !errors.Is(r[0].Err, store.ErrConflict) {
		t.Fatal(r, err)
	}
	if _, _, err := b.s.Cancel(t.Context(), store.CancelParams{Jobs: []store.ID{id}}); err != nil {
		t.Fatal(err)
	}
	next := b.new("k", "")
	results, _, err := b.s.Retry(t.Context(), store.RetryParams{Jobs: []store.ID{id}})
	if held, ok := errors.AsType[*store.UniqueError](errors.Join(err, results[0].Err)); !ok || held.Holder != next || held.Key != "k" {
		t.Fatalf("%+v, %v", results, err)
	}
	if _, _, err := b.s.Cancel(t.Context(), store.CancelParams{Jobs: []store.ID{next}}); err != nil {
		t.Fatal(err)
	}
	results, _, err = b.s.Retry(t.Context(), store.RetryParams{Jobs: []store.ID{id}})
	if err != nil || results[0].Err != nil {
		t.Fatalf("%+v, %v", results, err)
	}
	b.held("k", id)
}

// waiting lets a second connection do what has to wait for a transaction, ends that, and returns
// the answer.
func (b *keyBed) waiting(tx pgx.Tx, commit bool, do func(conn *pgx.Conn) (sqlResult, error)) sqlResult {
	b.Helper()
	conn := connect(b.T, b.config.URL)
	answer := make(chan sqlResult, 1)
	go func() {
		r, err := do(conn)
		if err != nil {
			b.Error(err)
		}
		answer <- r
	}()
	eventually(b.T, "it waits", func() bool {
		return value[int](b.T, b.conn, `SELECT count(*)::int FROM pg_locks WHERE NOT granted AND pid = $1`, int(conn.PgConn().PID())) > 0
	})
	end := tx.Rollback
	if commit {
		end = tx.Commit
	}
	if err := end(context.Background()); err != nil {
		b.Fatal(err)
	}
	return <-answer
}

// TestSQLEnqueueWaitsForBusinessKeys: a key that an open transaction has taken, as a new one or
// from a finished job, is waited for.
func TestSQLEnqueueWaitsForBusinessKeys(t *testing.T) {
	t.Parallel()
	b := newKeyBed(t, used(t, nil))
	for _, left := range []bool{false, true} {
		for _, commit := range []bool{true, false} {
			key := fmt.Sprint("key ", left, commit)
			if left {
				b.complete(b.new(key, ""))
			}
			tx := beginOn(t, b.config.URL)
			holder, _, err := sqlKeyed(t, tx, b.config.SchemaName, "1", key, ", delay => '1h'")
			if err != nil {
				t.Fatal(err)
			}
			r := b.waiting(tx, commit, func(conn *pgx.Conn) (sqlResult, error) {
				r, _, err := sqlKeyed(t, conn, b.config.SchemaName, "1", key, ", delay => '1h'")
				return r, err
			})
			if r.existing != commit || (r.id == holder.id) != commit {
				t.Errorf("%s: the one that waited has %+v, the other one %+v", key, r, holder)
			}
		}
	}
}

// TestSQLEnqueueGivesKeysBack: a job whose id another transaction stores at the same time gets no
// key, and that which it took is as it was.
func TestSQLEnqueueGivesKeysBack(t *testing.T) {
	t.Parallel()
	b := newKeyBed(t, used(t, nil))
	b.complete(b.new("left", ""))
	rows := func() string {
		t.Helper()
		return value[string](t, b.conn, "SELECT coalesce(string_agg((to_jsonb(k) - 'taken')::text, ' ' ORDER BY key), '') FROM "+
			b.config.SchemaName+".job_key k")
	}
	before := rows()
	for _, key := range []string{"new", "left"} {
		id := uuid.Must(uuid.NewV7())
		tx := beginOn(t, b.config.URL)
		enqueued(t, tx, b.config.SchemaName, fmt.Sprintf(`'send', delay => '1h', job_id => '%s'`, id))
		r := b.waiting(tx, true, func(conn *pgx.Conn) (sqlResult, error) {
			return sqlEnqueue(t, conn, b.config.SchemaName, `'send', key => $1, job_id => $2`, key, id.String())
		})
		if r.id != id || !r.existing {
			t.Errorf("key %s: %+v", key, r)
		}
		if after := rows(); after != before {
			t.Errorf("key %s: the keys are\n%s\nand were\n%s", key, after, before)
		}
		b.new(key, ", delay => '1h'")
		before = rows()
	}
}

// TestSQLEnqueueKeysOfADay that is dropped are those that are kept.
func TestSQLEnqueueKeysOfADay(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	clock := storetest.NewClock()
	clock.Advance(time.Since(clock.Now())) // that of the function is the database's
	config.Clock = clock.Now
	b := newKeyBed(t, config)
	kept := b.new("kept", ", keep_key => '-1 s'")
	b.complete(kept)
	free := b.new("free", "")
	b.complete(free)
	clock.Advance(72 * time.Hour)
	retained, err := b.s.Retain(t.Context(), store.Retention{Completed: time.Hour})
	if err != nil || retained.Jobs != 2 {
		t.Fatalf("Retain: %+v, %v", retained, err)
	}
	b.held("kept", kept)
	if next := b.new("free", ""); next == free {
		t.Errorf("the key is held by %v still", next)
	}
}
