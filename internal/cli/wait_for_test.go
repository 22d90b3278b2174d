package cli

import (
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
)

// TestWaitForAState: of the states that a job goes through, each can be waited for, and is printed.
func TestWaitForAState(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		begun, goOn := make(chan struct{}), make(chan struct{})
		s.serve(func(client *holdfast.Client) error {
			slow := holdfast.NewKind[struct{}, int]("slow")
			return slow.Handle(client, func(_ *holdfast.Run, _ struct{}) (int, error) {
				close(begun)
				<-goOn
				return 7, nil
			})
		})
		id := s.enqueue("slow", "--in", "24h")
		if out := s.ok("job", "wait", id, "--for", "running", "--for", "scheduled"); out != "\"scheduled\"\n" {
			t.Errorf("%s", out)
		}
		s.expect(s.run("job", "wait", id, "--for", "running", "--wait-timeout", "1ms"), app.ExitTimeout,
			"job "+id+" is not running after 1ms; it continues")
		running := s.begin("job", "wait", id, "--for", "running,failed", "-q")
		ended := s.begin("job", "wait", id, "--for", "completed, cancelled", "-q")
		failed := s.begin("job", "wait", id, "--for", "failed", "--for", "cancelled", "-q")
		waiting := s.begin("job", "wait", id, "--for", "waiting", "-q")
		s.ok("job", "set", id, "--in", "0s")
		<-begun
		if code := <-running.ended; code != app.ExitOK || running.stdout.String() != "\"running\"\n" {
			t.Errorf("exit code %d, %s%s", code, running.stdout, running.stderr)
		}
		close(goOn)
		if code := <-ended.ended; code != app.ExitOK || ended.stdout.String() != "\"completed\"\n" {
			t.Errorf("exit code %d, %s%s", code, ended.stdout, ended.stderr)
		}
		for b, word := range map[*background]string{failed: "failed or cancelled", waiting: "waiting"} {
			code, said := <-b.ended, b.stderr.String()
			if code != app.ExitError || b.stdout.String() != "" || said != "holdfast: job "+id+" is completed and will not be "+word+"\n" {
				t.Errorf("exit code %d, %s%s", code, b.stdout, said)
			}
		}
	})
}

// TestWaitForWhatWillNotBe: a job that has finished otherwise is told with its error, and one that
// is removed meanwhile is told, too.
func TestWaitForWhatWillNotBe(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		id := s.enqueue("mail")
		s.ok("job", "cancel", id)
		got := s.run("job", "wait", id, "--for", "completed")
		s.expect(got, app.ExitError, "job "+id+" is cancelled and will not be completed")
		if got.stdout != "" || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%+v", got)
		}
		if out := s.ok("job", "wait", id, "--for", "cancelled"); out != "\"cancelled\"\n" {
			t.Errorf("%s", out)
		}
	})
}

func TestWaitForIsRefused(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for _, test := range []struct{ states, words string }{
		{"done", `--for "done": must be one of scheduled, available`},
		{"running,", `--for "": must be one of`},
	} {
		s.expect(s.run("job", "wait", arg.ExampleID, "--for", test.states), app.ExitUsage, test.words)
	}
	s.expect(s.run("job", "wait", arg.ExampleID, "--timeout", "1s"), app.ExitUsage, "unknown flag: --timeout")
}
