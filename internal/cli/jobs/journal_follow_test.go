package jobs

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/events"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestFollowWhatIsForgotten follows a journal whose end is removed.
func TestFollowWhatIsForgotten(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 31, 17, 30, 0, 0, time.UTC)
	details := []events.Detail{
		{Dropped: 2},
		{Message: &holdfast.JournalMessage{Seq: 1, At: at.Add(time.Second), Kind: "signal", Name: "s"}},
		{Entry: &holdfast.JournalEntry{Seq: 2, At: at.Add(2 * time.Second), Kind: "step", Path: "b", Name: "b", Lease: 2}},
	}
	for format, want := range map[string][]string{
		output.FormatTable: {
			"SEQ    WHEN                      KIND             PATH    NAME                  DATA",
			"m1     2026-01-31 17:30:01.000Z  sent signal              s",
			"2      2026-01-31 17:30:02.000Z  step             b       b",
		},
		output.FormatLines: {
			`{"entry":null,"message":{"seq":1,"at":"2026-01-31T17:30:01Z","kind":"signal","name":"s","unread":false}}`,
			`{"entry":{"seq":2,"at":"2026-01-31T17:30:02Z","kind":"step","path":"b","name":"b","lease":2},"message":null}`,
		},
	} {
		var stdout, stderr bytes.Buffer
		a := verbs{app.New(app.Env{Stdout: &stdout, Stderr: &stderr, Now: time.Now, Terminal: func(any) bool { return false }})}
		a.Asked = format
		out, err := a.followed(views.JournalColumns...)
		if err == nil {
			err = a.writeDetails(out, func(yield func(events.Detail, error) bool) {
				for _, d := range details {
					yield(d, nil)
				}
			})
		}
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Join(want, "\n")+"\n", stdout.String()); diff != "" {
			t.Error(diff)
		}
		if told := strings.Contains(stderr.String(), "entries from 2 on were dropped"); told != (format == output.FormatTable) {
			t.Errorf("%s: %q", format, stderr.String())
		}
	}
}
