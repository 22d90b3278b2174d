package engine

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs/logstest"
	"github.com/holdfastdev/holdfast/store"
)

// TestJobsNobodyServes: the leader logs them for each queue and kind, repeatedly, but not at once.
func TestJobsNobodyServes(t *testing.T) {
	var log logstest.Book
	inBed(t, Config{Logger: log.Logger(t, slog.LevelInfo), Node: NodeConfig{Queues: []store.QueueDemand{{Name: "default"}}}}, func(b *bed) {
		b.handle("k", ok)
		b.run()
		began := time.Now()
		for range 200 {
			b.enqueue(b.job("nosuch"))
		}
		b.enqueue(b.job("k", func(e *store.Enqueue) { e.Job.Queue = "elsewhere" }))
		b.enqueue(b.job("k", func(e *store.Enqueue) { e.Job.Version = "v7" }))
		b.enqueue(b.job("k", func(e *store.Enqueue) { e.Job.Namespace = "other" }))
		if err := b.e.Pause(b.t.Context(), store.PauseParams{Namespace: "default", Queue: "paused", Paused: true}); err != nil {
			b.t.Fatal(err)
		}
		b.enqueue(b.job("nosuch", func(e *store.Enqueue) { e.Job.Queue = "paused" }))
		time.Sleep(unservedEvery + time.Second)
		if said := log.Lines(t, "jobs are waiting"); len(said) > 0 {
			t.Errorf("what may be over in a moment is said: %v", said)
		}
		time.Sleep(unservedEvery)
		found := map[string]logstest.Entry{}
		for _, e := range log.Lines(t, "jobs are waiting, but no node serves them") {
			found[fmt.Sprint(e["namespace"], e["queue"], e["kind"], e["version"])] = e
			since, err := time.Parse(time.RFC3339Nano, e.Text("since"))
			if e.Text("level") != "WARN" || err != nil || since.Sub(began).Abs() > time.Second || e["node"] == nil {
				t.Errorf("%v", e)
			}
		}
		want := map[string]string{
			fmt.Sprint("default", "default", "nosuch", nil): "no live node serves the kind",
			fmt.Sprint("default", "elsewhere", "k", nil):    "no live node that serves the kind serves the queue",
			fmt.Sprint("other", "default", "k", nil):        "no live node serves the kind",
			fmt.Sprint("default", "default", "k", "v7"):     "no live node serves this version of the kind",
		}
		for key, cause := range want {
			if found[key].Text("cause") != cause {
				t.Errorf("%s: %v, want %s", key, found[key], cause)
			}
		}
		if len(found) != len(want) || len(log.Lines(t, "jobs are waiting")) != len(want) {
			t.Errorf("it says %v", log.Lines(t, "jobs are waiting"))
		}
		time.Sleep(unservedAgain + unservedEvery)
		if n := len(log.Lines(t, "jobs are waiting")); n != 2*len(want) {
			t.Errorf("after %v there are %d lines", unservedAgain, n)
		}
		time.Sleep(10 * unservedEvery)
		if n := len(log.Lines(t, "jobs are waiting")); n != 2*len(want) {
			t.Errorf("a little later there are %d lines", n)
		}
	})
}

// TestWhatIsServedIsNotSaid: nor jobs that were unserved only for a moment.
func TestWhatIsServedIsNotSaid(t *testing.T) {
	var log logstest.Book
	inBed(t, Config{Logger: log.Logger(t, slog.LevelInfo)}, func(b *bed) {
		b.handle("k", ok)
		b.run()
		b.enqueue(b.job("late"))
		time.Sleep(5 * time.Second)
		for range 5 { // every second look finds a node with the kind
			time.Sleep(2*unservedEvery - 10*time.Second)
			other, err := b.st.Join(b.t.Context(), store.NodeInfo{Kinds: []string{"late"}})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second)
			if _, err := b.st.Leave(b.t.Context(), other); err != nil {
				t.Fatal(err)
			}
		}
		if said := log.Lines(t, "jobs are waiting"); len(said) > 0 {
			t.Errorf("%v", said)
		}
	})
}
