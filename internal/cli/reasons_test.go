package cli

import (
	"slices"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// TestReasons: what a person does to a job is recorded with the reason given, whichever verb it is.
func TestReasons(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	id := s.enqueue("mail", "--in", "1h")
	var want []string
	for _, test := range []struct {
		action string
		args   []string
	}{
		{"edit", []string{"set", id, "--priority", "1"}},
		{"edit", []string{"set", id, "--args", `{"n":1}`}},
		{"edit", []string{"tag", id, "x"}},
		{"pause", []string{"pause", id}},
		{"resume", []string{"resume", id}},
		{"retry", []string{"retry", id}},
		{"cancel", []string{"cancel", id}},
		{"continue", []string{"continue-as-new", id}},
		{"terminate", []string{"cancel", "--kind", "mail", "--terminate"}},
	} {
		reason := "why " + test.action
		want = append(want, test.action+" "+reason)
		s.ok(slices.Concat([]string{"job"}, test.args, []string{"--reason", reason})...)
	}
	var job struct{ Actions []actionRead }
	s.decode(s.ok("job", "get", id, "-o", "json"), &job)
	var got []string
	for _, a := range job.Actions {
		got = append(got, a.What())
	}
	if !slices.Equal(got, want) {
		t.Errorf("recorded is %q, want %q", got, want)
	}
	s.ok("job", "delete", id, "--reason", "it held a password")
	if got := s.text("SELECT detail FROM holdfast_audit WHERE action = 'delete'"); got != "it held a password" {
		t.Errorf("the reason of the delete is %q", got)
	}
}

// text is the text that a query without the library finds.
func (s *shell) text(query string) string {
	s.Helper()
	conn, err := sqlite.OpenConn(s.db)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	stmt, _, err := conn.PrepareTransient(query)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = stmt.Finalize() }()
	text, err := sqlitex.ResultText(stmt)
	if err != nil {
		s.Fatal(err)
	}
	return text
}
