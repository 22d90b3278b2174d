package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/logs/logstest"
	"github.com/holdfastdev/holdfast/store"
)

// TestOutageIsSaidOnce: an outage is logged once, then at intervals, and its end.
func TestOutageIsSaidOnce(t *testing.T) {
	var log logstest.Book
	inBed(t, Config{Logger: log.Logger(t, slog.LevelInfo)}, func(b *bed) {
		b.handle("k", ok)
		b.run()
		away := fmt.Errorf("%w: connection refused", store.ErrUnavailable)
		fail := func(err error) {
			b.st.hook(func(p *probe) {
				p.onApply = func(*store.Batch) error { return err }
				p.onBeat = func() error { return err }
				p.onClaim = func(_ store.ClaimParams, jobs []store.Claimed, e error) ([]store.Claimed, error) {
					return jobs, errors.Join(err, e)
				}
			})
		}
		fail(away)
		if err := b.e.Enqueue(b.t.Context(), []*store.Enqueue{b.job("k")}); err == nil {
			t.Fatal("it was enqueued")
		}
		const message = "a database call failed"
		said := log.Lines(t, message)
		if len(said) != 1 || said[0].Text("level") != "WARN" || !strings.Contains(said[0].Text("error"), "connection refused") {
			t.Fatalf("it says %v", said)
		}
		time.Sleep(10 * time.Minute)
		if n := len(log.Lines(t, message)); n < 5 || n > 2+int(10*time.Minute/logs.SayOutage) {
			t.Errorf("in ten minutes it says so %d times", n)
		}
		if back := log.Lines(t, "the database answers again"); len(back) > 0 {
			t.Errorf("it is not back: %v", back)
		}
		fail(nil)
		time.Sleep(time.Minute)
		back := log.Only(t, "INFO", "the database answers again", nil)
		if took, _ := back["away"].(float64); time.Duration(took) < 10*time.Minute {
			t.Errorf("it was away for %v", back["away"])
		}
		if n := len(log.Lines(t, "")); n > 40 {
			t.Errorf("there are %d lines", n)
		}
	})
}
