package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Standby makes a standby of a cluster of this package, which follows it under a name. It is
// removed after the test.
func (c *Cluster) Standby(tb testing.TB, name string) *Cluster {
	tb.Helper()
	dir, err := os.MkdirTemp(shortTemp(), "pgtest-") //nolint:usetesting // a path to a socket must be short
	if err != nil {
		tb.Fatal(err)
	}
	s := &Cluster{bin: c.bin, dir: dir, user: c.user, database: c.database}
	tb.Cleanup(s.remove)
	s.watchdog, err = guard(dir)
	if err == nil {
		s.run, err = unprivileged(dir)
	}
	if err == nil {
		err = s.copyOf(c, name)
	}
	if err == nil {
		err = s.start()
	}
	if err != nil {
		tb.Fatalf("make a standby: %v", err)
	}
	return s
}

func (c *Cluster) copyOf(primary *Cluster, name string) error {
	cmd := exec.Command(filepath.Join(c.bin, "pg_basebackup"),
		"-D", c.data(), "-h", primary.dir, "-U", c.user, "-X", "stream", "-c", "fast", "--no-sync")
	cmd.Dir = c.dir
	c.run(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pg_basebackup: %w: %s", err, out)
	}
	settings := fmt.Sprintf("\nunix_socket_directories = '%s'\nprimary_conninfo = 'host=%s user=%s application_name=%s'\n",
		c.dir, primary.dir, c.user, name)
	file, err := os.OpenFile(filepath.Join(c.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(settings)
	signal := filepath.Join(c.data(), "standby.signal")
	return errors.Join(err, file.Close(), os.WriteFile(signal, nil, 0o644))
}

// Promote makes a primary of a standby, and returns when it is one.
func (c *Cluster) Promote(tb testing.TB) {
	tb.Helper()
	c.Query(tb, "SELECT pg_promote(true, 60)")
}

// Kill kills the server with SIGKILL. It is not started again: what is left of it in the memory of
// the machine is cleared away.
func (c *Cluster) Kill(tb testing.TB) {
	tb.Helper()
	memory := sharedMemory(c.data())
	if err := c.end(syscall.SIGKILL); err != nil {
		tb.Fatalf("kill PostgreSQL: %v", err)
	}
	forget(memory)
}

// sharedMemory is the id of the memory that the server shares with itself; 0: there is none.
func sharedMemory(data string) (id int) {
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return 0
	}
	const line = 7 // it has the key and the id
	lines := strings.Split(string(text), "\n")
	if len(lines) < line {
		return 0
	}
	var key uint64
	if _, err := fmt.Sscan(lines[line-1], &key, &id); err != nil {
		return 0
	}
	return id
}

// Set changes a setting of the server and reloads it.
func (c *Cluster) Set(tb testing.TB, name, value string) {
	tb.Helper()
	c.Query(tb, "ALTER SYSTEM SET "+name+" = '"+value+"'")
	c.Query(tb, "SELECT pg_reload_conf()")
}

// Query is the first value that a statement returns, as text; "" if there is none.
func (c *Cluster) Query(tb testing.TB, sql string) (text string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.URL(""))
	if err != nil {
		tb.Fatalf("%s: %v", sql, err)
	}
	defer func() { _ = conn.Close(ctx) }()
	results, err := conn.PgConn().Exec(ctx, sql).ReadAll()
	if err != nil {
		tb.Fatalf("%s: %v", sql, err)
	}
	for _, r := range results {
		if len(r.Rows) > 0 && len(r.Rows[0]) > 0 {
			return string(r.Rows[0][0])
		}
	}
	return ""
}

// Either is the URL of whichever of clusters takes writes.
func Either(clusters ...*Cluster) string {
	hosts := make([]string, len(clusters))
	for i, c := range clusters {
		hosts[i] = c.dir
	}
	query := url.Values{"host": {strings.Join(hosts, ",")}, "target_session_attrs": {"read-write"}}
	return fmt.Sprintf("postgres://%s@/%s?%s", clusters[0].user, url.PathEscape(clusters[0].database), query.Encode())
}

// Pooler is PgBouncer in front of a server, in transaction mode.
type Pooler struct {
	// URL is that of the server through it.
	URL string

	program, dir, account string
}

// poolerPort names its socket.
const poolerPort = 6432

// Pooler prepares PgBouncer in front of a cluster of this package. Without PgBouncer the test is
// skipped.
func (c *Cluster) Pooler(tb testing.TB) *Pooler {
	tb.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program = "/usr/sbin/pgbouncer"
		if info, err := os.Stat(program); err != nil || !info.Mode().IsRegular() {
			tb.Skip("NOT TESTED, because there is no PgBouncer: install pgbouncer")
		}
	}
	account, err := ownerOf(c.dir)
	if err != nil {
		tb.Fatal(err)
	}
	settings := fmt.Sprintf(`[databases]
* = host=%s user=%s
[pgbouncer]
listen_addr =
unix_socket_dir = %s
listen_port = %d
auth_type = any
pool_mode = transaction
max_client_conn = 300
default_pool_size = 20
server_login_retry = 0.1
`, c.dir, c.user, c.dir, poolerPort)
	p := &Pooler{program: program, dir: c.dir, account: account}
	if err := os.WriteFile(p.settings(), []byte(settings), 0o644); err != nil {
		tb.Fatal(err)
	}
	query := url.Values{"host": {c.dir}, "port": {strconv.Itoa(poolerPort)}, "sslmode": {"disable"}}
	p.URL = fmt.Sprintf("postgres://%s@/%s?%s", c.user, url.PathEscape(c.database), query.Encode())
	return p
}

func (p *Pooler) settings() string { return filepath.Join(p.dir, "pgbouncer.ini") }

// Answers waits until the server answers through it.
func (p *Pooler) Answers(tb testing.TB) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, p.URL)
		if err == nil {
			_ = conn.Close(ctx)
			return
		}
		select {
		case <-ctx.Done():
			tb.Fatalf("PgBouncer does not answer: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Command is the program, which runs until it is killed. It may be started again.
func (p *Pooler) Command() *exec.Cmd {
	_ = os.Remove(filepath.Join(p.dir, fmt.Sprintf(".s.PGSQL.%d", poolerPort))) // that of one that was killed
	args := []string{"-q", p.settings()}
	if os.Geteuid() == 0 {
		args = append([]string{"-u", p.account}, args...)
	}
	return exec.Command(p.program, args...)
}
