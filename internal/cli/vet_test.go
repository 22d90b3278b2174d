package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfastdev/holdfast/internal/binaries"
	"github.com/holdfastdev/holdfast/internal/vet"
	"github.com/holdfastdev/holdfast/internal/vet/program"
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
	s := newShell(t)
	bin := filepath.Dir(binaries.Path(t, "../../cmd/holdfast-vet"))
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
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
		var stdout, stderr bytes.Buffer
		got = outcome{code: program.Run(t.Context(), test.args, &stdout, &stderr)}
		got.stdout, got.stderr = stdout.String(), stderr.String()
		if diff := cmp.Diff(outcome{test.code, test.want, ""}, got, cmp.AllowUnexported(outcome{})); diff != "" {
			t.Errorf("holdfast-vet %v: %s", test.args, diff)
		}
	}

	got := s.run("vet", "--output", "json")
	var found []vet.Finding
	s.decode(got.stdout, &found)
	want := []vet.Finding{
		{File: flows, Line: 10, Column: 6, Message: dropped}, {File: flows, Line: 11, Column: 9, Message: clock},
	}
	if diff := cmp.Diff(want, found); diff != "" || got.code != 1 {
		t.Errorf("%d, %s", got.code, diff)
	}

	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"vet", "./broken/testdata"}, "broken.go:3:13: undefined: nothing\n"},
		{[]string{"vet", "./missing"}, "missing"},
	} {
		got := s.run(test.args...)
		if got.code != 1 || got.stdout != "" || !strings.HasPrefix(got.stderr, "holdfast-vet: ") || !strings.Contains(got.stderr, test.want) {
			t.Errorf("holdfast %v: %+v, want %q", test.args, got, test.want)
		}
	}
}

// TestVetByGo: without the program the go command builds it.
func TestVetByGo(t *testing.T) {
	s := newShell(t)
	goCommand, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(goCommand))
	t.Chdir("../..")
	if got := s.run("vet", "./internal/gcra"); got != (outcome{}) {
		t.Errorf("%+v", got)
	}
	got := s.run("vet", "./missing")
	if got.code != 1 || !strings.HasPrefix(got.stderr, "holdfast-vet: ") || strings.Contains(got.stderr, "exit status") {
		t.Errorf("%+v", got)
	}
	t.Chdir(s.dir) // in no module: there is nothing to build it from
	s.expect(s.run("vet"), 1, "go install github.com/holdfastdev/holdfast/cmd/holdfast-vet@latest")
	t.Setenv("PATH", s.dir)
	s.expect(s.run("vet"), 1, "executable file not found", "go install github.com/holdfastdev/holdfast/cmd/holdfast-vet@latest")
}

// TestVetProgram is the order in which the program is looked for.
func TestVetProgram(t *testing.T) {
	t.Parallel()
	beside := filepath.Join("opt", "bin", "holdfast-vet")
	const inPath, byGo = "/usr/bin/holdfast-vet", "github.com/holdfastdev/holdfast/cmd/holdfast-vet"
	for _, test := range []struct {
		version string
		there   map[string]string
		want    []string
	}{
		{"v1.2.3", map[string]string{beside: beside, "holdfast-vet": inPath}, []string{beside}},
		{"v1.2.3", map[string]string{"holdfast-vet": inPath}, []string{inPath}},
		{"v1.2.3", nil, []string{"go", "run", byGo + "@v1.2.3"}},
		{"v1.2.4-0.20261128+dirty", nil, []string{"go", "run", byGo}},
		{"(devel)", nil, []string{"go", "run", byGo}},
	} {
		look := func(name string) (string, error) {
			if path, ok := test.there[name]; ok {
				return path, nil
			}
			return "", errors.New("not there")
		}
		if diff := cmp.Diff(test.want, vetProgramOf(filepath.Join("opt", "bin", "holdfast"), test.version, look)); diff != "" {
			t.Errorf("%s, %v: %s", test.version, test.there, diff)
		}
	}
}

// TestVetAlone: what the verb refuses itself.
func TestVetAlone(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--output", "id"}, {"--nothing"}} {
		var stdout, stderr bytes.Buffer
		code := program.Run(t.Context(), args, &stdout, &stderr)
		if code != 64 || stdout.Len() > 0 || !strings.HasSuffix(stderr.String(), "; see: holdfast-vet --help\n") {
			t.Errorf("holdfast-vet %v: %d, %q, %q", args, code, stdout.String(), stderr.String())
		}
	}
}
