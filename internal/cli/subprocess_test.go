//go:build unix

package cli

import (
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/nodes"
)

// answers is a program that answers each run with its number.
const answers = `sh -c 'n=0; while read -r line; do run=${line#*\"run\":\"}; run=${run%%\"*}; n=$((n+1)); ` +
	`echo "{\"type\":\"result\",\"run\":\"$run\",\"result\":$n}"; done'`

// TestSubprocesses: a worker keeps a process that runs the jobs of a kind.
func TestSubprocesses(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.env = map[string]string{nodes.EnvSubprocess: "\nanswer=" + answers + "\nother=cat\n"}
	s.start("worker", "--subprocess-runs", "2")
	for _, want := range []string{"1", "2", "1"} {
		if got := s.run("job", "enqueue", "answer", "--wait"); got.code != 0 || strings.TrimSpace(got.stdout) != want {
			t.Errorf("%+v, want %s", got, want)
		}
	}
}

// TestSubprocessesThatCannotStart end the worker.
func TestSubprocessesThatCannotStart(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.expect(s.run("worker", "--subprocess", "a=/no/such/program"), app.ExitError, "cannot start /no/such/program")
	s.expect(s.run("worker", "--subprocess", "http=cat"), app.ExitError, "http")
	s.expect(s.run("worker", "--subprocess", strings.Repeat("k", 201)+"=cat"), app.ExitUsage, "--subprocess")
}
