package postgres_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// sqlResult is what the function enqueue answers with.
type sqlResult struct {
	id                 store.ID
	existing, replaced bool
}

// querier is a connection or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// sqlEnqueue calls the function enqueue of a schema with parameters as a person writes them.
func sqlEnqueue(t *testing.T, q querier, schema, params string, args ...any) (r sqlResult, err error) {
	t.Helper()
	var id string
	call := pgx.Identifier{schema}.Sanitize() + ".enqueue(" + params + ")"
	err = q.QueryRow(t.Context(), "SELECT id::text, existing, replaced FROM "+call, args...).
		Scan(&id, &r.existing, &r.replaced)
	if err == nil {
		r.id = uuid.MustParse(id)
	}
	return r, err
}

// enqueued is sqlEnqueue for what must work.
func enqueued(t *testing.T, q querier, schema, params string, args ...any) sqlResult {
	t.Helper()
	r, err := sqlEnqueue(t, q, schema, params, args...)
	if err != nil {
		t.Fatalf("%s: %v", params, err)
	}
	return r
}

// refusedAs checks the code and the beginning of what an error of the function says.
func refusedAs(t *testing.T, err error, code, message string) {
	t.Helper()
	refusal, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || refusal.Code != code || !strings.HasPrefix(refusal.Message, message) {
		t.Errorf("it says\n     %v\nnot  %s (SQLSTATE %s)", err, message, code)
	}
}

// TestSQLEnqueue: a job of the function is one like any other.
func TestSQLEnqueue(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	s, conn := open(t, config), connect(t, config.URL)
	r := enqueued(t, conn, config.SchemaName, `'send', '{"a": 1}', queue => 'mail', metadata => '{"m": 1}'`)
	if r.id.Version() != 7 || r.id.Variant() != uuid.RFC4122 || r.existing || r.replaced {
		t.Errorf("%+v", r)
	}
	if age := time.Since(time.Unix(r.id.Time().UnixTime())); age.Abs() > time.Hour {
		t.Errorf("the id is of %v ago", age)
	}
	record, err := s.Get(t.Context(), "default", r.id)
	if err != nil || record.State != store.Available || string(record.Args) != `{"a": 1}` || string(record.Metadata) != `{"m": 1}` {
		t.Fatalf("%+v, %v", record, err)
	}
	runs, err := s.Claim(t.Context(), demand(join(t, s), 1, 10))
	if err != nil || len(runs) != 1 || runs[0].Job.ID != r.id || runs[0].Job.Queue != "mail" {
		t.Fatalf("claimed %+v, %v", runs, err)
	}
	if err := store.ApplyEach(t.Context(), s, &store.Batch{Outcomes: []*store.Outcome{completed(runs[0])}}); err != nil {
		t.Fatal(err)
	}
	wantState(t, s, r.id, store.Completed)

	// In the order of their enqueue, however quickly they follow each other.
	var ids []string
	err = conn.QueryRow(t.Context(), "SELECT array_agg(e.id::text ORDER BY i) FROM generate_series(1, 500) i, LATERAL "+
		config.SchemaName+".enqueue('send', i, run_at => '2001-01-01') e").Scan(&ids)
	if err != nil || !slices.IsSorted(ids) {
		t.Errorf("ids are not in the order of enqueues (%v)", err)
	}
}

