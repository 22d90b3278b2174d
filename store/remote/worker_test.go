package remote_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/server"
	"github.com/holdfastdev/holdfast/store/remote"
)

// order is what a durable function of a worker without a database works on.
type order struct{ Lines int }

var fulfil = holdfast.NewKind[order, int]("fulfil")

// effects counts what steps have done.
type effects struct {
	mu   sync.Mutex
	done map[string]int
}

func (e *effects) do(name string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.done[name]++
	return e.done[name]
}

// client opens a full client of a server.
func client(tb testing.TB, url string) *holdfast.Client {
	tb.Helper()
	hf, err := holdfast.Open(context.WithoutCancel(tb.Context()), remote.Server(url, ""), holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), 5*time.Minute)
		defer cancel()
		if err := hf.Close(ctx); err != nil {
			tb.Error(err)
		}
	})
	return hf
}

// run makes a client a node until the test ends.
func run(tb testing.TB, hf *holdfast.Client) {
	tb.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(tb.Context()))
	ended := make(chan error, 1)
	go func() { ended <- hf.Run(ctx) }()
	tb.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			tb.Error(err)
		}
	})
}

// TestServerIsReplaced: a worker without a database runs a durable function while its server is
// killed in the middle, and another one comes in its place: what was recorded is not done again,
// the job ends, and nobody has rescued it.
func TestServerIsReplaced(t *testing.T) {
	t.Parallel()
	source := file(t)
	a := newAddress(t)
	a.start(t, source, server.Options{})
	did := &effects{done: map[string]int{}}
	const lines = 8
	reached, goOn := make(chan struct{}), make(chan struct{})
	worker := client(t, a.URL)
	err := fulfil.Handle(worker, func(run *holdfast.Run, in order) (int, error) {
		sum := 0
		for i := range in.Lines {
			n, err := holdfast.Step(run, fmt.Sprint("line ", i), func(context.Context) (int, error) {
				if i == in.Lines/2 {
					reached <- struct{}{}
					<-goOn
				}
				return i * did.do(fmt.Sprint("line ", i)), nil
			})
			if err != nil {
				return 0, err
			}
			sum += n
		}
		if err := run.Sleep(100 * time.Millisecond); err != nil {
			return 0, err
		}
		return sum, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	run(t, worker)
	producer := client(t, a.URL)
	enqueued, err := fulfil.Enqueue(t.Context(), producer, order{Lines: lines})
	if err != nil {
		t.Fatal(err)
	}
	<-reached // the first half is recorded
	a.stop(t)
	time.AfterFunc(300*time.Millisecond, func() { close(goOn) }) // it ends while there is no server
	time.Sleep(600 * time.Millisecond)                           //nolint:forbidigo // an outage of that length
	at := a.start(t, source, server.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	sum, err := enqueued.Wait(ctx)
	if want := lines * (lines - 1) / 2; err != nil || sum != want {
		t.Errorf("it answers %d, %v, not %d", sum, err, want)
	}
	did.mu.Lock()
	defer did.mu.Unlock()
	for name, n := range did.done {
		if n != 1 {
			t.Errorf("%s was done %d times", name, n)
		}
	}
	record, err := at.client.Get(t.Context(), enqueued.ID)
	if err != nil || record.Attempt != 1 || len(record.Attempts) != 0 {
		t.Errorf("attempt %d, %+v, %v", record.Attempt, record.Attempts, err)
	}
}
