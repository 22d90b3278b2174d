package engine

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// TestLimiter: ten lines a second of each source, and the count of the others, also when nothing
// follows.
func TestLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logbook
		l := newLimiter(log.logger(t, slog.LevelInfo))
		began := time.Now()
		const seconds, rate = 7, 1000
		for range seconds * rate {
			l.say(slog.LevelWarn, about{kind: "a"}, "boom")
			time.Sleep(time.Second / rate)
		}
		l.say(slog.LevelError, about{kind: "b"}, "boom")
		l.say(slog.LevelError, about{kind: "a"}, "bang")
		time.Sleep(time.Hour)
		said, left := 0, 0.0
		var times []time.Time
		for _, e := range log.lines(t, "") {
			at, err := time.Parse(time.RFC3339Nano, e.text("time"))
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case e["kind"] == "b" || e["msg"] == "bang":
				continue
			case e["msg"] == "boom":
				said++
				times = append(times, at)
				if i := len(times) - 1 - linesASecond; i >= 0 && at.Sub(times[i]) < time.Second {
					t.Errorf("line %d comes %v after the one before the last ten", said, at.Sub(times[i]))
				}
			default:
				n, _ := e["lines"].(float64)
				left += n
				if e.text("level") != "WARN" || e["kind"] != "a" || e["cause"] != "boom" || n == 0 || at.Sub(began) > (seconds+1)*time.Second {
					t.Errorf("the count: %v", e)
				}
			}
		}
		if said < seconds*linesASecond || float64(said)+left != seconds*rate {
			t.Errorf("%d lines and %v left out, of %d", said, left, seconds*rate)
		}
		if n := len(log.lines(t, "boom")) + len(log.lines(t, "bang")); n != said+2 {
			t.Errorf("other sources are not let through: %d lines", n)
		}
		// Of what stops in the middle, too.
		for range 100 {
			l.say(slog.LevelError, about{kind: "c"}, "boom")
		}
		l.flush()
		last := log.lines(t, "similar lines were left out")
		if e := last[len(last)-1]; e["kind"] != "c" || e["lines"] != 90.0 || e.text("level") != "ERROR" {
			t.Errorf("the last count: %v", e)
		}
		synctest.Wait()
	})
}

// TestLimiterIsBounded, whatever kinds there are, and forgets those that are quiet.
func TestLimiterIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logbook
		l := newLimiter(log.logger(t, slog.LevelInfo))
		const kinds = 50 * maxSources
		for i := range kinds {
			l.say(slog.LevelWarn, about{kind: fmt.Sprint("kind", i)}, "boom")
		}
		if n := len(l.sources); n > maxSources+1 {
			t.Errorf("it knows %d sources", n)
		}
		time.Sleep(2 * time.Second)
		said := len(log.lines(t, "boom"))
		if said != maxSources+linesASecond {
			t.Errorf("there are %d lines", said)
		}
		e := log.only(t, "WARN", "similar lines", map[string]string{"cause": "boom"})
		if e["lines"] != float64(kinds-said) || e["kind"] != nil {
			t.Errorf("the count: %v", e)
		}
		l.say(slog.LevelWarn, about{kind: "new"}, "boom")
		if len(l.sources) != 1 || len(log.lines(t, "boom")) != said+1 {
			t.Errorf("it still knows %d sources: %v", len(l.sources), slices.Collect(maps.Keys(l.sources)))
		}
	})
}

// TestStormOfFailuresIsCounted by the time the node has stopped: each line is there or in a count.
func TestStormOfFailuresIsCounted(t *testing.T) {
	var log logbook
	inBed(t, Config{Logger: log.logger(t, slog.LevelInfo), Node: NodeConfig{Slots: 1000}}, func(b *bed) {
		failed := make(chan struct{}, 500)
		b.handle("k", func(context.Context, *Run) ([]byte, error) {
			failed <- struct{}{}
			return nil, &FailError{errBoom}
		})
		b.run()
		var jobs []*store.Enqueue
		for range cap(failed) {
			jobs = append(jobs, b.job("k"))
		}
		b.enqueue(jobs...)
		for range cap(failed) {
			<-failed
		}
		b.halt() // in the same moment
		said, left := len(log.lines(t, "job failed")), 0.0
		for _, e := range log.lines(t, "similar lines were left out") {
			n, _ := e["lines"].(float64)
			left += n
		}
		if float64(said)+left != float64(cap(failed)) || said != linesASecond {
			t.Errorf("%d lines, and %v left out", said, left)
		}
		if all := log.lines(t, ""); all[len(all)-1].text("msg") != "node stopped" {
			t.Errorf("the last line: %v", all[len(all)-1])
		}
	})
}