// TestSQLEnqueueTakesPayloads as text, as json and as jsonb, and what is none of them as an error.
func TestSQLEnqueueTakesPayloads(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	s, conn := open(t, config), connect(t, config.URL)
	for params, want := range map[string]string{
		`'send', '{"b": 1.0, "a": 2}'`:                                       `{"b": 1.0, "a": 2}`,
		`'send', '{"b": 1.0, "a": 2}'::text`:                                 `{"b": 1.0, "a": 2}`,
		`'send', '{"b": 1.0, "a": 2}'::varchar`:                              `{"b": 1.0, "a": 2}`,
		`'send', '{"b": 1.0, "a": 2}'::json`:                                 `{"b": 1.0, "a": 2}`,
		`'send', '{"b": 1.0, "a": 2}'::jsonb`:                                `{"a": 2, "b": 1.0}`,
		`'send', jsonb_build_object('a', 1), metadata => '{"x":1}'`:          `{"a": 1}`,
		`'send', json_build_object('a', 1), metadata => json_build_object()`: `{"a" : 1}`,
		`'send', '{}', metadata => jsonb_build_object('a', 1)`:               `{}`,
		`'send', 7`:    `7`,
		`'send', true`: `true`,
		`'send'`:       `null`,
		`'send', NULL`: `null`,
		`kind => 'send', args => '[]', queue => NULL, priority => NULL`:        `[]`,
		`'send'` + strings.Repeat(`, NULL`, 9):                                 `null`,
		`'send', tags => NULL, on_conflict => NULL, job_id => NULL, args => 1`: `1`,
		`'send', (SELECT to_jsonb(t) FROM (SELECT 1 AS a) t)`:                  `{"a": 1}`,
	} {
		r := enqueued(t, conn, config.SchemaName, params)
		record, err := s.Get(t.Context(), "", r.id)
		if err != nil || string(record.Args) != want || record.Queue != "default" || record.Priority != 2 {
			t.Errorf("%s: %s %s %d, %v", params, record.Args, record.Queue, record.Priority, err)
		}
	}
	_, err := sqlEnqueue(t, conn, config.SchemaName, `'send', date '2001-01-01'`)
	refusedAs(t, err, "22023", "holdfast: invalid request: args: not valid JSON: 2001-01-01")
	// A driver may send all parameters as text of unknown type.
	r := enqueued(t, conn, config.SchemaName, "$1, $2, priority => $3::text::int, tags => $4::text::text[]", "send", `[1]`, "3", "{a,b}")
	if record, err := s.Get(t.Context(), "", r.id); err != nil || record.Priority != 3 || !slices.Equal(record.Tags, []string{"a", "b"}) {
		t.Errorf("%+v, %v", record, err)
	}
}

// TestSQLEnqueueInATrace: a job carries the headers that it is given, beside its other options, as
// the library writes them.
func TestSQLEnqueueInATrace(t *testing.T) {
	t.Parallel()
	const parent, state = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", `congo="<&>"`
	config := used(t, nil)
	s, conn := open(t, config), connect(t, config.URL)
	traced := store.Options{TraceParent: parent, TraceState: state}
	both := fmt.Sprintf(", traceparent => '%s', tracestate => '%s'", parent, state)
	keyed := traced
	keyed.Key, keyed.Timeout = "k", time.Second
	for params, want := range map[string]store.Options{
		`'send'` + both: traced,
		`'send', key => 'k', timeout => '1 s'` + both:             keyed,
		`'send', traceparent => '` + parent + `'`:                 {TraceParent: parent},
		`'send', traceparent => '', tracestate => NULL`:           {},
		`'send', timeout => '1 s', traceparent => NULL`:           {Timeout: time.Second},
		`'send', unique_by => '{kind}', max_attempts => 1` + both: traced,
	} {
		r := enqueued(t, conn, config.SchemaName, params)
		record, err := s.Get(t.Context(), "", r.id)
		if err != nil || record.Options != want {
			t.Errorf("%s: %+v, %v", params, record.Options, err)
		}
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		kept := value[*string](t, conn, "SELECT options::text FROM "+config.SchemaName+".job WHERE id = '"+r.id.String()+"'")
		if want == (store.Options{}) {
			if kept != nil {
				t.Errorf("%s: kept %s, want nothing", params, *kept)
			}
		} else if kept == nil || *kept != string(text) {
			t.Errorf("%s: kept %v, want %s", params, kept, text)
		}
	}
}

