package meter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/bench/internal/system"
)

// Usage is what something cost. Negative numbers are not known.
type Usage struct {
	Elapsed     time.Duration
	ClientCPU   time.Duration
	DatabaseCPU time.Duration
	OthersCPU   time.Duration
	WAL         int64
	Commits     int64
	Written     int64
}

// Meter measures one database. Its methods belong to one goroutine.
type Meter struct {
	db         system.Database
	conn       *pgx.Conn // nil for SQLite
	postmaster int       // 0 if the server is not on this machine
	counts     bool      // pg_stat_statements is there
}

// Open connects the meter.
func Open(ctx context.Context, db system.Database) (*Meter, error) {
	m := &Meter{db: db}
	if db.Store != system.Postgres {
		return m, nil
	}
	config, err := pgx.ParseConfig(db.URL)
	if err != nil {
		return nil, err
	}
	config.RuntimeParams["application_name"] = meterName
	m.conn, err = pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	m.postmaster = postmaster(int(m.conn.PgConn().PID()))
	var libraries string
	if err := m.conn.QueryRow(ctx, `SHOW shared_preload_libraries`).Scan(&libraries); err != nil {
		return nil, errors.Join(err, m.Close(ctx))
	}
	if strings.Contains(libraries, "pg_stat_statements") {
		_, err := m.conn.Exec(ctx, `CREATE EXTENSION IF NOT EXISTS pg_stat_statements`)
		m.counts = err == nil // or we may not
	}
	return m, nil
}

// meterName marks our own connections.
const meterName = "holdfast bench meter"

// Close disconnects.
func (m *Meter) Close(ctx context.Context) error {
	if m.conn == nil {
		return nil
	}
	return m.conn.Close(ctx)
}

// Span is a measurement under way.
type Span struct {
	meter *Meter
	began time.Time
	ended time.Time // zero: not yet
	start reading
}

// reading is what the counters say at one moment.
type reading struct {
	client, server, machine time.Duration
	wal, commits, written   int64
}

// Begin starts to measure. It makes a checkpoint first, so that every measurement pays for the same
// first changes of pages.
func (m *Meter) Begin(ctx context.Context) (*Span, error) {
	if m.conn != nil {
		if _, err := m.conn.Exec(ctx, `CHECKPOINT`); err != nil && !isDenied(err) {
			return nil, err
		}
	}
	start, err := m.read(ctx)
	return &Span{meter: m, began: time.Now(), start: start}, err
}

// Vacuum clears away what is dead, as autovacuum does sooner or later.
func (m *Meter) Vacuum(ctx context.Context) error {
	if m.conn == nil {
		return nil
	}
	_, err := m.conn.Exec(ctx, `VACUUM (ANALYZE)`)
	return err
}

// Elapsed is the time of the span so far, or until Mark.
func (s *Span) Elapsed() time.Duration {
	if s.ended.IsZero() {
		return time.Since(s.began)
	}
	return s.ended.Sub(s.began)
}

// Mark ends the time of the span. What End counts besides may come later, such as the CPU of
// processes that have yet to end.
func (s *Span) Mark() {
	if s.ended.IsZero() {
		s.ended = time.Now()
	}
}

// End returns what it has cost since Begin.
func (s *Span) End(ctx context.Context) (Usage, error) {
	s.Mark()
	elapsed := s.ended.Sub(s.began)
	now, err := s.meter.read(ctx)
	if err != nil {
		return Usage{}, err
	}
	u := Usage{
		Elapsed: elapsed, ClientCPU: now.client - s.start.client,
		DatabaseCPU: -1, OthersCPU: -1, WAL: -1, Commits: -1, Written: -1,
	}
	switch {
	case s.meter.conn == nil:
		u.DatabaseCPU = 0
		if s.start.written >= 0 {
			u.Written = now.written - s.start.written
		}
	case s.meter.postmaster != 0:
		u.DatabaseCPU = now.server - s.start.server
	}
	if s.meter.conn != nil {
		u.WAL, u.Commits = now.wal-s.start.wal, now.commits-s.start.commits
	}
	if s.start.machine >= 0 && u.DatabaseCPU >= 0 {
		u.OthersCPU = max(now.machine-s.start.machine-u.ClientCPU-u.DatabaseCPU, 0)
	}
	return u, nil
}

