package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// settings of a temporary cluster. Nothing is synced, and no pages are kept against torn writes,
// because tests only kill processes, which the files survive.
const settings = `
listen_addresses = ''
fsync = off
full_page_writes = off
max_connections = 300
max_locks_per_transaction = 512
shared_buffers = 64MB
max_wal_size = 256MB
log_min_messages = warning
`

// Reasons for having no server that are no failure, unless one was asked for.
var (
	ErrNoPrograms = errors.New("initdb and postgres were not found")
	errNotUnix    = errors.New("throw-away clusters are made on Unix only")
)

// startTimeout bounds the start of a server.
const startTimeout = time.Minute

// Cluster is a PostgreSQL server.
type Cluster struct {
	base     string // the URL of an existing server, or ""
	lent     bool   // it is that of Serve, which other test binaries use as well
	database string

	bin, dir string // directories of the programs and of the cluster
	user     string
	env      []string        // extra variables of the server
	run      func(*exec.Cmd) // makes a command run as the user of the server

	model struct { // the database that Copy copies
		once sync.Once
		name string // "": there is none
		err  error
	}

	mu       sync.Mutex // guards the fields below
	created  []string   // databases
	server   *exec.Cmd
	exited   chan struct{}
	watchdog io.Closer
}

// create creates and starts a cluster, with env added to the environment of the server.
func create(env ...string) (*Cluster, error) {
	// A socket's path is limited to about a hundred characters; a test's directory is often too
	// long.
	dir, err := os.MkdirTemp(shortTemp(), "pgtest-")
	if err != nil {
		return nil, err
	}
	return createIn(dir, env...)
}

// createIn creates and starts a cluster in an empty directory, which goes with it.
func createIn(dir string, env ...string) (*Cluster, error) {
	bin, err := findPrograms()
	if err != nil {
		return nil, errors.Join(err, os.Remove(dir))
	}
	c := &Cluster{bin: bin, dir: dir, user: "postgres", env: env, database: "postgres"}
	c.watchdog, err = guard(dir)
	if err == nil {
		c.run, err = unprivileged(dir)
	}
	if err == nil {
		err = c.init()
	}
	if err == nil {
		err = c.start()
	}
	if err != nil {
		c.remove()
		return nil, err
	}
	return c, nil
}

func shortTemp() string {
	if dir := os.TempDir(); len(dir) < 40 {
		return dir
	}
	return "/tmp"
}

// findPrograms returns the directory of the newest initdb and postgres.
func findPrograms() (string, error) {
	var dirs []string
	if dir := os.Getenv(envBin); dir != "" {
		dirs = []string{dir}
	} else {
		if path, err := exec.LookPath("initdb"); err == nil {
			if target, err := filepath.EvalSymlinks(path); err == nil { // one of them may be linked to, and others not
				path = target
			}
			dirs = append(dirs, filepath.Dir(path))
		}
		if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
			dirs = append(dirs, strings.TrimSpace(string(out)))
		}
		for _, pattern := range []string{
			"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin", "/opt/homebrew/opt/postgresql@*/bin",
			"/usr/local/opt/postgresql@*/bin",
		} {
			found, err := filepath.Glob(pattern)
			if err != nil {
				return "", err
			}
			slices.SortFunc(found, func(a, b string) int { return version(b) - version(a) })
			dirs = append(dirs, found...)
		}
	}
	for _, dir := range dirs {
		if isProgram(dir, "initdb") && isProgram(dir, "postgres") {
			return dir, nil
		}
	}
	return "", fmt.Errorf("%w in any of %q", ErrNoPrograms, dirs)
}

func isProgram(dir, name string) bool {
	info, err := os.Stat(filepath.Join(dir, name))
	return err == nil && info.Mode().IsRegular()
}

// version returns the first number in a path.
func version(path string) int {
	digits := strings.FieldsFunc(path, func(r rune) bool { return r < '0' || r > '9' })
	if len(digits) == 0 {
		return 0
	}
	n, err := strconv.Atoi(digits[0])
	if err != nil {
		return 0
	}
	return n
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

func (c *Cluster) init() error {
	cmd := exec.Command(filepath.Join(c.bin, "initdb"), "-D", c.data(), "-U", c.user, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
	cmd.Dir = c.dir
	c.run(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	file, err := os.OpenFile(filepath.Join(c.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(settings + "unix_socket_directories = '" + c.dir + "'\n")
	return errors.Join(err, file.Close())
}

// start starts the server and waits until it answers.
func (c *Cluster) start() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server != nil {
		return errors.New("the server runs already")
	}
	cmd := exec.Command(filepath.Join(c.bin, "postgres"), "-D", c.data())
	cmd.Dir = c.dir
	c.run(cmd)
	cmd.Env = append(cmd.Environ(), c.env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return err
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = cmd.Wait() // its exit status does not matter
	}()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, c.URL(""))
		if err == nil {
			c.server, c.exited = cmd, exited
			return conn.Close(ctx)
		}
		select {
		case <-exited:
			return fmt.Errorf("postgres ended: %s", out.String())
		case <-ctx.Done():
			_ = cmd.Process.Kill() // it is useless
			<-exited
			return fmt.Errorf("postgres does not answer: %w: %s", err, out.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Start starts the server after Stop or Crash.
func (c *Cluster) Start(tb testing.TB) {
	tb.Helper()
	if err := c.start(); err != nil {
		tb.Fatalf("start PostgreSQL: %v", err)
	}
}

// Stop shuts the server down: it ends sessions and rolls back open transactions.
func (c *Cluster) Stop(tb testing.TB) {
	tb.Helper()
	if err := c.end(syscall.SIGINT); err != nil {
		tb.Fatalf("stop PostgreSQL: %v", err)
	}
}

// Crash kills the server. The next start recovers from the WAL.
func (c *Cluster) Crash(tb testing.TB) {
	tb.Helper()
	if err := c.end(syscall.SIGQUIT); err != nil {
		tb.Fatalf("crash PostgreSQL: %v", err)
	}
}

// Restart stops the server and starts it again.
func (c *Cluster) Restart(tb testing.TB) {
	tb.Helper()
	c.Stop(tb)
	c.Start(tb)
}

func (c *Cluster) end(signal os.Signal) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.base != "" || c.lent {
		return errors.New("others use the server: a test that stops one needs its own, see Private")
	}
	if c.server == nil {
		return nil
	}
	if err := c.server.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-c.exited
	c.server = nil
	return nil
}

// remove ends the server and removes its files.
func (c *Cluster) remove() {
	if c.base != "" {
		return
	}
	if c.lent {
		c.giveBack()
		return
	}
	if err := c.end(syscall.SIGQUIT); err != nil {
		fmt.Fprintln(os.Stderr, "pgtest:", err)
	}
	if err := os.RemoveAll(c.dir); err != nil {
		fmt.Fprintln(os.Stderr, "pgtest:", err)
	}
	if c.watchdog != nil {
		_ = c.watchdog.Close() // nothing is left for it to do
	}
}
