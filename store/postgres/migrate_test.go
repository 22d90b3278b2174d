package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest"
)

// TestMigrateFromVersion1: a database of the version before, with a day of its own and jobs in
// several places, is brought up to date.
func TestMigrateFromVersion1(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	conn := connect(t, config.URL)
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	exec(config.Migrations()[0].SQL)
	ready, later := uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7())
	day := time.Now().UTC().Truncate(24 * time.Hour)
	bound := func(at time.Time) string {
		var id uuid.UUID
		for i := range 6 {
			id[i] = byte(at.UnixMilli() >> (40 - 8*i))
		}
		return id.String()
	}
	schema := config.SchemaName
	for _, table := range []string{"job", "finished", "attempt"} {
		exec("CREATE TABLE " + schema + "." + table + day.Format("_20060102") + " PARTITION OF " + schema + "." + table +
			" FOR VALUES FROM ('" + bound(day) + "') TO ('" + bound(day.Add(24*time.Hour)) + "')")
	}
	exec("INSERT INTO " + schema + ".queue (namespace, name, created_at) VALUES ('default', 'mail', 1)")
	exec("INSERT INTO " + schema + ".lane (queue, kind, priority) VALUES (1, 'send', 2)")
	for id, due := range map[store.ID]int64{ready: 1, later: time.Now().Add(time.Hour).UnixMicro()} {
		exec("INSERT INTO "+schema+".job (id, run_at, created_at, lease, lane, attempt, max_attempts, codec, args) "+
			"VALUES ($1, $2, 1, 0, 1, 0, 3, 0, '{}')", id, due)
	}
	exec("INSERT INTO "+schema+".ready (lane, run_at, id) VALUES (1, 1, $1)", ready)
	exec("INSERT INTO "+schema+".deferred (due, id, lane, state) SELECT run_at, id, 1, 1 FROM "+schema+".job WHERE id = $1", later)

	s := open(t, config)
	if got := tablesOf(t, conn, schema, day); got != "attempt"+day.Format("_20060102")+" finished"+day.Format("_20060102")+
		" inbox"+day.Format("_20060102")+" job"+day.Format("_20060102")+" journal"+day.Format("_20060102") {
		t.Fatalf("the tables of the day are %q", got)
	}
	wantState(t, s, later, store.Scheduled)
	runs, err := s.Claim(t.Context(), demand(join(t, s), 1, 10))
	if err != nil || len(runs) != 1 || runs[0].Job.ID != ready || runs[0].Durable || runs[0].Job.Parent != (store.ID{}) {
		t.Fatalf("claimed %+v, %v", runs, err)
	}
	w := &store.Append{Lease: runs[0].Lease, Entries: []store.Entry{step(1)}}
	o := parked(runs[0], store.Wait{Until: time.Now().Add(time.Hour)})
	err = store.ApplyEach(t.Context(), s, &store.Batch{Appends: []*store.Append{w}, Outcomes: []*store.Outcome{o}})
	if err = errors.Join(err, w.Err, o.Err); err != nil {
		t.Fatal(err)
	}
	if n := value[int](t, conn, "SELECT count(*) FROM "+schema+".journal"+day.Format("_20060102")); n != 1 {
		t.Fatalf("%d entries are in the partition of the day", n)
	}
}

