package engine

import (
	"context"
	"log/slog"
	"testing"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/logs/logstest"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// TestStormOfFailuresIsCounted: when the node has stopped, each line has been logged or counted.
func TestStormOfFailuresIsCounted(t *testing.T) {
	var log logstest.Book
	inBed(t, Config{Logger: log.Logger(t, slog.LevelInfo), Node: NodeConfig{Slots: 1000}}, func(b *bed) {
		failed := make(chan struct{}, 500)
		b.handle("k", func(context.Context, Attempt) ([]byte, error) {
			failed <- struct{}{}
			return nil, &usercode.FailError{Err: errBoom}
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
		b.halt() // at the same moment
		said, left := len(log.Lines(t, "job failed")), 0.0
		for _, e := range log.Lines(t, "similar lines were left out") {
			n, _ := e["lines"].(float64)
			left += n
		}
		if float64(said)+left != float64(cap(failed)) || said != logs.LinesASecond {
			t.Errorf("%d lines, and %v left out", said, left)
		}
		if all := log.Lines(t, ""); all[len(all)-1].Text("msg") != "node stopped" {
			t.Errorf("the last line: %v", all[len(all)-1])
		}
	})
}
