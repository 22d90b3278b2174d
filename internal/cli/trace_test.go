package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/internal/cli/app"
)

// TestTraceOfACommand: what a command enqueues carries the trace of its flag, or of its variables.
func TestTraceOfACommand(t *testing.T) {
	t.Parallel()
	const (
		flag = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		env  = "00-11111111111111111111111111111111-2222222222222222-00"
	)
	s := migrated(t)
	s.ok("schedule", "create", "nightly", "report", "--every", "24h", "--overlap", "allow")
	want := func(what, id, parent, state string) {
		t.Helper()
		var job struct{ TraceParent, TraceState string }
		s.decode(s.ok("job", "show", id, "-o", "json"), &job)
		if job.TraceParent != parent || job.TraceState != state {
			t.Errorf("%s: it carries %q and %q, want %q and %q", what, job.TraceParent, job.TraceState, parent, state)
		}
	}
	trigger := func(args ...string) string {
		t.Helper()
		return strings.TrimSpace(s.ok(append([]string{"schedule", "trigger", "nightly", "-q"}, args...)...))
	}
	want("without", s.enqueue("talk"), "", "")
	want("a flag", s.enqueue("talk", "--traceparent", flag), flag, "")
	want("a trigger with a flag", trigger("--traceparent", flag), flag, "")
	s.env[app.EnvTraceParent], s.env[app.EnvTraceState] = env, "vendor=1"
	want("a variable", s.enqueue("talk"), env, "vendor=1")
	want("a trigger with a variable", trigger(), env, "vendor=1")
	want("a flag before a variable", s.enqueue("talk", "--traceparent", flag), flag, "")
	for _, wrong := range []string{
		"x", "ff" + env[2:], "00-00000000000000000000000000000000-2222222222222222-00", env[:36] + "0000000000000000-00", env + "-1",
	} {
		s.expect(s.run("job", "enqueue", "talk", "--traceparent", wrong), app.ExitUsage, "is no traceparent")
		s.env[app.EnvTraceParent] = wrong
		want("a variable that is wrong", s.enqueue("talk"), "", "")
	}
	s.env[app.EnvTraceParent], s.env[app.EnvTraceState] = env, "wrong\n\x01=1"
	want("a state that is wrong", s.enqueue("talk"), env, "")
}

// TestTraceOfASignal: what a command sends carries the trace of its flag, or of its variable.
func TestTraceOfASignal(t *testing.T) {
	t.Parallel()
	const (
		flag = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		env  = "00-11111111111111111111111111111111-2222222222222222-00"
	)
	s := migrated(t)
	id := s.enqueue("talk")
	s.ok("signal", "send", id, "a")
	s.ok("signal", "send", id, "a", "--traceparent", flag)
	s.env[app.EnvTraceParent], s.env[app.EnvTraceState] = env, "vendor=1"
	s.ok("signal", "send", id, "a")
	s.expect(s.run("signal", "send", id, "a", "--traceparent", "x"), app.ExitUsage, "is no traceparent")
	for _, verb := range []string{"complete", "fail"} {
		s.expect(s.run("callback", verb, "hfc_x", "--traceparent", "x"), app.ExitUsage, "is no traceparent")
	}
	var journal struct {
		Messages []struct{ TraceParent string }
	}
	s.decode(s.ok("job", "journal", id, "-o", "json"), &journal)
	var carried []string
	for _, m := range journal.Messages {
		carried = append(carried, m.TraceParent)
	}
	if want := []string{"", flag, env}; !slices.Equal(carried, want) {
		t.Errorf("the signals carry %q, want %q", carried, want)
	}
}
