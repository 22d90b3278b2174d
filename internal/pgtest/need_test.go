package pgtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestNeed: the result of a test that gets no server.
func TestNeed(t *testing.T) {
	for _, test := range []struct {
		name string
		set  map[string]string
		err  error // nil: the error of looking for a server
		want string
	}{
		{"nothing is there and nobody asked", nil, fmt.Errorf("%w in any of []", ErrNoPrograms), "skipped"},
		{"nothing can be there and nobody asked", nil, errNotUnix, "skipped"},
		{"nothing is there in a pipeline", map[string]string{"CI": "true"}, ErrNoPrograms, "failed"},
		{"what is there does not work", nil, errors.New("initdb: exit status 1"), "failed"},
		{"a server that does not answer", map[string]string{envDatabase: "postgres://127.0.0.1:1/none?sslmode=disable"}, nil, "failed"},
		{"no URL", map[string]string{envDatabase: "://"}, nil, "failed"},
		{"programs that are not there", map[string]string{envBin: t.TempDir()}, nil, "failed"},
		{"programs that do not work", map[string]string{envBin: broken(t)}, nil, "failed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, name := range []string{"CI", envDatabase, envBin, envCluster} {
				t.Setenv(name, test.set[name])
			}
			err := test.err
			if err == nil {
				var c *Cluster
				if c, err = find(); err == nil {
					c.remove()
					t.Fatal("a server was found")
				}
			}
			if got := judge(err); got != test.want {
				t.Errorf("the test is %s, want %s: %v", got, test.want, err)
			}
		})
	}
}

// broken is a directory with programs that fail.
func broken(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"initdb", "postgres"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// judge returns the result of a test that got the error.
func judge(err error) string {
	w := &witness{verdict: "run"}
	over := make(chan struct{})
	go func() { // need may end the goroutine
		defer close(over)
		need(w, err)
	}()
	<-over
	return w.verdict
}

// witness is a test that records how it ends.
type witness struct {
	testing.TB
	verdict string
}

func (*witness) Helper() {}

func (w *witness) Fatalf(string, ...any) { w.end("failed") }

func (w *witness) Skipf(string, ...any) { w.end("skipped") }

func (w *witness) end(verdict string) {
	w.verdict = verdict
	runtime.Goexit()
}
