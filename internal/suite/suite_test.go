package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// scratch makes a module with a package of tests, and goes there.
func scratch(t *testing.T, tests string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for file, text := range map[string]string{
		"go.mod": "module scratch\n\ngo 1.26\n", "scratch_test.go": "package scratch\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\n" + tests,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestJudge: what passes twice when it is alone is flaky, and what fails is not.
func TestJudge(t *testing.T) {
	scratch(t, `
func TestGood(t *testing.T) {}

func TestBad(t *testing.T) {
	t.Run("part/of it", func(t *testing.T) { t.Error("never") })
}

func TestFlaky(t *testing.T) {
	t.Run("first", func(t *testing.T) {
		if os.WriteFile("seen", nil, 0o600); os.Getenv("SEEN") == "" {
			t.Log("seed 7")
		}
		if _, err := os.Stat("before"); err != nil {
			os.Rename("seen", "before")
			t.Error("once")
		}
	})
}
`)
	flakes := filepath.Join(t.TempDir(), "flakes")
	t.Setenv("CI_FLAKES", flakes)
	var out bytes.Buffer
	c := command{packages: []string{"."}}
	r, err := goTest(t.Context(), c, &out)
	if err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	bad, flaky := name{"scratch", "TestBad/part/of_it"}, name{"scratch", "TestFlaky/first"}
	if r.passed != 1 || !slices.Equal(r.failed, []name{bad, flaky}) || r.unbuilt {
		t.Fatalf("%+v\n%s", r, &out)
	}
	found, lasting, err := judge(t.Context(), c, r, &out)
	if err != nil || !slices.Equal(found, []name{flaky}) || !slices.Equal(lasting, []name{bad}) {
		t.Errorf("flaky %v, lasting %v, %v\n%s", found, lasting, err, &out)
	}
	if err := keepFlaky(found, r); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(flakes)
	if err != nil || !strings.Contains(string(kept), "FLAKY: scratch TestFlaky/first\n") || !strings.Contains(string(kept), "seed 7") {
		t.Errorf("kept is %q, %v", kept, err)
	}
}

// TestNothingIsHidden: tests that cannot be built, a process that ends in the middle, and a package
// that fails outside of its tests are failures, and none of them is run again as a flaky test that
// passes.
func TestNothingIsHidden(t *testing.T) {
	for what, c := range map[string]struct {
		tests   string
		unbuilt bool
		failed  []name
	}{
		"does not build": {"func TestX(t *testing.T) { nothing() }\n", true, []name{{"scratch", ""}}},
		"ends":           {"func TestX(t *testing.T) { os.Exit(3) }\n", false, []name{{"scratch", "TestX"}}},
		"panics":         {"func TestX(t *testing.T) { panic(1) }\n", false, []name{{"scratch", "TestX"}}},
		"fails outside":  {"func TestX(t *testing.T) {}\nfunc TestMain(m *testing.M) { m.Run(); os.Exit(1) }\n", false, []name{{"scratch", ""}}},
	} {
		t.Run(what, func(t *testing.T) {
			scratch(t, c.tests+"var _ = os.Args\n")
			var out bytes.Buffer
			r, err := goTest(t.Context(), command{packages: []string{"."}}, &out)
			if err != nil || r.unbuilt != c.unbuilt || !slices.Equal(r.failed, c.failed) {
				t.Fatalf("%+v, %v\n%s", r, err, &out)
			}
			flaky, lasting, err := judge(t.Context(), command{packages: []string{"."}}, r, &out)
			if err != nil || len(flaky) > 0 || !slices.Equal(lasting, c.failed) {
				t.Errorf("flaky %v, lasting %v, %v\n%s", flaky, lasting, err, &out)
			}
		})
	}
}

// TestEachPackageIsInOneStage: no package is forgotten, and only those run twice whose tests are
// told apart by their names.
func TestEachPackageIsInOneStage(t *testing.T) {
	packages, err := tests(t.Context(), module+"/...")
	if err != nil || len(packages) < 50 {
		t.Fatalf("%d packages, %v", len(packages), err)
	}
	in := map[string][]string{}
	for _, s := range stages {
		if s.do == nil && s.dir == "" {
			for _, pkg := range s.testsOf(packages) {
				in[pkg] = append(in[pkg], s.name)
			}
		}
	}
	for _, pkg := range packages {
		want := 1
		if strings.HasSuffix(pkg, "/store/sqlite") || strings.HasSuffix(pkg, "/store/postgres") {
			want = 2
		}
		if len(in[pkg]) != want {
			t.Errorf("%s is in the stages %q", pkg, in[pkg])
		}
	}
}

// TestSoakTests: those of files with the tag, and no others.
func TestSoakTests(t *testing.T) {
	dir := t.TempDir()
	for file, text := range map[string]string{
		"a_test.go": "package a\n\nfunc TestA(t *testing.T) {}\n",
		"b_test.go": "//go:build soak && unix\n\npackage a\n\nfunc TestMain(m *testing.M) {}\n\n" +
			"func TestC(t *testing.T) {}\n\nfunc TestB(t *testing.T) {}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := soakTests(dir); err != nil || !slices.Equal(got, []string{"TestB", "TestC"}) {
		t.Errorf("%q, %v", got, err)
	}
}
