package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/internal/racing"
)

// sources is a module with a stub of the library and three packages that use it.
var sources = map[string]string{
	"go.mod":      "module github.com/holdfastdev/holdfast\n\ngo 1.26\n",
	"holdfast.go": "package holdfast\n\ntype Run struct{}\n\nfunc (r *Run) Sleep(d int) error { return nil }\n",
	"flows/flows.go": `package flows

import (
	"time"

	"github.com/holdfastdev/holdfast"
)

func Handle(run *holdfast.Run, in int) (time.Time, error) {
	_ = run.Sleep(1)
	return time.Now(), nil
}
`,
	"clean/clean.go": `package clean

import "github.com/holdfastdev/holdfast"

func Handle(run *holdfast.Run, in int) error { return run.Sleep(1) }
`,
	"clean/clean_test.go": `package clean

import "github.com/holdfastdev/holdfast"

func dirty(run *holdfast.Run) { run.Sleep(1) }
`,
	"broken/testdata/broken.go": "package broken\n\nvar x int = nothing\n",
}

func TestVet(t *testing.T) {
	racing.Off(t) // one command after the other
	s := newShell(t)
	t.Chdir(s.dir)
	for name, text := range sources {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const (
		dropped = "the error of run.Sleep is dropped; return it, or handle it"
		clock   = "time.Now differs on every replay; use run.Now"
	)
	flows, clean := filepath.Join("flows", "flows.go"), filepath.Join("clean", "clean_test.go")
	lines := flows + ":10:6: " + dropped + "\n" + flows + ":11:9: " + clock + "\n"
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{nil, 1, lines},
		{[]string{"./..."}, 1, lines},
		{[]string{"./clean", "./flows"}, 1, lines},
		{[]string{"./clean"}, 0, ""},
		{[]string{"./clean", "--tests"}, 1, clean + ":5:33: " + dropped + "\n"},
		{[]string{"./clean", "--output", "json"}, 0, "[]\n"},
	} {
		got := s.run(append([]string{"vet"}, test.args...)...)
		if diff := cmp.Diff(outcome{test.code, test.want, ""}, got, cmp.AllowUnexported(outcome{})); diff != "" {
			t.Errorf("holdfast vet %v: %s", test.args, diff)
		}
	}

	got := s.run("vet", "--output", "json")
	var found []views.Finding
	s.decode(got.stdout, &found)
	want := []views.Finding{
		{File: flows, Line: 10, Column: 6, Message: dropped}, {File: flows, Line: 11, Column: 9, Message: clock},
	}
	if diff := cmp.Diff(want, found); diff != "" || got.code != 1 {
		t.Errorf("%d, %s", got.code, diff)
	}

	s.expect(s.run("vet", "./broken/testdata"), 1, "broken.go:3:13: undefined: nothing")
	s.expect(s.run("vet", "./missing"), 1, "missing")
}