// TestMigrateFromVersion5: a job that has continued as new before remembers what it did since, and
// keeps what it says from now on.
func TestMigrateFromVersion5(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	conn := connect(t, config.URL)
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	for _, step := range config.Migrations()[:5] {
		exec(step.SQL)
	}
	job := uuid.Must(uuid.NewV7())
	schema := config.SchemaName
	exec("INSERT INTO " + schema + ".queue (namespace, name, created_at) VALUES ('default', 'mail', 1)")
	exec("INSERT INTO " + schema + ".lane (queue, kind, priority, used_on) VALUES (1, 'send', 2, 1)")
	exec("INSERT INTO "+schema+".job (id, run_at, created_at, lease, lane, attempt, max_attempts, codec, args, remembers) "+
		"VALUES ($1, 1, 1, 1, 1, 0, 3, 0, '{}', true)", job)
	exec("INSERT INTO "+schema+".ready (lane, run_at, id) VALUES (1, 1, $1)", job)
	exec("INSERT INTO "+schema+".journal (id, seq, at, lease, codec, kind, path, name) VALUES "+
		"($1, 5, 1, 1, 0, 16, '', NULL), ($1, 6, 1, 1, 0, 13, '1', 'log'), ($1, 7, 1, 1, 0, 1, '2', 'charge')", job)

	s := open(t, config)
	node := join(t, s)
	// It remembers what it did since it continued, and after that what comes then.
	for round, remembered := range []int{3, 1} {
		runs, err := s.Claim(t.Context(), demand(node, int64(10*round+1), 10))
		if err != nil || len(runs) != 1 || !runs[0].Durable {
			t.Fatalf("claimed %+v, %v", runs, err)
		}
		journals, err := s.Journals(t.Context(), "", []store.ID{job})
		if err != nil || len(journals[0].Entries) != remembered || journals[0].Entries[0].Kind != store.EntryContinued {
			t.Fatalf("round %d: %+v, %v", round, journals, err)
		}
		item := store.Entry{Seq: journals[0].LastSeq() + 1, Kind: store.EntryStreamed, Path: "3", Name: "log"}
		o := &store.Outcome{Lease: runs[0].Lease, State: store.Available, Durable: true, Continue: &store.Continue{}}
		err = store.ApplyEach(t.Context(), s, &store.Batch{
			Appends:  []*store.Append{{Lease: runs[0].Lease, Entries: []store.Entry{item}}},
			Outcomes: []*store.Outcome{o},
		})
		if err != nil || o.Err != nil {
			t.Fatal(err, o.Err)
		}
	}
	items, err := s.Entries(t.Context(), store.JournalParams{
		Job: job, Kinds: []store.EntryKind{store.EntryStreamed}, Name: "log", Earlier: true, Limit: 10,
	})
	if err != nil || len(items) != 3 || items[0].Seq != 6 || items[1].Seq != 8 || items[2].Seq != 10 {
		t.Fatalf("%+v, %v", items, err)
	}
}