// TestSQLEnqueueRefuses what only the function can be asked for.
func TestSQLEnqueueRefuses(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	conn := connect(t, config.URL)
	for params, message := range map[string]string{
		`NULL`: "kind: must not be empty",
		`'send', run_at => '2030-01-01', delay => '1s'`:           "run_at: give it or a delay, not both",
		`'send', unique_by => '{kind,arg}'`:                       `unique: "arg" is none of kind, args and queue`,
		`'send', unique_by => '{NULL}'`:                           `unique: "" is none of kind, args and queue`,
		`'send', unique_fields => '{a,NULL}'`:                     "unique: the name of a field in unique_fields must not be empty",
		`'send', unique_while => '{done}', unique_by => '{kind}'`: `unknown state "done"`,
		`'send', unique_while => '{NULL}'`:                        `unknown state ""`,
		`'send', unique_by => '{kind}', on_conflict => 'Ignore'`:  `unique: on_conflict "Ignore" is none of return, reject and replace`,
		`'send', on_conflict => 'reject'`:                         "unique: on_conflict needs what makes the job unique, such as unique_by",
		`'send', tags => '{a,NULL}'`:                              "tag: must not be empty",
		`'send', timeout => '300 years'`:                          "timeout: 300 years is longer than 292 years",
		`'send', backoff => '1s', backoff_limit => '300 years'`:   "backoff_limit: 300 years is longer than 292 years",
		`'send', traceparent => repeat('0', 129)`:                 "traceparent: 129 bytes exceed the limit of 128",
		`'send', traceparent => 'ä'`: "traceparent: \"ä\" is no header: " +
			"it has other characters than printable ASCII",
		`'send', tracestate => repeat('0', 513)`:                   "tracestate: 513 bytes exceed the limit of 512",
		`'send', tracestate => E'a\n'`:                             `tracestate: "a\n" is no header`,
		`'send', key => 'k', keep_key => '300 years'`:              "keep_key: 300 years is longer than 292 years",
		`'send', backoff_limit => '1ms'`:                           "backoff: base 00:00:01 and limit 00:00:00.001: both must be positive",
		`'send', run_at => 'infinity'`:                             "job ",
		`'send', run_at => '-infinity'`:                            "job ",
		`'send', run_at => '0001-01-01 BC'`:                        "job ",
		`'send', delay => '9000 years'`:                            "job ",
		`'send', deadline => 'infinity'`:                           "job ",
		`'send', deadline => '2020-01-01'`:                         "deadline: 2020-01-01T00:00:00Z is not after the run time",
		`'send', delay => '2 hours', deadline => now() + '1 hour'`: "deadline: ",
		`'send', tags => array_fill('t'::text, '{3,7}')`:           "tags: 21 exceed the limit of 20",
		`'send', metadata => '{"a":1}'::jsonb, args => '{'`:        "",
	} {
		_, err := sqlEnqueue(t, conn, config.SchemaName, params)
		if message == "" {
			if err == nil {
				t.Errorf("%s is accepted", params)
			}
			continue
		}
		refusedAs(t, err, "22023", "holdfast: invalid request: "+message)
	}
	if n := value[int](t, conn, "SELECT count(*)::int FROM "+config.SchemaName+".job"); n != 0 {
		t.Errorf("%d jobs were stored", n)
	}
}

