package logs

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs/logstest"
)

// TestLimiter: ten lines a second of each source, and the count of the others, even if no line
// follows.
func TestLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logstest.Book
		l := NewLimiter(log.Logger(t, slog.LevelInfo))
		began := time.Now()
		const seconds, rate = 7, 1000
		for range seconds * rate {
			l.Say(slog.LevelWarn, About{Kind: "a"}, "boom")
			time.Sleep(time.Second / rate)
		}
		l.Say(slog.LevelError, About{Kind: "b"}, "boom")
		l.Say(slog.LevelError, About{Kind: "a"}, "bang")
		time.Sleep(time.Hour)
		said, left := 0, 0.0
		var times []time.Time
		for _, e := range log.Lines(t, "") {
			at, err := time.Parse(time.RFC3339Nano, e.Text("time"))
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case e["kind"] == "b" || e["msg"] == "bang":
				continue
			case e["msg"] == "boom":
				said++
				times = append(times, at)
				if i := len(times) - 1 - LinesASecond; i >= 0 && at.Sub(times[i]) < time.Second {
					t.Errorf("line %d comes %v after the one before the last ten", said, at.Sub(times[i]))
				}
			default:
				n, _ := e["lines"].(float64)
				left += n
				if e.Text("level") != "WARN" || e["kind"] != "a" || e["cause"] != "boom" || n == 0 || at.Sub(began) > (seconds+1)*time.Second {
					t.Errorf("the count: %v", e)
				}
			}
		}
		if said < seconds*LinesASecond || float64(said)+left != seconds*rate {
			t.Errorf("%d lines and %v left out, of %d", said, left, seconds*rate)
		}
		if n := len(log.Lines(t, "boom")) + len(log.Lines(t, "bang")); n != said+2 {
			t.Errorf("other sources are not let through: %d lines", n)
		}
		// Also for a source that stops in the middle of a second.
		for range 100 {
			l.Say(slog.LevelError, About{Kind: "c"}, "boom")
		}
		l.Flush()
		last := log.Lines(t, "similar lines were left out")
		if e := last[len(last)-1]; e["kind"] != "c" || e["lines"] != 90.0 || e.Text("level") != "ERROR" {
			t.Errorf("the last count: %v", e)
		}
		synctest.Wait()
	})
}

// TestLimiterIsBounded: however many kinds there are; quiet ones are removed.
func TestLimiterIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logstest.Book
		l := NewLimiter(log.Logger(t, slog.LevelInfo))
		const kinds = 50 * maxSources
		for i := range kinds {
			l.Say(slog.LevelWarn, About{Kind: fmt.Sprint("kind", i)}, "boom")
		}
		if n := len(l.sources); n > maxSources+1 {
			t.Errorf("it knows %d sources", n)
		}
		time.Sleep(2 * time.Second)
		said := len(log.Lines(t, "boom"))
		if said != maxSources+LinesASecond {
			t.Errorf("there are %d lines", said)
		}
		e := log.Only(t, "WARN", "similar lines", map[string]string{"cause": "boom"})
		if e["lines"] != float64(kinds-said) || e["kind"] != nil {
			t.Errorf("the count: %v", e)
		}
		l.Say(slog.LevelWarn, About{Kind: "new"}, "boom")
		if len(l.sources) != 1 || len(log.Lines(t, "boom")) != said+1 {
			t.Errorf("it still knows %d sources: %v", len(l.sources), slices.Collect(maps.Keys(l.sources)))
		}
	})
}
