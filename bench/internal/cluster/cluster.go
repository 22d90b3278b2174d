package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/bench/internal/scratch"
)

// ErrNotFound says that the machine has no server to start.
var ErrNotFound = errors.New("initdb and postgres were found neither in PATH nor in /usr/lib/postgresql; install PostgreSQL," +
	" name a server with --database, or measure SQLite alone with --store sqlite")

const (
	startTimeout = time.Minute
	superuser    = "postgres"
)

// settings are those that are not the defaults of PostgreSQL, and those that nobody should have to
// look up.
const settings = `
listen_addresses = ''
fsync = on
synchronous_commit = on
full_page_writes = on
shared_buffers = 1GB
`

// Cluster is a server of our own.
type Cluster struct {
	bin, dir string
	scratch  *scratch.Dir
	run      func(*exec.Cmd) // makes a command run as the user of the server
	server   *exec.Cmd
	exited   chan struct{}
}

// Start makes a server and waits until it answers. Its files are below a directory, or that of
// temporary files if it is "".
func Start(ctx context.Context, parent string) (*Cluster, error) {
	bin, err := Find()
	if err != nil {
		return nil, err
	}
	dir, err := scratch.New(parent)
	if err != nil {
		return nil, err
	}
	c := &Cluster{bin: bin, dir: dir.Path, scratch: dir}
	if c.run, err = unprivileged(c.dir); err == nil {
		err = c.init(ctx)
	}
	if err == nil {
		err = c.start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Find returns the directory of the programs of the newest server.
func Find() (string, error) {
	var dirs []string
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return "", err
		}
		dirs = append(dirs, found...)
	}
	slices.SortFunc(dirs, func(a, b string) int { return version(b) - version(a) })
	if path, err := exec.LookPath("initdb"); err == nil {
		if target, err := filepath.EvalSymlinks(path); err == nil {
			path = target
		}
		dirs = append([]string{filepath.Dir(path)}, dirs...)
	}
	for _, dir := range dirs {
		if isProgram(dir, "initdb") && isProgram(dir, "postgres") {
			return dir, nil
		}
	}
	return "", ErrNotFound
}

func isProgram(dir, name string) bool {
	info, err := os.Stat(filepath.Join(dir, name))
	return err == nil && info.Mode().IsRegular()
}

// version returns the first number in a path.
func version(path string) int {
	for _, digits := range strings.FieldsFunc(path, func(r rune) bool { return r < '0' || r > '9' }) {
		if n, err := strconv.Atoi(digits); err == nil {
			return n
		}
	}
	return 0
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

func (c *Cluster) init(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, "initdb"),
		"-D", c.data(), "-U", superuser, "-A", "trust", "-E", "UTF8", "--no-locale")
	cmd.Dir = c.dir
	c.run(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	text := settings + "unix_socket_directories = '" + c.dir + "'\n"
	if c.hasLibrary("pg_stat_statements") {
		text += "shared_preload_libraries = 'pg_stat_statements'\n"
	}
	file, err := os.OpenFile(filepath.Join(c.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

// hasLibrary tells whether a library of the server is installed.
func (c *Cluster) hasLibrary(name string) bool {
	for _, dir := range []string{"../lib", "../lib/postgresql", "../lib64"} {
		if _, err := os.Stat(filepath.Join(c.bin, dir, name+".so")); err == nil {
			return true
		}
	}
	return false
}

func (c *Cluster) start(ctx context.Context) error {
	cmd := exec.Command(filepath.Join(c.bin, "postgres"), "-D", c.data())
	cmd.Dir = c.dir
	c.run(cmd)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return err
	}
	c.server, c.exited = cmd, make(chan struct{})
	go func() {
		defer close(c.exited)
		_ = cmd.Wait() // how it ended does not matter
	}()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, c.URL("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-c.exited:
			return fmt.Errorf("postgres ended: %s", out.String())
		case <-ctx.Done():
			return fmt.Errorf("postgres does not answer: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// URL is the address of a database of the server.
func (c *Cluster) URL(database string) string {
	return fmt.Sprintf("postgres://%s@/%s?%s", superuser, url.PathEscape(database), url.Values{"host": {c.dir}}.Encode())
}

// Close ends the server and removes its files.
func (c *Cluster) Close() error {
	var errs []error
	if c.server != nil {
		if err := c.server.Process.Signal(syscall.SIGQUIT); err != nil && !errors.Is(err, os.ErrProcessDone) {
			errs = append(errs, err)
		}
		<-c.exited
	}
	return errors.Join(append(errs, c.scratch.Close())...)
}
