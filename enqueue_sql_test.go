package holdfast

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// sqlBed enqueues in one transaction after the other, by the library and by SQL.
type sqlBed struct {
	client *Client
	conn   *pgx.Conn
	schema string
	rows   string // the query that reads what was made of an enqueue
}

// made is what was made of an enqueue.
type made struct {
	err  string // or its error
	rows string // of all tables, without ids and times of this moment
	key  string
	id   ID
}

func newSQLBed(tb testing.TB) *sqlBed {
	tb.Helper()
	url, schema := pgtest.Shared(tb).Schema(tb)
	c, err := Open(tb.Context(), postgres.Config{URL: url, SchemaName: schema})
	if err != nil {
		tb.Fatal(err)
	}
	conn, err := pgx.Connect(tb.Context(), url)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close(context.Background()) })
	tb.Cleanup(func() { _ = c.Close(context.Background()) })
	var columns string
	err = conn.QueryRow(tb.Context(), `SELECT string_agg(format('%L, j.%I', attname, attname), ', ') FROM pg_attribute
		WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped
			AND attname <> ALL ('{id,created_at,run_at,lane,metadata,options,unique_states}')`, schema+".job").Scan(&columns)
	if err != nil {
		tb.Fatal(err)
	}
	rows := strings.NewReplacer("{schema}", schema, "{columns}", columns).Replace(rowsOfEnqueue)
	return &sqlBed{client: c, conn: conn, schema: schema, rows: rows}
}

// rowsOfEnqueue reads all that an enqueue has written, and its unique key. Times of this moment are
// told as what lies between them.
const rowsOfEnqueue = `
SELECT jsonb_build_object(
  'lane', (SELECT ARRAY[q.namespace, q.name, l.kind, l.priority::text]
    FROM {schema}.lane l JOIN {schema}.queue q ON q.id = l.queue WHERE l.id = j.lane),
  'job', jsonb_build_object({columns}),
  'unique_states', coalesce(j.unique_states, 0),
  'metadata', j.metadata::text, 'options', j.options::text,
  'run_at', CASE WHEN $2 THEN j.run_at ELSE j.run_at - j.created_at END,
  'ready', (SELECT count(*) FROM {schema}.ready r WHERE r.lane = j.lane AND r.run_at = j.run_at AND r.id = j.id),
  'deferred', (SELECT jsonb_agg(to_jsonb(d) - 'id' - 'due' - 'lane')
    FROM {schema}.deferred d WHERE d.due = j.run_at AND d.id = j.id AND d.lane = j.lane),
  'keyed', (SELECT jsonb_agg(to_jsonb(k) - 'id' - 'run_at' - 'lane')
    FROM {schema}.keyed k WHERE k.run_at = j.run_at AND k.id = j.id AND k.lane = j.lane),
  'checks', (SELECT jsonb_agg(to_jsonb(c) - 'seq') FROM {schema}.key_check c),
  'named', (SELECT jsonb_agg(to_jsonb(k) - 'id') FROM {schema}.job_key k WHERE k.id = j.id),
  'unique', (SELECT jsonb_agg(u.key) FROM {schema}.unique_key u WHERE u.id = j.id)
)::text, encode(coalesce(j.unique_key, ''), 'hex')
FROM {schema}.job j WHERE j.id = $1`

// undone runs f in a transaction that is rolled back.
func (b *sqlBed) undone(ctx context.Context, f func(tx pgx.Tx) error) error {
	tx, err := b.conn.Begin(ctx)
	if err != nil {
		return err
	}
	return errors.Join(f(tx), tx.Rollback(ctx))
}

func (b *sqlBed) read(ctx context.Context, tx pgx.Tx, call *enqCall, id ID) (m made, err error) {
	m.id = id
	err = tx.QueryRow(ctx, b.rows, id.String(), call.RunAt != nil && !call.RunAt.IsZero()).Scan(&m.rows, &m.key)
	return m, err
}

// byGo enqueues by the library.
func (b *sqlBed) byGo(ctx context.Context, call *enqCall) (m made, err error) {
	return m, b.undone(ctx, func(tx pgx.Tx) error {
		q, err := call.build(b.client)
		if err != nil {
			id := "no id"
			if q != nil {
				id = q.Job.ID.String()
			}
			m.err = plainError(err.Error(), id)
			return nil
		}
		if err := b.client.enqueueTx(ctx, postgres.Tx(tx), []*store.Enqueue{q}); err != nil {
			return err
		}
		if q.Err != nil {
			return q.Err
		}
		m, err = b.read(ctx, tx, call, q.Result.ID)
		return err
	})
}

// bySQL enqueues by SQL.
func (b *sqlBed) bySQL(ctx context.Context, call *enqCall) (m made, err error) {
	return m, b.undone(ctx, func(tx pgx.Tx) error {
		text, args := call.sql(b.schema)
		var id string
		var existing, replaced, differs bool
		err := tx.QueryRow(ctx, text, args...).Scan(&id, &existing, &replaced, &differs)
		if refusal, ok := errors.AsType[*pgconn.PgError](err); ok {
			if refusal.Code != "22023" {
				return err
			}
			m.err = refusal.Message
			if at := strings.Index(m.err, ": job "); at > 0 {
				m.err = plainError(m.err, m.err[at+6:][:36])
			}
			return nil
		}
		if err != nil {
			return err
		}
		if existing || replaced || differs {
			return fmt.Errorf("existing %v, replaced %v, differs %v", existing, replaced, differs)
		}
		m, err = b.read(ctx, tx, call, uuidOf(id))
		return err
	})
}

