package sqlite_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
	"github.com/holdfastdev/holdfast/store/storetest"
)

// row is a statement that writes what an older program has stored.
type row struct {
	text string
	args []any
}

// stored returns the source of a file with the first migrations and some rows.
func stored(t *testing.T, version int, rows []row) sqlite.Config {
	t.Helper()
	source := sqlite.File(file(t))
	db, err := sql.Open("sqlite", source.Path)
	if err != nil {
		t.Fatal(err)
	}
	var all []row
	for _, step := range source.Migrations()[:version] {
		all = append(all, row{text: step.SQL})
	}
	for _, r := range append(all, rows...) {
		if _, err := db.ExecContext(t.Context(), r.text, r.args...); err != nil {
			t.Fatal(r.text, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return source
}

// TestUpgrade: what the first version stored is all there, and goes on.
func TestUpgrade(t *testing.T) {
	ctx := t.Context()
	available, retryable, failed := uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7())
	s := open(t, stored(t, 1, []row{
		{text: "INSERT INTO holdfast_queue (id, namespace, name, created_at) VALUES (1, 'default', 'mail', 1)"},
		{text: "INSERT INTO holdfast_lane (id, queue, kind, priority) VALUES (1, 1, 'send', 2)"},
		{
			text: `INSERT INTO holdfast_job (id, lane, run_at, created_at, lease, attempt, max_attempts, codec, options, args)
				VALUES (?, 1, 10, 1, 0, 0, 3, 0, '{"parent":"p"}', '{}'), (?, 1, 20, 1, 1, 1, 3, 0, NULL, '{}'), (?, 1, 30, 1, 1, 1, 3, 0, NULL, '{}')`,
			args: []any{available[:], retryable[:], failed[:]},
		},
		{text: "INSERT INTO holdfast_ready (lane, run_at, id) VALUES (1, 10, ?)", args: []any{available[:]}},
		{text: "INSERT INTO holdfast_deferred (due, id, lane, state) VALUES (20, ?, 1, 4)", args: []any{retryable[:]}},
		{
			text: `INSERT INTO holdfast_finished (id, state, finished_at, lease, node, claimed_at, reason, error)
				VALUES (?, 7, 9, 2, 1, 8, 'error', 'no')`,
			args: []any{failed[:]},
		},
		{
			text: `INSERT INTO holdfast_attempt (id, lease, attempt, node, claimed_at, ended_at, outcome, taken, reason, error)
				VALUES (?, 1, 1, 1, 5, 6, 4, 0, 'error', 'oh'), (?, 2, 2, 1, 8, 9, 7, 0, 'error', 'no')`,
			args: []any{retryable[:], failed[:]},
		},
	}))
	for _, want := range []store.Record{
		{Job: store.Job{ID: available}, State: store.Available},
		{Job: store.Job{ID: retryable, Attempt: 1, LeaseNumber: 1}, State: store.Retryable, Error: "oh", ClaimedAt: time.UnixMicro(5)},
		{Job: store.Job{ID: failed, Attempt: 2, LeaseNumber: 2}, State: store.Failed, Error: "no", ClaimedAt: time.UnixMicro(8)},
	} {
		got, err := s.Get(ctx, "", want.ID)
		if err != nil || got.State != want.State || got.Error != want.Error || got.Attempt != want.Attempt ||
			got.LeaseNumber != want.LeaseNumber || !got.ClaimedAt.Equal(want.ClaimedAt) || got.Queue != "mail" || got.Kind != "send" {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if _, _, err := s.Retry(ctx, store.RetryParams{Jobs: []store.ID{failed}}); err != nil {
		t.Fatal(err)
	}
	if promoted, err := s.Promote(ctx, 10); err != nil || promoted.Jobs != 1 {
		t.Fatalf("promoted %+v, %v", promoted, err)
	}
	claimed, err := claim(ctx, s, join(t, s), 1, 10)
	if err != nil || len(claimed) != 3 {
		t.Fatalf("claimed %d jobs, %v", len(claimed), err)
	}
	for _, c := range claimed {
		if c.Durable || c.Job.Parent != uuid.Nil || c.Job.Answers || c.Job.Closing {
			t.Errorf("claimed %+v", c)
		}
	}
}

// TestUpgradeFrom3: lanes and queues keep their ids and are in use, failed jobs know their lanes,
// what people did to jobs that are gone is on its own, and a node that promised nothing is rescued.
func TestUpgradeFrom3(t *testing.T) {
	ctx := t.Context()
	available, running, failed, gone := uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7())
	source := stored(t, 3, []row{
		{text: `INSERT INTO holdfast_queue (id, namespace, name, created_at, paused_at, paused_by)
			VALUES (3, 'default', 'mail', 1, NULL, NULL), (7, 'default', 'held', 1, 5, 'ada'), (8, 'default', 'unused', 1, NULL, NULL)`},
		{text: "INSERT INTO holdfast_lane (id, queue, kind, priority) VALUES (4, 3, 'send', 2), (9, 8, 'send', 2)"},
		{
			text: `INSERT INTO holdfast_job (id, lane, run_at, created_at, lease, attempt, max_attempts, codec, args)
				VALUES (?, 4, 10, 1, 0, 0, 0, 0, '{}'), (?, 4, 20, 1, 0, 0, 0, 0, '{}'), (?, 4, 30, 1, 1, 1, 3, 0, '{}')`,
			args: []any{available[:], running[:], failed[:]},
		},
		{text: "INSERT INTO holdfast_ready (lane, run_at, id) VALUES (4, 10, ?)", args: []any{available[:]}},
		{text: `INSERT INTO holdfast_node (id, name, version, started_at, beat_at, last_seq, info)
			VALUES (2, 'old', '', 1, 5, 1, '{"name":"old","version":"","slots":1}')`},
		{text: "INSERT INTO holdfast_leader (name, node, epoch, expires_at) VALUES ('maintenance', 2, 6, 5)"},
		{
			text: "INSERT INTO holdfast_claim (node, seq, claimed_at, done, all_slots, ids) VALUES (2, 1, 5, 0, 1, ?)",
			args: []any{running[:]},
		},
		{
			text: `INSERT INTO holdfast_finished (id, state, finished_at, lease, node, claimed_at, reason, error)
				VALUES (?, 7, 9, 2, 1, 8, 'error', 'no')`,
			args: []any{failed[:]},
		},
		{
			text: `INSERT INTO holdfast_audit (at, actor, action, job, queue)
				VALUES (1, 'ada', 'retry', ?, NULL), (2, 'ada', 'cancel', ?, NULL), (3, 'ada', 'pause', NULL, 7)`,
			args: []any{failed[:], gone[:]},
		},
	})
	s := open(t, source)
	node, err := s.Join(ctx, store.NodeInfo{})
	if err != nil {
		t.Fatal(err)
	}
	beat, err := s.Beat(ctx, store.BeatParams{Node: node, LeaderTTL: time.Minute, Lead: true})
	if err != nil || !beat.Leader || beat.Epoch != 7 || len(beat.Nodes) != 1 {
		t.Fatalf("%+v, %v", beat, err)
	}
	rescued, err := s.Rescue(ctx, store.RescueParams{Dead: beat.Nodes})
	if err != nil || len(rescued.Jobs) != 1 || rescued.Jobs[0].Job != running || rescued.Jobs[0].State != store.Retryable {
		t.Fatalf("rescued %+v, %v", rescued.Jobs, err)
	}
	keep := store.Retention{Completed: time.Hour, Audit: time.Hour}
	if _, err := s.Retain(ctx, keep); err != nil {
		t.Fatal(err)
	}
	queues, err := s.Queues(ctx, "default")
	if err != nil || len(queues) != 3 || queues[0].PausedBy != "ada" {
		t.Errorf("%+v, %v", queues, err)
	}
	record, err := s.Get(ctx, "", failed)
	if err != nil || record.Queue != "mail" || record.Kind != "send" || len(record.Actions) != 1 {
		t.Errorf("%+v, %v", record, err)
	}
	db := database(t, source.Path)
	for query, want := range map[string]int{
		"SELECT lane FROM holdfast_finished":                         4,
		"SELECT count(*) FROM holdfast_audit":                        1, // that of the failed job
		"SELECT count(*) FROM holdfast_lane WHERE used_on < 20000":   0,
		"SELECT count(*) FROM holdfast_queue WHERE id IN (3, 7, 8)":  3,
		"SELECT version FROM holdfast_migration ORDER BY 1 DESC":     len(source.Migrations()),
		"SELECT seq FROM sqlite_sequence WHERE name='holdfast_lane'": 9,
	} {
		var n int
		if err := db.QueryRowContext(ctx, query).Scan(&n); err != nil || n != want {
			t.Errorf("%s: %d, %v", query, n, err)
		}
	}
	// Years later nobody has used what nobody uses.
	source.Clock = func() time.Time { return time.Now().Add(1000 * 24 * time.Hour) }
	later := open(t, source)
	if _, err := later.Retain(ctx, keep); err != nil {
		t.Fatal(err)
	}
	if queues, err = later.Queues(ctx, "default"); err != nil || len(queues) != 2 {
		t.Errorf("%+v, %v", queues, err)
	}
}

// TestUpgradeFrom5: what a job had forgotten goes on being removed, but for the items of streams
// that are still there.
func TestUpgradeFrom5(t *testing.T) {
	ctx := t.Context()
	job := uuid.Must(uuid.NewV7())
	const entry = "INSERT INTO holdfast_journal (id, seq, at, lease, kind, name, codec) VALUES (?, ?, 1, 1, ?, ?, 0)"
	rows := []row{
		{text: "INSERT INTO holdfast_queue (id, namespace, name, created_at) VALUES (1, 'default', 'mail', 1)"},
		{text: "INSERT INTO holdfast_lane (id, queue, kind, priority) VALUES (1, 1, 'send', 2)"},
		{
			text: `INSERT INTO holdfast_job (id, lane, run_at, created_at, lease, attempt, max_attempts, codec, args)
				VALUES (?, 1, 10, 1, 1, 0, 3, 0, '{}')`,
			args: []any{job[:]},
		},
		{text: "INSERT INTO holdfast_ready (lane, run_at, id) VALUES (1, 10, ?)", args: []any{job[:]}},
		{text: "INSERT INTO holdfast_leftover (id, due) VALUES (?, 1)", args: []any{job[:]}},
	}
	for seq, e := range map[int64]store.Entry{
		5: {Kind: store.EntryStep, Name: "s"}, 6: {Kind: store.EntryStreamed, Name: "a"}, 7: {Kind: store.EntryPublished, Name: "k"},
		8: {Kind: store.EntryPublished, Name: "k"}, 9: {Kind: store.EntryContinued}, 10: {Kind: store.EntryStreamed, Name: "a"},
	} {
		rows = append(rows, row{text: entry, args: []any{job[:], seq, int64(e.Kind), e.Name}})
	}
	s := open(t, stored(t, 5, rows))
	for range 2 {
		entries, err := s.Entries(ctx, store.JournalParams{Job: job, Kinds: []store.EntryKind{store.EntryStreamed}, Earlier: true, Limit: 10})
		if err != nil || len(entries) != 2 || entries[0].Seq != 6 || entries[1].Seq != 10 {
			t.Errorf("%+v, %v", entries, err)
		}
		journals, err := s.Journals(ctx, "", []store.ID{job})
		if err != nil || len(journals[0].Entries) != 2 {
			t.Errorf("%+v, %v", journals, err)
		}
		if retained, err := s.Retain(ctx, store.Retention{}); err != nil || retained.More {
			t.Fatal(retained, err)
		}
	}
	all, err := s.Entries(ctx, store.JournalParams{Job: job, Earlier: true, Limit: 10})
	if err != nil || len(all) != 4 || all[1].Seq != 8 {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestMigrationThatFails: the error says which one it is, and what was before it stays.
func TestMigrationThatFails(t *testing.T) {
	source := stored(t, 10, []row{{text: "CREATE TABLE holdfast_job_key (mine INTEGER)"}})
	_, err := source.Migrate(t.Context())
	if err == nil || !strings.Contains(err.Error(), `migration 11 (keys): `) ||
		!strings.Contains(err.Error(), "holdfast_job_key already exists") {
		t.Errorf("%v", err)
	}
	if schema, err := source.Schema(t.Context()); err != nil || schema.Version != 10 {
		t.Errorf("%+v, %v", schema, err)
	}
}

// undo makes a database one that the migrations up to a version have made, the latest first.
var undo = []struct {
	to    int
	texts []string
}{
	{51, []string{
		"DROP INDEX holdfast_schedule_due",
		"CREATE INDEX holdfast_schedule_due ON holdfast_schedule (next_at) WHERE next_at IS NOT NULL AND paused_at IS NULL",
	}},
	{50, nil},
	{49, nil},
	{48, []string{
		"DROP TRIGGER holdfast_audit_of_job", "DROP TRIGGER holdfast_audit_of_queue", "DROP TRIGGER holdfast_audit_of_node",
		"DROP INDEX holdfast_audit_at", "DROP INDEX holdfast_audit_namespace", "DROP INDEX holdfast_audit_target",
		"ALTER TABLE holdfast_audit DROP COLUMN namespace", "ALTER TABLE holdfast_audit DROP COLUMN kind",
		"ALTER TABLE holdfast_audit DROP COLUMN name", "ALTER TABLE holdfast_audit DROP COLUMN before",
		"ALTER TABLE holdfast_audit DROP COLUMN after",
	}},
	{47, []string{"DROP TABLE holdfast_endpoint"}},
	{46, []string{
		"DROP TABLE holdfast_request",
	}},
	{45, []string{"DROP TABLE holdfast_api_key", "DROP TABLE holdfast_namespace"}},
	{44, []string{"ALTER TABLE holdfast_inbox DROP COLUMN trace"}},
	{43, []string{
		"DROP TRIGGER holdfast_job_span", "DROP TRIGGER holdfast_job_span_moved", "DROP TABLE holdfast_lane_span",
		"DELETE FROM holdfast_meta WHERE name = 'spans_from'",
	}},
	{42, nil},
	{41, []string{"DROP TABLE holdfast_attribute_value", "DROP TABLE holdfast_attribute"}},
	{40, []string{"DROP TABLE holdfast_descriptor"}},
	{39, []string{"DROP TABLE holdfast_node_build", "DROP TABLE holdfast_stub", "ALTER TABLE holdfast_removed DROP COLUMN stubs"}},
	{38, []string{"DROP TABLE holdfast_retention_class", "DROP TABLE holdfast_removed"}},
	{37, []string{"DROP TABLE holdfast_fact"}},
	{36, []string{"ALTER TABLE holdfast_migration DROP COLUMN serves"}},
	{35, []string{"DROP INDEX holdfast_finished_dead"}},
	{34, []string{"DROP TABLE holdfast_feed"}},
	{33, []string{"DROP TABLE holdfast_job_log"}},
	{32, nil},
	{31, []string{"ALTER TABLE holdfast_node DROP COLUMN ended"}},
	{30, []string{"DROP INDEX holdfast_job_limit_key"}},
	{29, []string{
		"DROP TABLE holdfast_gate_sweep", "DROP TABLE holdfast_gated",
		"CREATE TABLE holdfast_gated (gate INTEGER NOT NULL, priority INTEGER NOT NULL, run_at INTEGER NOT NULL, id BLOB NOT NULL, " +
			"lane INTEGER NOT NULL, PRIMARY KEY (gate, priority, run_at, id)) WITHOUT ROWID",
		"CREATE INDEX holdfast_gated_lane ON holdfast_gated (lane, run_at, id)",
	}},
	{28, []string{
		"DROP TABLE holdfast_key_rate", "ALTER TABLE holdfast_limit_rule DROP COLUMN key_period",
		"ALTER TABLE holdfast_limit_rule DROP COLUMN key_burst",
	}},
	{27, []string{
		"ALTER TABLE holdfast_limit_rule DROP COLUMN unit",
		"ALTER TABLE holdfast_limit_grant DROP COLUMN want", "ALTER TABLE holdfast_limit_grant DROP COLUMN want_at",
	}},
	{26, []string{"DROP TABLE holdfast_batch_retried", "ALTER TABLE holdfast_batch ADD COLUMN waited INTEGER NOT NULL DEFAULT 0"}},
	{25, []string{"DROP TABLE holdfast_batch"}},
	{24, []string{"DROP INDEX holdfast_queue_attempts", "ALTER TABLE holdfast_queue DROP COLUMN attempts"}},
	{23, []string{
		"ALTER TABLE holdfast_limit_rule DROP COLUMN period", "ALTER TABLE holdfast_limit_rule DROP COLUMN burst",
		"ALTER TABLE holdfast_limit_rule DROP COLUMN tat", "ALTER TABLE holdfast_limit_rule DROP COLUMN seen",
		"ALTER TABLE holdfast_limit_rule DROP COLUMN move", "ALTER TABLE holdfast_limit_rule DROP COLUMN drained_until",
	}},
	{22, []string{
		"DROP TABLE holdfast_gated", "DROP INDEX holdfast_claim_gates", "ALTER TABLE holdfast_claim DROP COLUMN gates",
	}},
	{21, []string{
		"DROP INDEX holdfast_queue_halted", "ALTER TABLE holdfast_queue DROP COLUMN rest_until",
		"ALTER TABLE holdfast_queue DROP COLUMN rest_level",
		"CREATE INDEX holdfast_queue_paused ON holdfast_queue (id) WHERE paused_at IS NOT NULL",
	}},
	{20, []string{"DROP TABLE holdfast_edge", "DROP TABLE holdfast_edge_check"}},
	{19, []string{
		"ALTER TABLE holdfast_node DROP COLUMN mode", "ALTER TABLE holdfast_node DROP COLUMN mode_at",
		"ALTER TABLE holdfast_node DROP COLUMN mode_by", "ALTER TABLE holdfast_node DROP COLUMN unwell",
		"ALTER TABLE holdfast_audit DROP COLUMN node",
	}},
	{18, []string{"DROP TABLE holdfast_limit_rule", "DROP TABLE holdfast_limit_grant"}},
	{16, []string{"DROP TABLE holdfast_schedule", "DROP TABLE holdfast_schedule_run"}},
	{13, []string{"DROP INDEX holdfast_attempt_lost", "UPDATE holdfast_attempt SET taken = 1 WHERE taken = 2"}},
	{11, []string{"DROP TABLE holdfast_job_update"}},
	{10, []string{"DROP TABLE holdfast_job_key", "DROP TABLE holdfast_key_sent"}},
	{9, []string{"ALTER TABLE holdfast_deferred DROP COLUMN handed_over"}},
	{7, []string{"ALTER TABLE holdfast_queue DROP COLUMN deleted_at"}},
	{6, []string{
		"ALTER TABLE holdfast_finished DROP COLUMN started_at", "ALTER TABLE holdfast_finished DROP COLUMN codec",
		"ALTER TABLE holdfast_finished DROP COLUMN fingerprint", "ALTER TABLE holdfast_journal DROP COLUMN took",
	}},
}

// TestUpgradeFrom6 migrates a database that has jobs in every state.
func TestUpgradeFrom6(t *testing.T) { upgradeFrom(t, 6) }

func TestUpgradeFrom7(t *testing.T) { upgradeFrom(t, 7) }

func TestUpgradeFrom10(t *testing.T) { upgradeFrom(t, 10) }

func TestUpgradeFrom12(t *testing.T) { upgradeFrom(t, 12) }

func TestUpgradeFrom13(t *testing.T) { upgradeFrom(t, 13) }

func TestUpgradeFrom18(t *testing.T) { upgradeFrom(t, 18) }

func TestUpgradeFrom34(t *testing.T) { upgradeFrom(t, 34) }
func TestUpgradeFrom36(t *testing.T) { upgradeFrom(t, 36) }

func TestUpgradeFrom37(t *testing.T) { upgradeFrom(t, 37) }

func TestUpgradeFrom38(t *testing.T) { upgradeFrom(t, 38) }

func TestUpgradeFrom39(t *testing.T) { upgradeFrom(t, 39) }

func TestUpgradeFrom40(t *testing.T) { upgradeFrom(t, 40) }

func TestUpgradeFrom41(t *testing.T) { upgradeFrom(t, 41) }

func TestUpgradeFrom43(t *testing.T) { upgradeFrom(t, 43) }

func TestUpgradeFrom44(t *testing.T) { upgradeFrom(t, 44) }

func TestUpgradeFrom45(t *testing.T) { upgradeFrom(t, 45) }

func TestUpgradeFrom46(t *testing.T) { upgradeFrom(t, 46) }

func TestUpgradeFrom47(t *testing.T) { upgradeFrom(t, 47) }

func upgradeFrom(t *testing.T, version int) {
	t.Helper()
	source := sqlite.File(file(t))
	storetest.Upgrade(t, func(t *testing.T, clock *storetest.Clock) store.Store {
		source.Clock = clock.Now
		return open(t, source)
	}, func(t *testing.T, s store.Store) store.Store {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", source.Path)
		if err != nil {
			t.Fatal(err)
		}
		texts := []string{fmt.Sprint("DELETE FROM holdfast_migration WHERE version > ", version)}
		for _, step := range undo {
			if step.to >= version {
				texts = append(texts, step.texts...)
			}
		}
		for _, text := range texts {
			if _, err := db.ExecContext(t.Context(), text); err != nil {
				t.Fatal(text, err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		return open(t, source)
	})
}
