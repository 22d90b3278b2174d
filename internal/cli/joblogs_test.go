package cli

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast"
)

// logging registers a handler that logs, and fails at first.
func logging(goOn <-chan struct{}) func(*holdfast.Client) error {
	kind := holdfast.NewKind[string, string]("talk")
	return func(hf *holdfast.Client) error {
		return kind.Handle(hf, func(run *holdfast.Run, _ string) (string, error) {
			l := run.Logger(nil)
			l.Info("try", "n", run.Attempt())
			l.Warn("two\nlines\x1b[31m")
			if run.Attempt() == 1 {
				return "", holdfast.RetryAfter(0, context.Canceled)
			}
			<-goOn
			l.Error("the end")
			return "", nil
		})
	}
}

func TestJobLogs(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		open := make(chan struct{})
		s.serve(logging(open))
		id := s.enqueue("talk", "--args", `"x"`)
		followed := s.begin("job", "logs", id, "--follow", "-q")
		table := s.begin("job", "logs", id, "--follow", "-q", "-o", "table", "--level", "warn")
		followed.says(t, `"attempt":2`) // of a run that goes on
		close(open)
		for name, b := range map[string]*background{"lines": followed, "table": table} {
			if code := <-b.ended; code != 0 || b.stderr.String() != "" {
				t.Errorf("%s: exit code %d, %s", name, code, b.stderr)
			}
		}
		if n := strings.Count(followed.stdout.String(), "\n"); n != 5 {
			t.Errorf("%d lines were followed:\n%s", n, followed.stdout)
		}
		if text := table.stdout.String(); strings.Contains(text, "try") || !strings.Contains(text, "ERROR") || strings.Contains(text, "\x1b") {
			t.Errorf("the table:\n%s", text)
		}
		for args, want := range map[string]string{
			"":                          "try,two\nlines\x1b[31m,try,two\nlines\x1b[31m,the end",
			"--attempt 1":               "try,two\nlines\x1b[31m",
			"--level error":             "the end",
			"--attempt 1 --level error": "",
		} {
			var lines []struct {
				Message string `json:"message"`
			}
			text := s.ok(append([]string{"job", "logs", id, "-q", "-o", "json"}, strings.Fields(args)...)...)
			if err := json.Unmarshal([]byte(text), &lines); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, l := range lines {
				got = append(got, l.Message)
			}
			if strings.Join(got, ",") != want {
				t.Errorf("%s: %q", args, got)
			}
		}
	})
}
