package blackbox

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/binaries"
	"github.com/holdfastdev/holdfast/internal/heard"
	"github.com/holdfastdev/holdfast/internal/pgtest"
)

// server is a "holdfast server" in a process of its own.
type server struct {
	*testing.T

	program, database, url string
	said                   *text // on its standard error
	client                 *http.Client
	process                *os.Process
}

// onBoth runs a test against a server of SQLite, and one of PostgreSQL where there is one.
func onBoth(t *testing.T, test func(s *server)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(serve(t, filepath.Join(t.TempDir(), "jobs.db")))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		pgtest.InSoak(t)
		test(serve(t, pgtest.Shared(t).Database(t)))
	})
}

var served = regexp.MustCompile(`Serving the API on (http://[0-9.:]+)\.`)

// serve starts a server that asks for API keys, and sends nothing to addresses of others. It is
// ended at the end of the test, and must not have failed in anything by then.
func serve(t *testing.T, database string, flags ...string) *server {
	t.Helper()
	s := &server{
		T: t, program: binaries.Path(t, "../../../cmd/holdfast"), database: database, said: &text{},
		client: &http.Client{Transport: heard.By(&http.Transport{MaxIdleConnsPerHost: 100})},
	}
	s.command("migrate", "up")
	args := append([]string{"server", "--database", database, "--listen", "127.0.0.1:0", "--auth", "keys", "--push=false"}, flags...)
	cmd := exec.Command(s.program, args...)
	cmd.Stdout, cmd.Stderr, cmd.Env = s.said, s.said, environ()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.process = cmd.Process
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		for _, bad := range []string{"panicked", "goroutine ", "level=ERROR"} {
			if said := s.said.String(); strings.Contains(said, bad) {
				t.Errorf("the server says %q:\n%s", bad, said)
			}
		}
	})
	for range 600 {
		if found := served.FindStringSubmatch(s.said.String()); found != nil {
			s.url = found[1]
			return s
		}
		time.Sleep(50 * time.Millisecond) //nolint:forbidigo // another process begins
	}
	t.Fatalf("the server does not serve: %s", s.said)
	return nil
}

// environ is an environment without variables for Holdfast.
func environ() (env []string) {
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "HOLDFAST_") {
			env = append(env, v)
		}
	}
	return env
}

// command runs the command on the database of the server, and returns its output.
func (s *server) command(args ...string) []byte {
	s.Helper()
	cmd := exec.CommandContext(s.Context(), s.program, append(args, "--database", s.database)...)
	cmd.Env = environ()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		s.Fatalf("holdfast %s: %v: %s", strings.Join(args, " "), err, stderr.String())
	}
	return out
}

// key makes an API key, and returns its secret and its id.
func (s *server) key(name string, flags ...string) (secret, id string) {
	s.Helper()
	var made struct {
		Secret string `json:"secret"`
		ID     string `json:"id"`
	}
	out := s.command(append([]string{"key", "create", name, "--output", "json"}, flags...)...)
	if err := json.Unmarshal(out, &made); err != nil || made.Secret == "" {
		s.Fatalf("the key is %s: %v", out, err)
	}
	return made.Secret, made.ID
}

// request is what is asked.
type request struct {
	method, path string // the path with its query, as they are sent
	secret       string // of the API key; "": none
	body         string // "": none
	header       map[string]string
	host         string // "": that of the server
}

// patience is how long an answer may take that does not wait for something.
const patience = 40 * time.Second

// answer is what it was answered.
type answer struct {
	status int
	header http.Header
	text   string
}

// do asks.
func (s *server) do(r *request) answer {
	s.Helper()
	return s.within(patience, r)
}

// within asks for something that may take so long.
func (s *server) within(patience time.Duration, r *request) answer {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	ask, err := http.NewRequestWithContext(ctx, r.method, s.url+r.path, strings.NewReader(r.body))
	if err != nil {
		s.Fatal(err)
	}
	if r.method != http.MethodGet {
		ask.Header.Set("Content-Type", "application/json")
	}
	if r.secret != "" {
		ask.Header.Set("Authorization", "Bearer "+r.secret)
	}
	for name := range maps.Keys(r.header) {
		ask.Header.Set(name, r.header[name])
		if r.header[name] == "" {
			ask.Header.Del(name)
		}
	}
	ask.Host = r.host
	response, err := s.client.Do(ask)
	if err != nil {
		s.Errorf("%s %s: %v", r.method, cut(r.path), err)
		return answer{}
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		s.Errorf("%s %s is answered %d and does not end: %v", r.method, cut(r.path), response.StatusCode, err)
	}
	return answer{response.StatusCode, response.Header, string(data)}
}

// text is what a process has said.
type text struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all.Write(p)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all.String()
}
