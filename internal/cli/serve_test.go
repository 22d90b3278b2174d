package cli

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/builtin"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

func TestWorkerRunsExecOnlyIfAllowed(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	worker := s.start("worker")
	id := s.enqueue("exec", "--args", `{"command":["sh","-c","echo $HOLDFAST_JOB_ID $HOLDFAST_ATTEMPT $HOLDFAST_LEASE"]}`)
	s.expect(s.run("job", "wait", id, "--timeout", "200ms"), exitTimeout, "has not finished")
	if strings.Contains(worker.stderr.String(), "Try") {
		t.Errorf("a worker gives hints: %s", worker.stderr)
	}
	worker.stop(t)

	s.start("worker", "--allow-exec")
	if out := s.ok("job", "wait", id, "--timeout", "1m"); !strings.Contains(out, `"stdout":"`+id+` 1 1\n"`) {
		t.Errorf("%s", out)
	}
}

// stuck is a database that does not answer to nodes that join, or that leave.
type stuck struct {
	store.Source
	store.Store

	join, leave bool
	asked       chan struct{} // closed by the first call
}

func (s stuck) Open(context.Context) (store.Store, error) {
	s.Store = model.New(time.Now)
	return s, nil
}

func (s stuck) Join(ctx context.Context, info store.NodeInfo) (int64, error) {
	close(s.asked)
	if s.join {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return s.Store.Join(ctx, info)
}

func (s stuck) Leave(ctx context.Context, node int64) error {
	if s.leave {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.Store.Leave(ctx, node)
}

// TestNodeStoppedInAHurry checks that a node which could not sign off says so, and that one which had not joined has nothing to say.
func TestNodeStoppedInAHurry(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		database stuck
		signals  int
		says     string
	}{
		"cannot join":               {stuck{join: true}, 1, ""},
		"cannot leave, two signals": {stuck{leave: true}, 2, "could not sign off"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			signals := make(chan os.Signal)
			a := &app{env: newShell(t).environment(nil, io.Discard, io.Discard)}
			a.env.Signals = signals
			test.database.asked = make(chan struct{})
			source := &nodeSource{Source: test.database}
			client, err := holdfast.Open(t.Context(), source, holdfast.WithLogger(silent()))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = client.Close(context.Background()) })
			if err := builtin.RegisterHTTP(client); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- a.runNode(t.Context(), client, source) }()
			<-test.database.asked
			if !test.database.join {
				until(t, "the start of the node", source.joined.Load)
			}
			for range test.signals {
				signals <- syscall.SIGTERM
			}
			got := ""
			if err := <-ended; err != nil {
				got = err.Error()
			}
			if got == "" != (test.says == "") || !strings.Contains(got, test.says) {
				t.Errorf("it says %q, want %q", got, test.says)
			}
		})
	}
}

func TestHTTPKind(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/echo":
			_, _ = io.WriteString(w, r.Header.Get("Idempotency-Key")+" ")
			_, _ = io.Copy(w, r.Body)
		case "/busy":
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			http.Error(w, "there is no such thing", http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	s := newShell(t)
	s.start("worker")

	id := s.enqueue("http", "--args", `{"url":"`+server.URL+`/echo","body":{"n":1}}`)
	out := s.ok("job", "wait", id, "--timeout", "1m")
	if want := `"body":"` + id + ` {\"n\":1}"}`; !strings.HasPrefix(out, `{"status":200,"headers":{"Content-Type":"text/plain`) ||
		!strings.HasSuffix(out, want+"\n") {
		t.Errorf("%s", out)
	}
	s.expect(s.run("job", "enqueue", "http", "--args", `{"url":"`+server.URL+`/gone"}`, "--wait", "--quiet"),
		1, "failed (terminal)", "answered 404 Not Found: there is no such thing")

	busy := s.enqueue("http", "--args", `{"url":"`+server.URL+`/busy"}`)
	until(t, "the first attempt", func() bool { return s.job(busy)["state"] == "retryable" })
	v := s.job(busy)
	text, _ := v["run_at"].(string)
	if due, err := time.Parse(time.RFC3339, text); err != nil || time.Until(due) < 50*time.Minute || time.Until(due) > 61*time.Minute {
		t.Errorf("it is due at %v", v["run_at"])
	}
}
