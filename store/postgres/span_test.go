package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/storetest"
)

// wantSpans looks whether each body in a schema has its span.
func wantSpans(ctx context.Context, t *testing.T, conn *pgx.Conn, config postgres.Config) {
	t.Helper()
	n := 0
	err := conn.QueryRow(ctx, strings.ReplaceAll(`SELECT count(*) FROM {schema}.job j
		WHERE NOT EXISTS (SELECT 1 FROM {schema}.lane_span s
			WHERE s.lane = j.lane AND s.bucket = ('x' || left(encode(uuid_send(j.id), 'hex'), 11))::bit(44)::bigint)`,
		"{schema}", config.SchemaName)).Scan(&n)
	if err != nil || n > 0 {
		t.Errorf("%d bodies have no span, %v", n, err)
	}
}

// TestSpansGo: spans without bodies go when their jobs are over, of lanes that are gone as well,
// and those with bodies or of the last day stay; however many there are.
func TestSpansGo(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	config := fresh(t)
	config.Clock = clock.Now
	s := open(t, config)
	conn := connect(t, config.URL)
	for _, ago := range []time.Duration{48 * time.Hour, 0} {
		q := newJob()
		ms := clock.Now().Add(-ago).UnixMilli()
		for i := range 6 {
			q.Job.ID[i] = byte(ms >> (40 - 8*i))
		}
		enqueue(t, s, q)
	}
	if _, err := conn.Exec(t.Context(), strings.ReplaceAll(`INSERT INTO {schema}.lane_span (lane, bucket)
		SELECT l.lane + more, ($1::bigint + 1000 * i) / 16 FROM (SELECT lane FROM {schema}.job LIMIT 1) l, generate_series(1, 3000) i,
		unnest(ARRAY[0, 0, 100]) more`, "{schema}", config.SchemaName), clock.Now().Add(-30*time.Hour).UnixMilli()); err != nil {
		t.Fatal(err)
	}
	// One of a lane behind very many that have only new ones, and one on which an open transaction
	// of less than a day may rely.
	if _, err := conn.Exec(t.Context(), strings.ReplaceAll(`INSERT INTO {schema}.lane_span (lane, bucket)
		SELECT 1000 + i, $1::bigint / 16 FROM generate_series(1, 600) i UNION ALL SELECT 5000, $2::bigint / 16
		UNION ALL SELECT 6000, $3::bigint / 16`, "{schema}", config.SchemaName), clock.Now().UnixMilli(),
		clock.Now().Add(-30*time.Hour).UnixMilli(), clock.Now().Add(-23*time.Hour).UnixMilli()); err != nil {
		t.Fatal(err)
	}
	for round := 0; ; round++ {
		retained, err := s.Retain(t.Context(), store.Retention{Failed: time.Hour})
		if err != nil || round > 20 {
			t.Fatal(round, err)
		}
		if !retained.More && round > 5 {
			break
		}
	}
	const spans = "SELECT count(DISTINCT (lane, bucket)) FROM %s.lane_span WHERE lane < 1000 OR lane IN (5000, 6000)"
	if n := value[int64](t, conn, fmt.Sprintf(spans, config.SchemaName)); n != 3 {
		t.Errorf("%d spans are left", n)
	}
	wantSpans(t.Context(), t, conn, config)
}

// TestSpanOfAnOpenTransaction: a body whose id is old has its span, though retention removes the
// one that was there before its transaction commits.
func TestSpanOfAnOpenTransaction(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	s := open(t, config)
	conn := connect(t, config.URL)
	q := newJob()
	ms := time.Now().Add(-48 * time.Hour).UnixMilli()
	for i := range 6 {
		q.Job.ID[i] = byte(ms >> (40 - 8*i))
	}
	enqueue(t, s, q)
	do := func(on interface {
		Exec(ctx context.Context, text string, args ...any) (pgconn.CommandTag, error)
	}, text string,
	) {
		t.Helper()
		if _, err := on.Exec(t.Context(), strings.ReplaceAll(text, "{schema}", config.SchemaName)); err != nil {
			t.Fatal(text, err)
		}
	}
	do(conn, "CREATE TABLE {schema}.mine AS SELECT * FROM {schema}.job") //nolint:unqueryvet // all that there are
	do(conn, "DELETE FROM {schema}.job")
	do(conn, "DELETE FROM {schema}.ready")
	other := connect(t, config.URL)
	tx, err := other.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	do(tx, "INSERT INTO {schema}.job SELECT * FROM {schema}.mine") //nolint:unqueryvet // as above
	for range 3 {
		if _, err := s.Retain(t.Context(), store.Retention{Completed: time.Hour}); err != nil {
			t.Fatal(err)
		}
	}
	if n := value[int64](t, conn, "SELECT count(*) FROM "+config.SchemaName+".lane_span"); n != 0 {
		t.Errorf("%d spans are there, though no body is", n)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantSpans(t.Context(), t, conn, config)
}

// TestSpansAreFew: jobs of one lane that are enqueued together, or one after the other, share a
// span, but for those that open transactions hide from each other.
func TestSpansAreFew(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	s := open(t, config)
	conn := connect(t, config.URL)
	var list []*store.Enqueue
	first := newJob()
	for i := range 1000 {
		q := newJob()
		if copy(q.Job.ID[:6], first.Job.ID[:6]); i < 500 {
			enqueue(t, s, q)
			continue
		}
		list = append(list, q)
	}
	enqueue(t, s, list...)
	if n := value[int64](t, conn, "SELECT count(*) FROM "+config.SchemaName+".lane_span"); n != 1 {
		t.Errorf("a thousand jobs of one moment have %d spans", n)
	}
}

// TestSpanIsFoundByIndex: whether there is a span is looked up, in sessions that are not ours as
// well, and though the table was small when a session saw it first.
func TestSpanIsFoundByIndex(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	s := open(t, config)
	enqueue(t, s, newJob())
	conn := connect(t, config.URL)
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	const another = `INSERT INTO {schema}.job (id, lane, run_at, created_at, lease, attempt, max_attempts, codec, args)
		SELECT gen_random_uuid(), lane, 1, 1, 0, 0, 1, 0, '' FROM {schema}.job, generate_series(1, 5) LIMIT 5`
	for _, text := range []string{
		"ANALYZE {schema}.lane_span", another,
		"INSERT INTO {schema}.lane_span (lane, bucket) SELECT 7, i FROM generate_series(1, 50000) i", another,
	} {
		if _, err := tx.Exec(t.Context(), strings.ReplaceAll(text, "{schema}", config.SchemaName)); err != nil {
			t.Fatal(text, err)
		}
	}
	var scans int64
	err = tx.QueryRow(t.Context(), "SELECT pg_stat_get_xact_numscans($1::text::regclass)", config.SchemaName+".lane_span").Scan(&scans)
	if err != nil || scans != 0 {
		t.Errorf("all spans were read %d times, %v", scans, err)
	}
}
