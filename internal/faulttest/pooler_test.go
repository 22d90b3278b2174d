//go:build soak

package faulttest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/crashtest/process"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// TestPooler lives behind PgBouncer in transaction mode: whatever belongs to a session is gone
// with each transaction.
func TestPooler(t *testing.T) {
	t.Parallel()
	liveOn(t, postgres.URL(pooler(t, onPostgres(t).url)))
}

// pooler starts PgBouncer in front of a server and returns the address behind it.
func pooler(t *testing.T, server string) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		if program = "/usr/sbin/pgbouncer"; !isFile(program) {
			t.Skip("NOT TESTED, because there is no PgBouncer: install pgbouncer")
		}
	}
	// By a way that is open to the user as whom it runs, who is not that of the server.
	config, err := pgx.ParseConfig(newProxy(t, server).url)
	if err != nil {
		t.Fatal(err)
	}
	dir := openTemp(t) // it does not run as root
	const port = 6432
	address := fmt.Sprintf("host=%s port=%d user=%s", config.Host, config.Port, config.User)
	if config.Password != "" {
		address += " password=" + config.Password
	}
	settings := fmt.Sprintf(`[databases]
* = %s
[pgbouncer]
listen_addr =
unix_socket_dir = %s
listen_port = %d
auth_type = any
pool_mode = transaction
max_client_conn = 200
default_pool_size = 20
logfile = %s
`, address, dir, port, filepath.Join(dir, "log"))
	file := filepath.Join(dir, "pgbouncer.ini")
	if err := os.WriteFile(file, []byte(settings), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"-q", file}
	if os.Geteuid() == 0 {
		args = append([]string{"-u", "nobody"}, args...)
	}
	words := &record{}
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = words, words
	p, err := process.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	to := url.URL{
		Scheme: "postgres", User: url.User(config.User), Path: "/" + config.Database,
		RawQuery: url.Values{"host": {dir}, "port": {strconv.Itoa(port)}, "sslmode": {"disable"}}.Encode(),
	}
	var last error
	t.Cleanup(func() {
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			t.Logf("PgBouncer: %v\n%s%s", last, words, log)
		}
	})
	eventually(t, "PgBouncer answers", func() bool {
		select {
		case <-p.Done():
			t.Fatalf("PgBouncer ended: %v: %s", p.Wait(), words)
		default:
		}
		conn, err := pgx.Connect(context.WithoutCancel(t.Context()), to.String())
		if err != nil {
			last = err
			return false
		}
		return conn.Close(context.WithoutCancel(t.Context())) == nil
	})
	return to.String()
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// TestPoolerAndKeys: a transaction that is begun with its first statements, and committed with its
// last, is one for PgBouncer, too; and an examination finds that no notification comes through.
func TestPoolerAndKeys(t *testing.T) {
	t.Parallel()
	source := postgres.URL(pooler(t, onPostgres(t).url))
	s, err := source.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	settings := store.LimitSettings{Capacity: 1, PerKey: true}
	if _, err := s.SaveLimit(t.Context(), store.Limit{Namespace: "default", Name: "tenants", LimitSettings: settings}, 0, ""); err != nil {
		t.Fatal(err)
	}
	batch := &store.Batch{}
	for i := range 20 {
		batch.Enqueues = append(batch.Enqueues, &store.Enqueue{Job: store.Job{
			ID: holdfast.NewID(), Namespace: "default", Queue: "default", Kind: "send", Priority: 2, MaxAttempts: 3, Args: []byte("{}"),
			Options: store.Options{Limit: "tenants", LimitKey: strconv.Itoa(i % 10)},
		}})
	}
	if err := store.ApplyEach(t.Context(), s, batch); err != nil {
		t.Fatal(err)
	}
	node, err := s.Join(t.Context(), store.NodeInfo{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	taken := 0
	for seq := range int64(8) {
		runs, err := s.Claim(t.Context(), store.ClaimParams{Node: node, Seq: 1 + 4*seq, Namespace: "default", Kinds: []string{"send"}, Limit: 4})
		if err != nil {
			t.Fatal(err)
		}
		taken += len(runs)
	}
	if taken != 10 {
		t.Errorf("%d jobs run of ten keys of which each lets one", taken)
	}
	found, err := source.Examine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(found, func(f store.Finding) bool {
		return f.Check == "notifications" && f.Severity == store.Warning && strings.Contains(f.Text, "pooler")
	}) {
		t.Errorf("it was found: %+v", found)
	}
}
