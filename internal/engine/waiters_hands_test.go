package engine

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// TestTerminatedHereIsKnownAtOnce: the job's handler still runs in the waiting process, and the
// wait ends all the same.
func TestTerminatedHereIsKnownAtOnce(t *testing.T) {
	inTown(t, func(t *testing.T, w *town) {
		a, b := w.move(), w.move()
		a.serve(until)
		for _, by := range []*house{a, b} {
			for past := range 5 { // between two beats
				id := a.enqueue("k", 1)[0]
				time.Sleep(10*time.Second + time.Duration(past)*900*time.Millisecond)
				terminated := make(chan time.Time, 1)
				time.AfterFunc(time.Second, func() {
					terminated <- time.Now()
					if _, err := by.e.Cancel(t.Context(), store.CancelParams{Jobs: []store.ID{id}, Terminate: true}); err != nil {
						t.Error(err)
					}
				})
				known := a.waitAll([]store.ID{id})
				if late := known[0].Sub(<-terminated); late > 3*time.Millisecond {
					t.Errorf("terminated here: %t; the end was known after %v", by == a, late)
				}
			}
		}
	})
}

// TestOutcomeThatTheStoreChangesIsKnownAtOnce: a cancel that the run has not seen changes its
// outcome, which is polled while the run is still in its slot.
func TestOutcomeThatTheStoreChangesIsKnownAtOnce(t *testing.T) {
	inTown(t, func(t *testing.T, w *town) {
		a := w.move()
		open := make(chan struct{})
		a.serve(func(context.Context, Attempt) ([]byte, error) {
			<-open
			return nil, errBoom
		})
		ids := a.enqueue("k", 100)
		time.Sleep(time.Second)
		if _, _, err := w.st.Cancel(t.Context(), store.CancelParams{Jobs: ids}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		time.AfterFunc(time.Millisecond, func() { close(open) })
		for _, at := range a.waitAll(ids) {
			if late := at.Sub(began); late > 100*time.Millisecond {
				t.Fatalf("an end was known after %v", late)
			}
		}
	})
}

// drawl is a slow log.
type drawl struct{ slog.Handler }

func (d drawl) Enabled(context.Context, slog.Level) bool { return true }

func (d drawl) Handle(context.Context, slog.Record) error {
	time.Sleep(5 * time.Millisecond)
	return nil
}

func (d drawl) WithAttrs([]slog.Attr) slog.Handler { return d }

func (d drawl) WithGroup(string) slog.Handler { return d }

// TestWaitBesideASlowLog: a wait that begins after the commit and before the slot is free does not
// miss the end.
func TestWaitBesideASlowLog(t *testing.T) {
	inTown(t, func(t *testing.T, w *town) {
		a := &house{Store: w.st, town: w}
		a.e = New(a, Config{Logger: slog.New(drawl{slog.DiscardHandler})})
		t.Cleanup(func() {
			if err := a.e.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
		a.serve(func(context.Context, Attempt) ([]byte, error) {
			time.Sleep(50 * time.Millisecond)
			return nil, &usercode.FailError{Err: errors.New("no")}
		})
		for at := 40 * time.Millisecond; at < 80*time.Millisecond; at += time.Millisecond {
			id := a.enqueue("k", 1)[0]
			began := time.Now()
			time.Sleep(at)
			known := a.waitAll([]store.ID{id})
			if late := known[0].Sub(began); late > 120*time.Millisecond {
				t.Errorf("a wait that began after %v took until %v", at, late)
			}
			time.Sleep(time.Second)
		}
	})
}