// TestSQLEnqueueMeetsOthers: the same id and the same key, of the function and of the library.
func TestSQLEnqueueMeetsOthers(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	s, conn := open(t, config), connect(t, config.URL)
	again := func(params string, args ...any) sqlResult {
		t.Helper()
		return enqueued(t, conn, config.SchemaName, params, args...)
	}

	id := uuid.Must(uuid.NewV7())
	if r := again("'send', 1, job_id => $1", id.String()); r.id != id || r.existing {
		t.Errorf("a new id: %+v", r)
	}
	known := again("'send', 2, job_id => $1, unique_by => '{kind}', on_conflict => 'reject'", id.String())
	if known.id != id || !known.existing || known.replaced {
		t.Errorf("the same id: %+v", known)
	}
	_, err := sqlEnqueue(t, conn, config.SchemaName, "'send', 1, job_id => $1, namespace => 'other'", id.String())
	refusedAs(t, err, "23505", "holdfast: conflict: the id "+id.String()+" is taken")
	byGo := newJob()
	enqueue(t, s, byGo)
	if r := again("'send', 1, job_id => $1", byGo.Job.ID.String()); r.id != byGo.Job.ID || !r.existing {
		t.Errorf("an id of the library: %+v", r)
	}

	first := again(`'send', 1, unique_by => '{kind}', delay => '1 hour'`)
	if r := again(`'send', 2, unique_by => '{kind}'`); r.id != first.id || !r.existing || r.replaced {
		t.Errorf("the same key: %+v", r)
	}
	_, err = sqlEnqueue(t, conn, config.SchemaName, `'send', 2, unique_by => '{kind}', on_conflict => 'reject'`)
	refusedAs(t, err, "23505", "holdfast: conflict: its unique key is held by job "+first.id.String())
	r := again(`'send', '[2]', unique_by => '{kind}', on_conflict => 'replace', metadata => '{"m":2}'`)
	record, err := s.Get(t.Context(), "", first.id)
	if err != nil || r.id != first.id || !r.existing || !r.replaced || record.State != store.Available || string(record.Args) != "[2]" ||
		string(record.Metadata) != `{"m":2}` {
		t.Errorf("replaced: %+v, %+v, %v", r, record, err)
	}
	// Within one statement, and one transaction.
	same := value[int](t, conn, "SELECT count(DISTINCT e.id)::int FROM generate_series(1, 3) i, LATERAL "+config.SchemaName+
		".enqueue('other', i, unique_by => '{kind}') e")
	if same != 1 {
		t.Errorf("one statement has made %d jobs with one key", same)
	}
	if n := value[int](t, conn, "SELECT count(*)::int FROM "+config.SchemaName+".unique_key"); n != 2 {
		t.Errorf("%d keys are held", n)
	}
}