func (m *Meter) read(ctx context.Context) (reading, error) {
	r := reading{client: clientCPU(), machine: machineCPU(), written: writtenBytes()}
	if m.conn == nil {
		return r, nil
	}
	if m.postmaster != 0 {
		r.server = serverCPU(m.postmaster)
	}
	err := m.conn.QueryRow(ctx, `SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint,
		pg_snapshot_xmax(pg_current_snapshot())::text::bigint`).Scan(&r.wal, &r.commits)
	return r, err
}

// Dead counts the rows that were updated or deleted in the database's life, as far as the server
// knows: sessions tell it late.
func (m *Meter) Dead(ctx context.Context) (n int64, err error) {
	if m.conn == nil {
		return -1, nil
	}
	err = m.conn.QueryRow(ctx, `SELECT coalesce(sum(n_tup_upd + n_tup_del), 0)::bigint FROM pg_stat_user_tables`).Scan(&n)
	return n, err
}

// Alone waits, within reason, until the database has no sessions but ours. Then the server's
// counters are complete.
func (m *Meter) Alone(ctx context.Context) error {
	if m.conn == nil {
		return nil
	}
	for until := time.Now().Add(2 * time.Second); time.Now().Before(until); {
		var others int
		err := m.conn.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
			AND backend_type = 'client backend' AND pid <> pg_backend_pid()`).Scan(&others)
		if err != nil || others == 0 {
			return err
		}
		if err := system.Pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// DeadNow is how many dead tuples lie in the tables, as far as the server knows; of SQLite, the
// bytes in its log.
func (m *Meter) DeadNow(ctx context.Context) (n int64, err error) {
	if m.conn == nil {
		info, err := os.Stat(m.db.URL + "-wal")
		if err != nil {
			return 0, err
		}
		return info.Size(), nil
	}
	err = m.conn.QueryRow(ctx, `SELECT coalesce(sum(n_dead_tup), 0)::bigint FROM pg_stat_user_tables`).Scan(&n)
	return n, err
}

// Deadlocks is how many the server has found in the database, as far as sessions have told; -1 if
// there are none to be found.
func (m *Meter) Deadlocks(ctx context.Context) (n int64, err error) {
	if m.conn == nil {
		return -1, nil
	}
	err = m.conn.QueryRow(ctx, `SELECT deadlocks FROM pg_stat_database
		WHERE datname = current_database()`).Scan(&n)
	return n, err
}

// Statements is how many statements the database has executed, without those of this meter, which
// no statement of a job queue resembles; -1 if nobody counts them.
func (m *Meter) Statements(ctx context.Context) (n int64, err error) {
	if !m.counts {
		return -1, nil
	}
	err = m.conn.QueryRow(ctx, `SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements
		WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND query !~ 'pg_stat_statements|pg_current_wal_insert_lsn|CHECKPOINT'`).Scan(&n)
	return n, err
}

// Size is what the database occupies on disk.
func (m *Meter) Size(ctx context.Context) (n int64, err error) {
	if m.conn == nil {
		for _, suffix := range []string{"", "-wal"} {
			info, err := os.Stat(m.db.URL + suffix)
			if errors.Is(err, os.ErrNotExist) {
				continue
			}
			if err != nil {
				return 0, err
			}
			n += info.Size()
		}
		return n, nil
	}
	err = m.conn.QueryRow(ctx, `SELECT pg_database_size(current_database())`).Scan(&n)
	return n, err
}

// Settings are those that decide about speed and durability.
func (m *Meter) Settings(ctx context.Context) (map[string]string, error) {
	if m.conn == nil {
		return map[string]string{"synchronous": "FULL", "journal_mode": "WAL"}, nil
	}
	settings := map[string]string{}
	for _, name := range []string{
		"server_version", "fsync", "synchronous_commit", "full_page_writes", "wal_level", "wal_sync_method", "shared_buffers",
		"max_wal_size", "checkpoint_timeout", "autovacuum", "autovacuum_naptime", "max_connections",
	} {
		var value string
		if err := m.conn.QueryRow(ctx, `SELECT current_setting($1)`, name).Scan(&value); err != nil {
			return nil, fmt.Errorf("setting %s: %w", name, err)
		}
		settings[name] = value
	}
	return settings, nil
}
