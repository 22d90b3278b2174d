package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// TestOutageIsSaidOnce, now and then, and its end.
func TestOutageIsSaidOnce(t *testing.T) {
	var log logbook
	inBed(t, Config{Logger: log.logger(t, slog.LevelInfo)}, func(b *bed) {
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
		said := log.lines(t, message)
		if len(said) != 1 || said[0].text("level") != "WARN" || !strings.Contains(said[0].text("error"), "connection refused") {
			t.Fatalf("it says %v", said)
		}
		time.Sleep(10 * time.Minute)
		if n := len(log.lines(t, message)); n < 5 || n > 2+int(10*time.Minute/sayOutage) {
			t.Errorf("in ten minutes it says so %d times", n)
		}
		if back := log.lines(t, "the database answers again"); len(back) > 0 {
			t.Errorf("it is not back: %v", back)
		}
		fail(nil)
		time.Sleep(time.Minute)
		back := log.only(t, "INFO", "the database answers again", nil)
		if took, _ := back["away"].(float64); time.Duration(took) < 10*time.Minute {
			t.Errorf("it was away for %v", back["away"])
		}
		if n := len(log.lines(t, "")); n > 40 {
			t.Errorf("there are %d lines", n)
		}
	})
}

// TestFlappingDatabaseIsNoStorm: one that answers every second call.
func TestFlappingDatabaseIsNoStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logbook
		o := &outage{log: log.logger(t, slog.LevelInfo)}
		for range 6000 {
			o.failed(callClaim, errBoom)
			time.Sleep(5 * time.Millisecond)
			o.succeeded(callClaim)
			o.stumbled("retention", errBoom)
			time.Sleep(5 * time.Millisecond)
		}
		lines := log.lines(t, "")
		if n := len(lines); n < 3 || n > 6 {
			t.Errorf("%d lines in a minute", n)
		}
		total := 0.0
		for _, e := range log.lines(t, "a database call failed") {
			n, _ := e["failures"].(float64)
			total += n
		}
		if total < 6000 {
			t.Errorf("they tell of %v failures", total)
		}
		// A call that nobody repeats any more is not waited for.
		o.failed(callCommit, errBoom)
		time.Sleep(sayOutage)
		o.failed(callCommit, errBoom)
		before := len(log.lines(t, "the database answers again"))
		time.Sleep(givenUp)
		o.succeeded(callBeat)
		if after := len(log.lines(t, "the database answers again")); after != before+1 {
			t.Errorf("%d lines, then %d", before, after)
		}
	})
}