// TestSQLEnqueueWaitsForKeys: a key that an open transaction has taken is waited for.
func TestSQLEnqueueWaitsForKeys(t *testing.T) {
	t.Parallel()
	for _, commits := range []bool{true, false} {
		config := used(t, nil)
		first, second, watch := connect(t, config.URL), connect(t, config.URL), connect(t, config.URL)
		enqueued(t, first, config.SchemaName, `'send'`) // makes the lane
		tx, err := first.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		holder := enqueued(t, tx, config.SchemaName, `'send', unique_key => 'k'`)
		answer := make(chan sqlResult, 1)
		go func() {
			r, err := sqlEnqueue(t, second, config.SchemaName, `'send', unique_key => 'k'`)
			if err != nil {
				t.Error(err)
			}
			answer <- r
		}()
		eventually(t, "it waits", func() bool {
			return value[int](t, watch, `SELECT count(*)::int FROM pg_locks WHERE NOT granted AND pid = $1`, int(second.PgConn().PID())) > 0
		})
		if commits {
			err = tx.Commit(t.Context())
		} else {
			err = tx.Rollback(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		if r := <-answer; r.existing != commits || (r.id == holder.id) != commits {
			t.Errorf("the transaction committed: %v, and the one that waited for it has %+v", commits, r)
		}
	}
}

// TestSQLEnqueueRolledBack leaves nothing, in a transaction and behind a savepoint.
func TestSQLEnqueueRolledBack(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	s, conn := open(t, config), connect(t, config.URL)
	heard := listenTo(t, config)
	rows := func() string {
		t.Helper()
		var tables []string
		err := conn.QueryRow(t.Context(), `SELECT array_agg(relname ORDER BY relname) FROM pg_class
			WHERE relnamespace = $1::text::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition`, config.SchemaName).Scan(&tables)
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for _, table := range tables {
			fmt.Fprintln(&text, table, value[int](t, conn, "SELECT count(*)::int FROM "+config.SchemaName+"."+table))
		}
		return text.String()
	}
	before := rows()
	for _, params := range []string{
		`'a'`, `'b', delay => '1h'`, `'c', ordering_key => 'k'`, `'d', unique_by => '{args}', queue => 'new', namespace => 'new'`,
		`'e', key => 'k', keep_key => '-1 s'`,
	} {
		tx, err := conn.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		enqueued(t, tx, config.SchemaName, params)
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	inner, err := tx.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	enqueued(t, inner, config.SchemaName, `'e', unique_by => '{args}'`)
	if err := errors.Join(inner.Rollback(t.Context()), tx.Commit(t.Context())); err != nil {
		t.Fatal(err)
	}
	if after := rows(); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
	enqueue(t, s, newJob())
	if got := heard(1); len(got) != 0 {
		t.Errorf("others heard %q", got)
	}
}

// listenTo returns a function that returns what was notified until now, without what this process
// tells others after its own commits. A last notification, which only it knows, ends the wait.
func listenTo(t *testing.T, config postgres.Config) func(ends int) []string {
	t.Helper()
	conn, teller := connect(t, config.URL), connect(t, config.URL)
	channel := "holdfast:" + config.SchemaName
	if _, err := conn.Exec(t.Context(), "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
		t.Fatal(err)
	}
	return func(end int) (heard []string) {
		t.Helper()
		last := fmt.Sprint("end ", end)
		if _, err := teller.Exec(t.Context(), "SELECT pg_notify($1, $2)", channel, last); err != nil {
			t.Fatal(err)
		}
		for {
			n, err := conn.WaitForNotification(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if n.Payload == last {
				return heard
			}
			if !strings.Contains(n.Payload, `"o":`) {
				heard = append(heard, n.Payload)
			}
		}
	}
}

// told is what notifications say, without the times of this moment.
func told(t *testing.T, payloads []string) string {
	t.Helper()
	var all []string
	for _, p := range payloads {
		var m map[string]any
		if err := json.Unmarshal([]byte(p), &m); err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		if lates, ok := m["l"].([]any); ok {
			for _, l := range lates {
				late := l.([]any)               //nolint:errcheck,forcetypeassert // what else would it be
				if late[1].(float64) > 1.1e15 { //nolint:errcheck,forcetypeassert // as above
					late[1] = "now"
				}
			}
		}
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(text))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// TestSQLEnqueueAnywhere: what the session of the caller is set to does not matter, nor what is in
// its search path.
func TestSQLEnqueueAnywhere(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	config.SchemaName = `o'dd "$$` + config.SchemaName
	s := open(t, config)
	t.Cleanup(func() { _ = config.Drop(context.Background()) })
	conn := connect(t, config.URL)
	evil := "evil_" + config.SchemaName[len(config.SchemaName)-8:]
	for _, sql := range []string{
		"CREATE SCHEMA " + evil, "SET search_path = " + evil + ", pg_catalog",
		"CREATE TABLE " + evil + ".job (id int)", "CREATE TEMP TABLE ready (id int)", "CREATE TEMP TABLE lane (id int)",
		"CREATE FUNCTION " + evil + ".check_name(text, text, boolean) RETURNS void LANGUAGE sql AS 'SELECT 1 / 0'",
		"CREATE FUNCTION " + evil + ".octet_length(text) RETURNS int LANGUAGE sql AS 'SELECT 1 / 0'",
		"SET standard_conforming_strings = off", "SET backslash_quote = off", "SET escape_string_warning = off",
		"SET TimeZone = 'Asia/Kathmandu'", "SET DateStyle = 'German'", "SET IntervalStyle = 'sql_standard'", "SET extra_float_digits = -15",
		"SET bytea_output = 'escape'", "SET client_encoding = 'LATIN1'", "SET transform_null_equals = on",
		"SET default_transaction_isolation = 'serializable'", "SET plpgsql.variable_conflict = 'use_variable'",
	} {
		if _, err := conn.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	t.Cleanup(func() {
		if admin, err := pgx.Connect(context.Background(), config.URL); err == nil {
			_, _ = admin.Exec(context.Background(), "DROP SCHEMA "+evil+" CASCADE")
			_ = admin.Close(context.Background())
		}
	})
	r := enqueued(t, conn, config.SchemaName, `'send', E'{"a":"\\u00e4\\\\"}', timeout => '1 hour',
		deadline => '2040-01-01 05:45:00', unique_by => '{args}', tags => '{a}', delay => '1 hour'`)
	record, err := s.Get(t.Context(), "", r.id)
	if err != nil || record.State != store.Scheduled || record.Options.Timeout != time.Hour ||
		!record.Options.Deadline.Equal(time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v, %v", record, err)
	}
	again := enqueued(t, conn, config.SchemaName, `'send', E'{ "a" : "\\u00e4\\u005c" }', unique_by => '{args}'`)
	if again.id != r.id || !again.existing {
		t.Errorf("%+v", again)
	}
	_, err = sqlEnqueue(t, conn, config.SchemaName, `E'a\\b\001'`)
	refusedAs(t, err, "22023", `holdfast: invalid request: kind: "a\\b\x01" contains a control character`)
	var path string
	if err := conn.QueryRow(t.Context(), "SHOW search_path").Scan(&path); err != nil || path != evil+", pg_catalog" {
		t.Errorf("the search path is %s (%v)", path, err)
	}
}

// TestSQLEnqueueNeedsRights: those of an enqueue by the library, and no more.
func TestSQLEnqueueNeedsRights(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	open(t, config)
	admin := connect(t, config.URL)
	role := "role_" + config.SchemaName
	run := func(sql string) {
		t.Helper()
		if _, err := admin.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	run("CREATE ROLE " + role + " LOGIN PASSWORD 'x'")
	t.Cleanup(func() {
		_, _ = admin.Exec(context.Background(), "DROP OWNED BY "+role+"; DROP ROLE "+role)
	})
	conn := connect(t, asRole(t, config.URL, role))
	refused := func() {
		t.Helper()
		_, err := sqlEnqueue(t, conn, config.SchemaName, `'send'`)
		refusedAs(t, err, "42501", "permission denied for ")
	}
	refused()
	run("GRANT USAGE ON SCHEMA " + config.SchemaName + " TO " + role)
	run("GRANT SELECT ON ALL TABLES IN SCHEMA " + config.SchemaName + " TO " + role)
	refused()
	enqueued(t, admin, config.SchemaName, `'send'`) // the lane is there, and the role may still not insert
	refused()
	run("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA " + config.SchemaName + " TO " + role)
	for _, params := range []string{
		`'send'`, `'new', ordering_key => 'k'`, `'send', unique_by => '{kind}'`, `'send', unique_by => '{kind}', on_conflict => 'replace'`,
		`'send', key => 'k'`, `'send', key => 'k'`,
	} {
		enqueued(t, conn, config.SchemaName, params)
	}
}

// TestSQLEnqueueNeedsUTF8: elsewhere neither limits nor keys would be those of the library.
func TestSQLEnqueueNeedsUTF8(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	admin := connect(t, config.URL)
	name := "latin_" + config.SchemaName
	if _, err := admin.Exec(t.Context(), "CREATE DATABASE "+name+" TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = admin.Exec(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)") })
	there, err := url.Parse(config.URL)
	if err != nil {
		t.Fatal(err)
	}
	there.Path = "/" + name
	config.URL = there.String()
	s := open(t, config)
	enqueue(t, s, newJob())
	_, err = sqlEnqueue(t, connect(t, config.URL), config.SchemaName, `'send'`)
	refusedAs(t, err, "0A000", "holdfast: invalid request: the encoding of the database is LATIN1 instead of UTF8")
}
