package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// result is what one run of a scenario gave.
type result struct {
	jobs     int64
	took     time.Duration
	cpu      time.Duration
	disk     int64
	p50, p99 time.Duration
	idle     bool
	counted  bool
	queries  float64 // a second
}

func (r result) rate() float64 {
	switch {
	case r.idle:
		return r.queries
	case r.p99 > 0:
		return r.p99.Seconds()
	}
	return float64(r.jobs) / r.took.Seconds()
}

func (r result) String() string {
	switch {
	case r.idle && !r.counted:
		return "not counted"
	case r.idle:
		return fmt.Sprintf("%.2f statements/s", r.queries)
	case r.p99 > 0:
		return fmt.Sprintf("p50 %.2f ms, p99 %.2f ms", r.p50.Seconds()*1000, r.p99.Seconds()*1000)
	}
	return fmt.Sprintf("%.0f/s", r.rate())
}

func (r result) cpuText() string {
	if r.idle {
		return fmt.Sprintf("%.2f %% of a core", 100*r.cpu.Seconds()/r.took.Seconds())
	}
	return fmt.Sprintf("%.1f", float64(r.cpu.Microseconds())/float64(r.jobs))
}

func (r result) diskText() string {
	if r.idle {
		return fmt.Sprintf("%.0f a second", float64(r.disk)/r.took.Seconds())
	}
	return fmt.Sprintf("%.0f", float64(r.disk)/float64(r.jobs))
}

// measure is a measurement under way.
type measure struct {
	b     *bench
	began time.Time
	cpu   time.Duration
	disk  int64
}

func (b *bench) begin() (measure, error) {
	disk, err := b.disk()
	return measure{b: b, began: time.Now(), cpu: cpuTime(), disk: disk}, err
}

func (m measure) end(jobs int64) (result, error) {
	r := result{jobs: jobs, took: time.Since(m.began), cpu: cpuTime() - m.cpu}
	disk, err := m.b.disk()
	r.disk = disk - m.disk
	return r, err
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// meter finds out how to count the bytes and statements of the database: WAL and, where the server has loaded it,
// pg_stat_statements on PostgreSQL, what this process has written (the log and, at checkpoints, the file) on SQLite.
func (b *bench) meter() error {
	b.statements = func() (int64, error) { return 0, nil }
	if !strings.HasPrefix(b.database, "postgres") {
		b.disk = writtenBytes
		b.size = func() (int64, error) {
			info, err := os.Stat(strings.TrimPrefix(b.database, "sqlite:"))
			if os.IsNotExist(err) {
				return 0, nil
			}
			if err != nil {
				return 0, err
			}
			return info.Size(), nil
		}
		return nil
	}
	conn, err := pgx.Connect(b.ctx, b.database)
	if err != nil {
		return err
	}
	ask := func(query string) func() (int64, error) {
		return func() (n int64, err error) {
			err = conn.QueryRow(b.ctx, query).Scan(&n)
			return n, err
		}
	}
	b.size = ask(`SELECT pg_database_size(current_database())`)
	b.disk = ask(`SELECT (pg_current_wal_lsn() - '0/0')::bigint`)
	var libraries string
	if err := conn.QueryRow(b.ctx, `SHOW shared_preload_libraries`).Scan(&libraries); err != nil {
		return err
	}
	if b.counts = strings.Contains(libraries, "pg_stat_statements"); !b.counts {
		return nil
	}
	if _, err := conn.Exec(b.ctx, `CREATE EXTENSION IF NOT EXISTS pg_stat_statements`); err != nil {
		return err
	}
	// Without the questions of this meter, which no statement of ours resembles.
	b.statements = ask(`SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements
		WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND query !~ 'pg_stat_statements|pg_current_wal_lsn'`)
	return nil
}

func writtenBytes() (int64, error) {
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		var n int64
		if _, err := fmt.Sscanf(line, "write_bytes: %d", &n); err == nil {
			return n, nil
		}
	}
	return 0, fmt.Errorf("no write_bytes in /proc/self/io")
}

func (b *bench) describe() string {
	if !strings.HasPrefix(b.database, "postgres") {
		return "SQLite, synchronous FULL"
	}
	conn, err := pgx.Connect(b.ctx, b.database)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = conn.Close(b.ctx) }()
	text := "PostgreSQL"
	for _, name := range []string{"server_version", "fsync", "synchronous_commit", "full_page_writes", "shared_buffers", "max_wal_size"} {
		var value string
		if err := conn.QueryRow(b.ctx, `SELECT current_setting($1)`, name).Scan(&value); err != nil {
			return err.Error()
		}
		text += ", " + name + " " + value
	}
	return text
}
