package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/shortlog"
)

// TestLogFlags checks invalid values, and the order of the flag, --quiet and the environment.
func TestLogFlags(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for _, verb := range []string{"dev", "worker", "bench"} {
		for _, level := range []string{"loud", "INFO", "warn+1"} {
			s.expect(s.run(verb, "--log-level", level), app.ExitUsage, "--log-level", "must be debug, info, warn or error; see: holdfast "+verb)
		}
		s.expect(s.run(verb, "--log-format", "xml"), app.ExitUsage, `--log-format "xml": must be short, text or json`)
		s.env[app.EnvLogLevel] = "loud"
		s.expect(s.run(verb), app.ExitUsage, `HOLDFAST_LOG_LEVEL "loud": must be debug, info, warn or error`)
		delete(s.env, app.EnvLogLevel)
		s.env[app.EnvLogFormat] = "xml"
		s.expect(s.run(verb), app.ExitUsage, `HOLDFAST_LOG_FORMAT "xml": must be short, text or json`)
		s.env[app.EnvLogFormat] = "" // an empty variable is a mistake
		s.expect(s.run(verb), app.ExitUsage, "HOLDFAST_LOG_FORMAT is set but empty")
		delete(s.env, app.EnvLogFormat)
	}
}

// TestWorkerLogs: in the requested format, and only what is necessary.
func TestWorkerLogs(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	worker := s.start("worker", "--allow-exec", "--log-format", "json", "--log-level", "debug")
	id := s.enqueue("exec", "--args", `{"command":["false"]}`, "--max-attempts", "1")
	s.expect(s.run("job", "wait", id), 1)
	worker.stop(t)
	said := map[string]map[string]any{}
	for line := range bytes.Lines([]byte(worker.stderr.String())) {
		var v map[string]any
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		message, _ := v["msg"].(string)
		said[message] = v
	}
	for message, level := range map[string]string{
		shortlog.LineStarted: "DEBUG", shortlog.LineEnded: "DEBUG", shortlog.LineFailed: "ERROR", shortlog.LineNodeStarted: "INFO",
	} {
		v := said[message]
		if v["level"] != level || v["node"] == nil || strings.HasPrefix(message, "job") && (v["job"] != id || v["kind"] != "exec") {
			t.Errorf("%s: %v", message, v)
		}
	}

	text := s.start("worker", "--log-format", "text")
	text.stop(t)
	if out := text.stderr.String(); !strings.Contains(out, `level=INFO msg="node started"`) || !strings.Contains(out, "node=2") {
		t.Errorf("%s", out)
	}
}

// TestDevTellsOfJobs: a line for each start, end and failure, with the id and the kind.
func TestDevTellsOfJobs(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	dev := s.start("dev")
	good := s.enqueue("exec", "--args", `{"command":["true"]}`)
	bad := s.enqueue("exec", "--args", `{"command":["sh","-c","test $HOLDFAST_ATTEMPT = 2"]}`)
	worse := s.enqueue("exec", "--args", `{"command":["false"]}`, "--max-attempts", "1")
	s.ok("job", "wait", good)
	s.ok("job", "wait", bad)
	s.expect(s.run("job", "wait", worse), 1)
	dev.stop(t)
	out := dev.stderr.String()
	for _, want := range []string{
		good + "  exec  started\n", good + "  exec  done in ",
		bad + "  exec  started\n", bad + "  exec  failed, again in ", bad + "  exec  started, attempt 2\n", bad + "  exec  done in ",
		worse + "  exec  failed for good: false ended with exit status 1\n",
		"  node started\n", "  node stopped\n",
	} {
		if strings.Count(out, want) != 1 {
			t.Errorf("%d times %q in\n%s", strings.Count(out, want), want, out)
		}
	}
	if strings.Contains(out, "level=") || strings.Contains(out, shortlog.LineAttempt) {
		t.Errorf("it is for programs:\n%s", out)
	}

	quiet := s.start("dev", "--log-format", "text", "--quiet", "--log-level", "info")
	quiet.stop(t)
	if out := quiet.stderr.String(); strings.Contains(out, "Try") || !strings.Contains(out, "level=INFO") {
		t.Errorf("%s", out)
	}
}
