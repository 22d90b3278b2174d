package filewatch

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// TestWritten: each write is told of, and that a file has gone, but not what is written to the one
// that only has to stay.
func TestWritten(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("there is none here")
	}
	log, main := open(t, "log"), open(t, "main")
	w := Of(log.Name(), main.Name())
	if w == nil {
		t.Skip("NOT TESTED: this user can have no more of these")
	}
	defer w.Close()
	for i := range 100 {
		if _, err := main.WriteAt([]byte("x"), int64(i)); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-w.Written():
		t.Error("it is told what is written to the other file")
	case <-time.After(50 * time.Millisecond):
	}
	for i := range 100 {
		if _, err := log.WriteAt([]byte("x"), int64(i)); err != nil {
			t.Fatal(err)
		}
		<-w.Written()
	}
	for drained := false; !drained; {
		select {
		case <-w.Written():
		case <-time.After(50 * time.Millisecond):
			drained = true
		}
	}
	if err := os.Remove(main.Name()); err != nil {
		t.Fatal(err)
	}
	<-w.Written()
}

// TestNone: there is none of a file that is not there, and in a bubble, whose time goes on.
func TestNone(t *testing.T) {
	t.Parallel()
	log := open(t, "log")
	if w := Of(log.Name(), log.Name()+"2"); w != nil {
		t.Error("a file is watched that does not exist")
	}
	synctest.Test(t, func(t *testing.T) {
		w := Of(log.Name(), log.Name())
		defer w.Close()
		time.Sleep(time.Hour) //nolint:forbidigo // of a bubble
		if w != nil || w.Written() != nil {
			t.Error("a file is watched in a bubble")
		}
	})
}

// TestPause: one write is told at once, and many as few.
func TestPause(t *testing.T) {
	t.Parallel()
	var p pause
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, want := range []time.Duration{shortest, 2 * shortest, 4 * shortest, 8 * shortest, longest, longest} {
		got := p.after(now)
		if got != want {
			t.Errorf("the pause is %v, not %v", got, want)
		}
		now = now.Add(got)
	}
	if got := p.after(now.Add(2 * steady)); got != shortest {
		t.Errorf("after a while without any it is %v", got)
	}
}
