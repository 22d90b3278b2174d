package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// written is a directory with one file of tests, as an argument.
func written(t *testing.T, pkg, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a_test.go"), []byte("package a\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	return pkg + "=" + dir
}

func TestRest(t *testing.T) {
	dirs := []string{
		written(t, "direct", `func TestOff(t *testing.T) { racing.Off(t) }
			func TestPart(t *testing.T) { t.Run("a", func(t *testing.T) { racing.Off(t) }) }
			func TestOn(t *testing.T) { racing.On(t) }`),
		written(t, "throughFunctions", `func TestLess(t *testing.T) { each(t, func() {}) }
			func TestAsValue(t *testing.T) { call(few) }
			func TestMethod(t *testing.T) { x.few() }
			func TestPlain(t *testing.T) { t.Parallel(); loop() }
			func loop() { loop() }
			func each(t *testing.T, f func()) { few() }
			func few() bool { return racing.Less() }`),
		written(t, "everything", `func TestAnything(t *testing.T) {}
			func TestMain(m *testing.M) { if racing.Less() { return } }`),
		written(t, "halves", `func TestBoth(t *testing.T) { apitest.OnBoth(t, func() {}) }
			func TestHalf(t *testing.T) { t.Run("a", racing.On); t.Run("b", racing.Off) }`),
		written(t, "nothing", `func TestPlain(t *testing.T) {}`),
		written(t, "empty", ``),
	}
	var out bytes.Buffer
	if err := run(&out, dirs); err != nil {
		t.Fatal(err)
	}
	want := "some ^(TestOff|TestPart)$ direct\nsome ^(TestAsValue|TestLess|TestMethod)$ throughFunctions\nall everything\n" +
		"some ^(TestBoth|TestHalf)$ halves\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestUsage(t *testing.T) {
	if err := run(&bytes.Buffer{}, []string{"one"}); !errors.Is(err, errUsage) {
		t.Error(err)
	}
	if err := run(&bytes.Buffer{}, []string{written(t, "broken", "func")}); err == nil {
		t.Error("a file that does not parse is passed over")
	}
}
