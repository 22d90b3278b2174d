package builtin

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

const (
	parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	state  = "vendor=1"
)

// TestTheTraceIsPassedOn: a request and a command get the trace in which their job was enqueued,
// and nothing of that in which the node was started.
func TestTheTraceIsPassedOn(t *testing.T) {
	t.Setenv("TRACEPARENT", "00-00000000000000000000000000000001-0000000000000001-00")
	t.Setenv("TRACESTATE", "of=node")
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(r.Header.Get("Traceparent") + " " + r.Header.Get("Tracestate")))
	})
	ctx := t.Context()
	hf, err := holdfast.Open(ctx, sqlite.File(sqlite.Memory), holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hf.Close(context.Background()) })
	if err := RegisterHTTP(hf); err != nil {
		t.Fatal(err)
	}
	if err := RegisterExec(hf); err != nil {
		t.Fatal(err)
	}
	if err := hf.Start(ctx); err != nil {
		t.Fatal(err)
	}
	traced := holdfast.WithEnqueueMiddleware(func(ctx context.Context, jobs []*store.Job, next func(context.Context) error) error {
		jobs[0].Options.TraceParent, jobs[0].Options.TraceState = parent, state
		return next(ctx)
	})
	command := `{"command":["sh","-c","echo \"$TRACEPARENT $TRACESTATE\""]}`
	for _, c := range []struct {
		name, kind, args string
		traced           bool
		want             string
	}{
		{"http", "http", `{"url":"URL/"}`, true, parent + " " + state},
		{"http, of its own", "http", `{"url":"URL/","headers":{"Traceparent":"mine","tracestate":""}}`, true, "mine "},
		{"http, without", "http", `{"url":"URL/"}`, false, " "},
		{"exec", "exec", command, true, parent + " " + state + "\n"},
		{"exec, of its own", "exec", strings.Replace(command, "{", `{"env":{"TRACEPARENT":"mine"},`, 1), true, "mine " + state + "\n"},
		{"exec, without", "exec", command, false, " \n"},
	} {
		var opts []holdfast.EnqueueOption
		if c.traced {
			opts = append(opts, traced)
		}
		kind := holdfast.NewKind[json.RawMessage, json.RawMessage](c.kind, opts...)
		job, err := kind.Enqueue(ctx, hf, json.RawMessage(strings.ReplaceAll(c.args, "URL", server.URL)))
		if err != nil {
			t.Fatal(err)
		}
		result, err := job.Wait(ctx)
		var said struct{ Body, Stdout string }
		if err != nil || json.Unmarshal(result, &said) != nil || said.Body+said.Stdout != c.want { //nolint:musttag // only for the test
			t.Errorf("%s: %s, %v; want %q", c.name, result, err, c.want)
		}
	}
}
