package jobs

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestFollowWhatIsForgotten follows a journal whose end is removed.
func TestFollowWhatIsForgotten(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 31, 17, 30, 0, 0, time.UTC)
	entry := func(seq int64, name string, lease int64) holdfast.JournalEntry {
		return holdfast.JournalEntry{Seq: seq, At: at.Add(time.Duration(lease) * time.Second), Kind: "step", Path: name, Name: name, Lease: lease}
	}
	message := holdfast.JournalMessage{Seq: 1, At: at.Add(time.Second), Kind: "signal", Name: "s"}
	before := holdfast.Journal{Entries: []holdfast.JournalEntry{entry(1, "a", 1), entry(2, "b", 1), entry(3, "c", 1)}}
	now := holdfast.Journal{
		Entries:  []holdfast.JournalEntry{entry(1, "a", 1), entry(2, "b", 2)},
		Messages: []holdfast.JournalMessage{message},
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
			err = a.writeNew(out, &before, &now)
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

// TestFollowReadsOn: only new elements and the last known one are read; after a change everything
// is read again.
func TestFollowReadsOn(t *testing.T) {
	t.Parallel()
	journal := func(n int64, lease int64, from int64) []holdfast.JournalEntry {
		var entries []holdfast.JournalEntry
		for seq := int64(1); seq <= n; seq++ {
			e := holdfast.JournalEntry{Seq: seq, Kind: "step", Lease: 1}
			if seq >= from {
				e.Lease = lease
			}
			entries = append(entries, e)
		}
		return entries
	}
	for _, c := range []struct {
		name         string
		known, there []holdfast.JournalEntry
		asked        []int64
	}{
		{"from the beginning", nil, journal(2500, 1, 1), []int64{0, 999, 1998}},
		{"nothing new", journal(2500, 1, 1), journal(2500, 1, 1), []int64{2499}},
		{"a few", journal(2500, 1, 1), journal(2510, 1, 1), []int64{2499}},
		{"many", journal(5, 1, 1), journal(1500, 1, 1), []int64{4, 1003}},
		{"a whole page", nil, journal(1000, 1, 1), []int64{0, 999}},
		{"cut off", journal(9, 1, 1), journal(7, 1, 1), []int64{8, 0}},
		{"cut off and gone on", journal(9, 1, 1), journal(12, 2, 5), []int64{8, 0}},
		{"begun anew", journal(3000, 1, 1), journal(1, 2, 1), []int64{2999, 0}},
		{"nothing yet", nil, nil, []int64{0}},
	} {
		var asked []int64
		got, err := readAfter(c.known, func(e *holdfast.JournalEntry) int64 { return e.Seq }, sameEntry,
			func(after int64) ([]holdfast.JournalEntry, error) {
				asked = append(asked, after)
				rest := c.there[min(int(after), len(c.there)):]
				return rest[:min(len(rest), app.MaxPage)], nil
			})
		if err != nil || !cmp.Equal(got, c.there, cmpopts.EquateEmpty()) || !cmp.Equal(asked, c.asked) {
			t.Errorf("%s: asked for what comes after %v, got %d entries, %v", c.name, asked, len(got), err)
		}
	}
}
