//go:build soak

package cli

import (
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/pgtest"
)

// TestWaitsThroughARestart: verbs that wait or follow continue when the server is back, say so, and
// miss nothing.
func TestWaitsThroughARestart(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Private(t)
	s := newShell(t)
	s.env[app.EnvDatabase] = cluster.Database(t)
	s.ok("migrate", "up")
	s.serve((&shop{}).register)
	id := s.enqueue("order", `{"to":"ada"}`)
	s.waits(id, "signal approved")

	waiting := map[string]*background{
		"wait":      s.begin("job", "wait", id),
		"journal":   s.begin("job", "journal", id, "--follow"),
		"stream":    s.begin("job", "stream", id, "log", "--follow"),
		"published": s.begin("job", "published", id, "progress", "--wait", "--after", "5"),
		"quiet":     s.begin("job", "wait", id, "--quiet"),
	}
	list := s.begin("job", "list", "--watch", "--interval", "100ms")
	list.says(t, "  waiting (")
	waiting["journal"].says(t, `"name":"log"`)
	waiting["stream"].says(t, `"value":"charged"`)
	until(t, "the waits", func() bool { // each prints its reason after a while
		return strings.Contains(waiting["wait"].stderr.String(), "waiting for signal approved")
	})
	cluster.Stop(t)
	for name, b := range waiting {
		if name != "quiet" {
			until(t, name+" to notice", func() bool { return strings.Contains(b.stderr.String(), "The database does not answer") })
		}
	}
	until(t, "the list to notice", func() bool { return strings.Contains(list.stderr.String(), "The database does not answer") })
	cluster.Start(t)
	s.ok("signal", "send", id, "approved", `"bob"`)
	waiting["stream"].says(t, `"value":"approved by <bob>"`)
	s.waits(id, "callback paid")
	s.ok("callback", "complete", s.token(id), `"receipt"`)
	for name, b := range waiting {
		code, said := <-b.ended, b.stderr.String()
		if name == "published" {
			if code != app.ExitError || !strings.Contains(said, "The database answers again.") || !strings.Contains(said, "has finished") {
				t.Errorf("%s: exit code %d, %s", name, code, said)
			}
			continue
		}
		if code != app.ExitOK || name != "quiet" && strings.Count(said, "does not answer") < 1 || name == "quiet" && said != "" {
			t.Errorf("%s: exit code %d, %s", name, code, said)
		}
	}
	list.says(t, "  completed  ")
	if code := list.interrupted(); code != app.ExitOK || !strings.HasSuffix(list.stderr.String(), "The database answers again.\n") {
		t.Errorf("the list: exit code %d, %s", code, list.stderr)
	}
	if out := waiting["stream"].stdout.String(); strings.Count(out, "\n") != 2 {
		t.Errorf("the stream:\n%s", out)
	}
	if out := waiting["journal"].stdout.String(); strings.Count(out, `"name":"charge"`) != 1 {
		t.Errorf("the journal:\n%s", out)
	}
}