// TestMigrationThatFails: the error says which one it is, and what was before it stays.
func TestMigrationThatFails(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	conn := connect(t, config.URL)
	for _, step := range config.Migrations()[:10] {
		if _, err := conn.Exec(t.Context(), step.SQL); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Exec(t.Context(), "CREATE TABLE "+config.SchemaName+".job_key (mine int)"); err != nil {
		t.Fatal(err)
	}
	_, err := config.Migrate(t.Context())
	if err == nil || !strings.Contains(err.Error(), `migration 11 (keys): `) ||
		!strings.Contains(err.Error(), `relation "job_key" already exists`) {
		t.Errorf("%v", err)
	}
	if schema, err := config.Schema(t.Context()); err != nil || schema.Version != 10 {
		t.Errorf("%+v, %v", schema, err)
	}
}

// undo makes a schema one that the migrations up to a version have made, the latest first.
var undo = []struct {
	to    int
	texts []string
}{
	{51, []string{
		"DROP INDEX {schema}.schedule_due",
		"CREATE INDEX schedule_due ON {schema}.schedule (next_at) WHERE next_at IS NOT NULL AND paused_at IS NULL",
	}},
	{50, nil},
	{49, nil},
	{48, []string{
		"DROP TRIGGER audit_of ON {schema}.audit", "DROP FUNCTION {schema}.audit_of",
		"DROP INDEX {schema}.audit_at",
		"ALTER TABLE {schema}.audit DROP COLUMN namespace, DROP COLUMN kind, DROP COLUMN name, DROP COLUMN before, DROP COLUMN after",
	}},
	{47, []string{"DROP TABLE {schema}.endpoint"}},
	{46, []string{
		"DROP TABLE {schema}.request",
	}},
	{45, []string{"DROP TABLE {schema}.api_key, {schema}.namespace"}},
	//nolint:dupword // parameters of one type
	{44, []string{ // and any function enqueue of the same parameters, which is replaced
		"DROP FUNCTION {schema}.enqueue",
		"CREATE FUNCTION {schema}.enqueue(text, anycompatible, text, text, int, timestamptz, interval, int, interval, timestamptz, " +
			"interval, interval, text[], anycompatible, text, text[], text[], interval, text, text[], text, uuid, text, interval) " +
			"RETURNS void LANGUAGE sql AS 'SELECT'",
		"DROP FUNCTION {schema}.check_header, {schema}.options_with_trace", "ALTER TABLE {schema}.inbox DROP COLUMN trace",
	}},
	{43, []string{
		"DROP TRIGGER span_of_new ON {schema}.job", "DROP TRIGGER span_of_moved ON {schema}.job", "DROP TABLE {schema}.lane_span",
		"DROP FUNCTION {schema}.span_of_new(), {schema}.span_of_moved()", "DELETE FROM {schema}.meta WHERE name = 'spans_from'",
	}},
	{42, []string{"ALTER TABLE {schema}.feed_raw ALTER COLUMN ids SET STORAGE EXTERNAL, ALTER COLUMN ids SET COMPRESSION default"}},
	{41, []string{"DROP TABLE {schema}.attribute_value", "DROP TABLE {schema}.attribute"}},
	{40, []string{"DROP TABLE {schema}.descriptor"}},
	{39, []string{"DROP TABLE {schema}.node_build, {schema}.stub", "ALTER TABLE {schema}.removed DROP COLUMN stubs"}},
	{38, []string{"DROP TABLE {schema}.retention_class, {schema}.removed"}},
	{37, []string{"DROP TABLE {schema}.fact"}},
	{36, []string{"ALTER TABLE {schema}.migration DROP COLUMN serves"}},
	{35, []string{"DROP INDEX {schema}.finished_dead"}},
	{34, []string{
		"DROP TABLE {schema}.feed, {schema}.feed_raw, {schema}.feed_order",
		"DROP FUNCTION {schema}.feed_available, {schema}.feed_deferred, {schema}.feed_claimed, {schema}.feed_finished",
	}},
	{33, []string{"DROP TABLE {schema}.job_log"}},
	{32, []string{"DROP INDEX {schema}.edge_check_predecessor"}},
	{31, []string{"ALTER TABLE {schema}.node DROP COLUMN ended"}},
	{30, []string{"DROP INDEX {schema}.job_limit_key"}},
	{29, []string{
		"ALTER TABLE {schema}.gated DROP CONSTRAINT gated_pkey", "ALTER TABLE {schema}.gated ADD PRIMARY KEY (gate, priority, run_at, id)",
	}},
	{28, []string{"DROP TABLE {schema}.key_rate", "ALTER TABLE {schema}.limit_rule DROP COLUMN key_period, DROP COLUMN key_burst"}},
	{27, []string{
		"ALTER TABLE {schema}.limit_rule DROP COLUMN unit", "ALTER TABLE {schema}.limit_grant DROP COLUMN want, DROP COLUMN want_at",
	}},
	{26, []string{"DROP TABLE {schema}.batch_retried", "ALTER TABLE {schema}.batch ADD COLUMN waited boolean NOT NULL DEFAULT false"}},
	{25, []string{"DROP TABLE {schema}.batch"}},
	{24, []string{"ALTER TABLE {schema}.queue DROP COLUMN attempts"}},
	{23, []string{
		"ALTER TABLE {schema}.limit_rule DROP COLUMN period, DROP COLUMN burst, DROP COLUMN tat, DROP COLUMN seen, DROP COLUMN move, " +
			"DROP COLUMN drained_until, RESET (fillfactor)",
	}},
	{22, []string{"DROP TABLE {schema}.gated, {schema}.gate_check, {schema}.gate_sweep", "ALTER TABLE {schema}.claim DROP COLUMN gates"}},
	{21, []string{"ALTER TABLE {schema}.queue DROP COLUMN rest_until, DROP COLUMN rest_level"}},
	{20, []string{"DROP TABLE {schema}.edge, {schema}.edge_check"}},
	{19, []string{
		"ALTER TABLE {schema}.node DROP COLUMN mode, DROP COLUMN mode_at, DROP COLUMN mode_by, DROP COLUMN unwell",
		"ALTER TABLE {schema}.audit DROP COLUMN node",
	}},
	{18, []string{"DROP TABLE {schema}.limit_rule, {schema}.limit_grant"}},
	{17, []string{
		"DROP INDEX {schema}.finished_times",
		"CREATE INDEX finished_times ON {schema}.finished USING brin (finished_at) WITH (pages_per_range = 32, autosummarize = on)",
	}},
	{16, []string{"DROP TABLE {schema}.schedule, {schema}.schedule_run"}},
	{15, []string{"DROP INDEX {schema}.untold_parent", "CREATE INDEX untold_seq ON {schema}.untold (seq)"}},
	//nolint:dupword // parameters of one type
	{14, []string{ // and any function enqueue of the same parameters, which is replaced
		"DROP FUNCTION {schema}.enqueue",
		"CREATE FUNCTION {schema}.enqueue(text, anycompatible, text, text, int, timestamptz, interval, int, interval, timestamptz, " +
			"interval, interval, text[], anycompatible, text, text[], text[], interval, text, text[], text, uuid) " +
			"RETURNS void LANGUAGE sql AS 'SELECT'",
		"DROP FUNCTION {schema}.check_key, {schema}.kept_for, {schema}.options_with_key, {schema}.hash_of_args, " +
			"{schema}.take_business_key, {schema}.leave_business_key",
	}},
	{13, []string{
		"DROP INDEX {schema}.finished_by_time, {schema}.finished_times, {schema}.attempt_lost, {schema}.deferred_lane",
		"ALTER TABLE {schema}.finished DROP COLUMN lane", "ALTER TABLE {schema}.attempt DROP COLUMN lost",
		"ALTER TABLE {schema}.audit DROP COLUMN gone", "CREATE INDEX deferred_lane ON {schema}.deferred (lane, state)",
	}},
	{12, []string{"DROP TABLE {schema}.meta"}},
	{11, []string{"DROP TABLE {schema}.job_update"}},
	{10, []string{"DROP TABLE {schema}.job_key, {schema}.key_sent"}},
	{9, []string{"ALTER TABLE {schema}.deferred DROP COLUMN handed_over", "DROP TABLE {schema}.untold"}},
	{8, []string{"DROP TABLE {schema}.lane_use", dropFunctionsBut("clock", "refuse")}},
	{7, []string{"ALTER TABLE {schema}.queue DROP COLUMN deleted_at"}},
	{6, []string{
		"ALTER TABLE {schema}.finished DROP COLUMN started_at, DROP COLUMN codec, DROP COLUMN fingerprint",
		"ALTER TABLE {schema}.journal DROP COLUMN took",
	}},
}

// TestMigrateFromVersion6 migrates a database that has jobs in every state.
func TestMigrateFromVersion6(t *testing.T) { migrateFrom(t, 6) }

func TestMigrateFromVersion7(t *testing.T) { migrateFrom(t, 7) }

func TestMigrateFromVersion10(t *testing.T) { migrateFrom(t, 10) }

func TestMigrateFromVersion12(t *testing.T) { migrateFrom(t, 12) }

func TestMigrateFromVersion13(t *testing.T) { migrateFrom(t, 13) }

func TestMigrateFromVersion14(t *testing.T) { migrateFrom(t, 14) }

func TestMigrateFromVersion15(t *testing.T) { migrateFrom(t, 15) }

func TestMigrateFromVersion17(t *testing.T) { migrateFrom(t, 17) }

func TestMigrateFromVersion18(t *testing.T) { migrateFrom(t, 18) }

func TestMigrateFromVersion34(t *testing.T) { migrateFrom(t, 34) }
func TestMigrateFromVersion36(t *testing.T) { migrateFrom(t, 36) }

func TestMigrateFromVersion37(t *testing.T) { migrateFrom(t, 37) }

func TestMigrateFromVersion38(t *testing.T) { migrateFrom(t, 38) }

func TestMigrateFromVersion39(t *testing.T) { migrateFrom(t, 39) }

func TestMigrateFromVersion40(t *testing.T) { migrateFrom(t, 40) }

func TestMigrateFromVersion41(t *testing.T) { migrateFrom(t, 41) }

func TestMigrateFromVersion42(t *testing.T) { migrateFrom(t, 42) }

func TestMigrateFromVersion43(t *testing.T) { migrateFrom(t, 43) }

func TestMigrateFromVersion44(t *testing.T) { migrateFrom(t, 44) }

func TestMigrateFromVersion45(t *testing.T) { migrateFrom(t, 45) }

func TestMigrateFromVersion46(t *testing.T) { migrateFrom(t, 46) }

func TestMigrateFromVersion47(t *testing.T) { migrateFrom(t, 47) }

// TestTimesOfEveryDay: the partitions of days, those that were there before migration 18 and those
// that come later, have the index of times that it makes.
func TestTimesOfEveryDay(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	conn := connect(t, config.URL)
	for _, step := range config.Migrations()[:17] {
		if _, err := conn.Exec(t.Context(), step.SQL); err != nil {
			t.Fatal(err)
		}
	}
	made := func(day string) {
		t.Helper()
		_, err := conn.Exec(t.Context(), strings.ReplaceAll("CREATE TABLE {schema}.finished_"+day+" PARTITION OF {schema}.finished "+
			"FOR VALUES FROM ('"+day+"-0000-7000-8000-000000000000') TO ('"+day+"-ffff-7fff-bfff-ffffffffffff')", "{schema}", config.SchemaName))
		if err != nil {
			t.Fatal(err)
		}
	}
	made("01900000")
	if _, err := config.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	made("01900001")
	rows, err := conn.Query(t.Context(), `SELECT t.relname || ' ' || array_to_string(i.reloptions, ' ')
		FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid JOIN pg_am a ON a.oid = i.relam
		WHERE a.amname = 'brin' AND t.relnamespace = $1::regnamespace ORDER BY 1`, config.SchemaName)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, table := range []string{"finished", "finished_01900000", "finished_01900001", "finished_default"} {
		want = append(want, table+" pages_per_range=128 autosummarize=on")
	}
	if !slices.Equal(got, want) {
		t.Errorf("the indexes are %q, want %q", got, want)
	}
}

func migrateFrom(t *testing.T, version int) {
	t.Helper()
	t.Parallel()
	config := fresh(t)
	storetest.Upgrade(t, func(t *testing.T, clock *storetest.Clock) store.Store {
		config.Clock = clock.Now
		return open(t, config)
	}, func(t *testing.T, s store.Store) store.Store {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		conn := connect(t, config.URL)
		texts := []string{fmt.Sprint("DELETE FROM {schema}.migration WHERE version > ", version)}
		for _, step := range undo {
			if step.to >= version {
				texts = append(texts, step.texts...)
			}
		}
		for _, text := range texts {
			if _, err := conn.Exec(t.Context(), strings.ReplaceAll(text, "{schema}", config.SchemaName)); err != nil {
				t.Fatal(text, err)
			}
		}
		return open(t, config)
	})
}

// dropFunctionsBut drops the functions of a schema that were not always there.
func dropFunctionsBut(kept ...string) string {
	return "DO $$ DECLARE f text; BEGIN FOR f IN SELECT oid::regprocedure::text FROM pg_proc WHERE pronamespace = '{schema}'::regnamespace" +
		" AND proname <> ALL ('{" + strings.Join(kept, ",") + "}') LOOP EXECUTE 'DROP FUNCTION ' || f; END LOOP; END $$"
}

// TestLaterSchemaThatServes: a later version of the schema is opened if every step that the program
// does not know serves it, and refused otherwise.
func TestLaterSchemaThatServes(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	open(t, config)
	c, err := pgx.Connect(t.Context(), config.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	latest := len(config.Migrations())
	for _, step := range []struct {
		serves string
		fits   bool
	}{{strconv.Itoa(latest - 1), true}, {strconv.Itoa(latest), true}, {"NULL", false}} {
		latest++
		insert := fmt.Sprintf("INSERT INTO %s.migration (version, name, applied_at, serves) VALUES (%d, 'later', 0, %s)",
			config.SchemaName, latest, step.serves)
		if _, err := c.Exec(t.Context(), insert); err != nil {
			t.Fatal(err)
		}
		for _, noMigrate := range []bool{false, true} {
			config.NoMigrate = noMigrate
			s, err := config.Open(t.Context())
			if err == nil {
				_ = s.Close()
			}
			if fits := err == nil; fits != step.fits || err != nil && !errors.Is(err, store.ErrSchema) {
				t.Errorf("a step that serves %s: error %v", step.serves, err)
			}
		}
		schema, err := config.Schema(t.Context())
		if err != nil || schema.Version != latest || schema.IsServed() != step.fits {
			t.Errorf("a step that serves %s: %+v, error %v", step.serves, schema, err)
		}
	}
}
