package vet

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// module writes a module with a stub of the library, whose Run can sleep, and more files.
func module(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	all := map[string]string{
		"go.mod":      "module " + library + "\n\ngo 1.26\n",
		"holdfast.go": "package holdfast\n\ntype Run struct{}\n\nfunc (r *Run) Sleep(d int) error { return nil }\n",
	}
	maps.Copy(all, files)
	for name, text := range all {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const handler = `package %

import "github.com/holdfastdev/holdfast"

func handle(run *holdfast.Run) {
	run.Sleep(1)
}
`

func in(name string) string { return strings.Replace(handler, "%", name, 1) }

func TestPackages(t *testing.T) {
	t.Parallel()
	const dropped = "the error of run.Sleep is dropped; return it, or handle it"
	dir := module(t, map[string]string{
		"b/b.go":      in("b"),
		"a/a.go":      in("a"),
		"a/x_test.go": strings.ReplaceAll(in("a"), "handle", "handleInTest"),
		"c/c.go":      "package c\n",
	})
	a, b := Finding{filepath.Join("a", "a.go"), 6, 2, dropped}, Finding{filepath.Join("b", "b.go"), 6, 2, dropped}
	test := Finding{filepath.Join("a", "x_test.go"), 6, 2, dropped}
	for _, c := range []struct {
		params Params
		want   []Finding
	}{
		{Params{Patterns: []string{"./..."}}, []Finding{a, b}},
		{Params{Patterns: []string{"./...", "./a"}, Tests: true}, []Finding{a, test, b}},
		{Params{Patterns: []string{"./b", "./c"}}, []Finding{b}},
		{Params{Patterns: []string{"./c"}}, nil},
	} {
		c.params.Dir = dir
		got, err := Packages(t.Context(), c.params)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%v: %s", c.params, diff)
		}
	}
	// A file outside the directory keeps its whole path.
	got, err := Packages(t.Context(), Params{Dir: filepath.Join(dir, "a"), Patterns: []string{"../b"}})
	if err != nil || len(got) != 1 || got[0].File != filepath.Join(dir, "b", "b.go") {
		t.Errorf("%v, %v", got, err)
	}
}

func TestBrokenPackages(t *testing.T) {
	t.Parallel()
	dir := module(t, map[string]string{
		"one/one.go": "package one\n\nvar x int = nothing\n",
		"two/two.go": "package two\n\nvar x, y int = nothing, nothing\n",
		"use/use.go": "package use\n\nimport _ \"example.com/nowhere\"\n",
	})
	for pattern, want := range map[string]string{
		"./one":               "one.go:3:13: undefined: nothing",
		"./two":               "(and more: 2 errors in all)",
		"./use":               "example.com/nowhere",
		"./none":              "none",
		library + "/none/...": "no packages match " + library + "/none/...",
	} {
		_, err := Packages(t.Context(), Params{Dir: dir, Patterns: []string{pattern}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", pattern, err, want)
		}
	}
}

func TestNoModule(t *testing.T) {
	t.Parallel()
	if got, err := Packages(t.Context(), Params{Dir: t.TempDir(), Patterns: []string{"./..."}}); err == nil {
		t.Errorf("%v without an error", got)
	}
}

func TestInterruptedPackages(t *testing.T) {
	t.Parallel()
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := Packages(ctx, Params{Dir: module(t, nil), Patterns: []string{"."}}); !errors.Is(err, why) {
		t.Error(err)
	}
}
