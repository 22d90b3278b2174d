package sqlite_test

import (
	"context"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// TestWritesAreHeard: what another store writes is told of by a store that would look for it only
// in an hour, and what it writes itself is not.
func TestWritesAreHeard(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere it has to be looked for")
	}
	source := sqlite.File(file(t))
	other := open(t, source)
	source.Poll = time.Hour
	for range 10 {
		s := open(t, source)
		ctx, cancel := context.WithCancel(t.Context())
		wakes, ended := make(chan store.Wake, 1000), make(chan error)
		go func() { ended <- s.Watch(ctx, func(w store.Wake) { wakes <- w }) }()
		for range 5 {
			must(t, enqueue(ctx, s, 1))
		}
		select {
		case w := <-wakes:
			t.Fatalf("it is told of what it writes itself: %+v", w)
		case <-time.After(20 * time.Millisecond):
		}
		for told := false; !told; { // one write may be taken for one of its own, if they come together
			must(t, enqueue(ctx, other, 1))
			select {
			case <-wakes:
				told = true
			case <-time.After(100 * time.Millisecond):
			}
		}
		cancel()
		must(t, <-ended)
	}
}

// TestWatchInABubble: time goes on in a bubble with a store that watches a file.
func TestWatchInABubble(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "holdfast.db")
	synctest.Test(t, func(t *testing.T) {
		source := sqlite.File(path)
		s, err := source.Open(t.Context())
		must(t, err)
		defer func() { must(t, s.Close()) }()
		ctx, cancel := context.WithCancel(t.Context())
		wakes, ended := make(chan store.Wake, 1000), make(chan error)
		go func() { ended <- s.Watch(ctx, func(w store.Wake) { wakes <- w }) }()
		must(t, enqueue(t.Context(), s, 1))
		time.Sleep(time.Minute) //nolint:forbidigo // of the bubble
		other, err := source.Open(t.Context())
		must(t, err)
		must(t, enqueue(t.Context(), other, 1))
		<-wakes
		must(t, other.Close())
		cancel()
		must(t, <-ended)
	})
}
