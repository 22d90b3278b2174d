package workers_test

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/internal/pgtest/ready"
	"github.com/holdfastdev/holdfast/server/internal/apitest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

func TestMain(m *testing.M) { apitest.Main(m) }

const (
	get  = http.MethodGet
	post = http.MethodPost
)

// onBoth runs a test over SQLite, and over PostgreSQL where there is one, with a server, and a
// second one over the same database.
func onBoth(t *testing.T, test func(s, other *apitest.Server)) {
	t.Helper()
	run := func(source func(t *testing.T) store.Source) func(t *testing.T) {
		return func(t *testing.T) {
			t.Parallel()
			db := source(t)
			test(apitest.On(t, db), apitest.On(t, db))
		}
	}
	t.Run("sqlite", run(func(t *testing.T) store.Source { return sqlite.File(filepath.Join(t.TempDir(), "api.db")) }))
	t.Run("postgres", run(func(t *testing.T) store.Source {
		pgtest.InSoak(t)
		return postgres.URL(ready.Database(t))
	}))
}

// worker is one in a test.
type worker struct {
	*apitest.Server // that it talks to

	token string
	seq   int
}

func register(s *apitest.Server, body string) *worker {
	s.Helper()
	a := s.OK(201, post, "/workers", body)
	token, _ := a.JSON["worker"].(string)
	return &worker{Server: s, token: token}
}

// at is the worker at another server.
func (w *worker) at(s *apitest.Server) *worker { return &worker{Server: s, token: w.token, seq: w.seq} }

type job = map[string]any

// poll polls once.
func (w *worker) poll(want int, wait string) []job {
	w.Helper()
	w.seq++
	return w.pollAs(w.seq, want, wait, false)
}

// pollAs polls under a number. It repeats what was not answered, as on a machine that is too busy
// for the times that calls of the store have.
func (w *worker) pollAs(seq, want int, wait string, repeat bool) (jobs []job) {
	w.Helper()
	body := map[string]any{"want": want, "seq": seq, "repeat": repeat}
	path := "/workers/" + w.token + "/poll?wait=" + wait
	a := w.Do(post, path, body)
	for tries := 1; a.Status == 503 && tries < 10; tries++ {
		body["repeat"] = true
		a = w.Do(post, path, body)
	}
	if a.Status != 200 {
		w.Fatalf("poll %d is answered %d %s", seq, a.Status, a.Text)
	}
	list, _ := a.JSON["jobs"].([]any)
	for _, one := range list {
		if j, ok := one.(job); ok {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// one is a poll that must get one job.
func (w *worker) one() job {
	w.Helper()
	jobs := w.poll(1, "1m")
	if len(jobs) != 1 {
		w.Fatalf("a poll got %v", jobs)
	}
	return jobs[0]
}

func text(j job, field string) string {
	s, _ := j[field].(string)
	return s
}

func run(j job, verb string) string { return "/runs/" + text(j, "lease") + "/" + verb }

// state is the state of a job, and its error.
func state(s *apitest.Server, id string) (state, why string) {
	s.Helper()
	j := s.OK(200, get, "/jobs/"+id, nil).JSON
	return text(j, "state"), text(j, "error")
}

func wantState(s *apitest.Server, id, want string) {
	s.Helper()
	if is, why := state(s, id); is != want {
		s.Errorf("job %s is %s (%s), not %s", id, is, why, want)
	}
}

const mail = `{"name":"w","kinds":["mail"],"slots":5}`