// sql is the call of the function.
func (e *enqCall) sql(schema string) (text string, args []any) {
	text = "SELECT id::text, existing, replaced, differs FROM " + schema + ".enqueue($1"
	args = []any{e.Kind}
	add := func(given bool, name, cast string, value func() any) {
		if given {
			args = append(args, value())
			text += fmt.Sprintf(", %s => $%d%s", name, len(args), cast)
		}
	}
	length := func(name string, value *string) {
		add(value != nil, name, "::text::interval", func() any { return fmt.Sprintf("%d microseconds", lengthOf(value).Microseconds()) })
	}
	add(e.Args != nil, "args", "", func() any { return *e.Args })
	add(e.Namespace != nil, "namespace", "", func() any { return *e.Namespace })
	add(e.Queue != nil, "queue", "", func() any { return *e.Queue })
	add(e.Priority != nil, "priority", "", func() any { return *e.Priority })
	add(e.RunAt != nil, "run_at", "", func() any { return *e.RunAt })
	length("delay", e.Delay)
	add(e.MaxAttempts != nil, "max_attempts", "", func() any { return *e.MaxAttempts })
	length("timeout", e.Timeout)
	add(e.Deadline != nil, "deadline", "", func() any { return *e.Deadline })
	length("backoff", e.Backoff)
	length("backoff_limit", e.BackoffLimit)
	add(e.Tags != nil, "tags", "", func() any { return e.Tags })
	add(e.Metadata != nil, "metadata", "", func() any { return *e.Metadata })
	add(e.OrderingKey != nil, "ordering_key", "", func() any { return *e.OrderingKey })
	add(e.UniqueBy != nil, "unique_by", "", func() any { return e.UniqueBy })
	add(e.UniqueFields != nil, "unique_fields", "", func() any { return e.UniqueFields })
	length("unique_period", e.UniquePeriod)
	add(e.UniqueKey != nil, "unique_key", "", func() any { return *e.UniqueKey })
	add(e.UniqueWhile != nil, "unique_while", "", func() any { return e.UniqueWhile })
	add(e.OnConflict != nil, "on_conflict", "", func() any { return *e.OnConflict })
	add(e.JobID != nil, "job_id", "", func() any { return e.JobID.String() })
	add(e.Key != nil, "key", "", func() any { return *e.Key })
	length("keep_key", e.KeepKey)
	return text + ")", args
}

func uuidOf(text string) (id ID) {
	if err := id.UnmarshalText([]byte(text)); err != nil {
		panic(err)
	}
	return id
}

// TestVectorsInSQL holds the function in the database against the vectors, and what it writes
// against what the library writes.
func TestVectorsInSQL(t *testing.T) {
	t.Parallel()
	b := newSQLBed(t)
	for _, v := range append(readVectors(t), largeVectors()...) {
		byGo, err := b.byGo(t.Context(), &v.Enqueue)
		if err != nil {
			t.Fatalf("%s: %v", v.Name, err)
		}
		bySQL, err := b.bySQL(t.Context(), &v.Enqueue)
		if err != nil {
			t.Fatalf("%s: %v", v.Name, err)
		}
		if v.Error == "" {
			v.Error = byGo.err // of a large one
		}
		if v.SQLError == "" {
			v.SQLError = v.Error
		}
		if bySQL.err != v.SQLError {
			t.Errorf("%s: the error is\n     %s\nnot  %s", v.Name, bySQL.err, v.SQLError)
			continue
		}
		if bySQL.rows != byGo.rows {
			t.Errorf("%s: the rows are\n     %.1000s\nnot  %.1000s", v.Name, bySQL.rows, byGo.rows)
		}
		if v.Key != "" && (bySQL.key != v.Key || byGo.key != v.Key) {
			t.Errorf("%s: the key is %s in SQL and %s in Go, not %s", v.Name, bySQL.key, byGo.key, v.Key)
		}
	}
}

// TestSQLInTheDocs runs the SQL of docs/jobs.md, in a schema with the name that it has there.
func TestSQLInTheDocs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("docs/jobs.md")
	if err != nil {
		t.Fatal(err)
	}
	url := pgtest.Shared(t).Database(t)
	c, err := Open(t.Context(), postgres.URL(url))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	run := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	run("CREATE TABLE orders (id bigserial, article text); CREATE TABLE customers (id bigserial, name text)")
	run("INSERT INTO customers (name) VALUES ('ada'), ('bob')")
	blocks := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllSubmatch(text, -1)
	for _, block := range blocks {
		run(string(block[1]))
	}
	run("INSERT INTO customers (name) VALUES ('eve')")
	got := map[string]int{}
	page, err := c.List(t.Context(), store.Filter{}, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, job := range page.Jobs {
		got[job.Kind+" in "+job.Queue+": "+job.State.String()]++
	}
	want := map[string]int{
		"receipt in mail: available": 1, "ship in default: available": 1, "remind in default: scheduled": 2, "welcome in default: available": 1,
	}
	if !maps.Equal(got, want) || len(blocks) == 0 {
		t.Errorf("the SQL of the page makes %v, not %v", got, want)
	}
}
