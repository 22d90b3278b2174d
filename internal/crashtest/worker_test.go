package crashtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/pgtest"
)

// workerEnv makes the test binary a worker; its value is a workerConfig as JSON.
const workerEnv = "HOLDFAST_CRASHTEST_WORKER"

type workerConfig struct {
	Name     string        `json:"name"`
	Place    int           `json:"place"`
	Flows    bool          `json:"flows"`   // it runs the jobs of TestFlows
	Talks    bool          `json:"talks"`   // it runs the jobs of TestLogs
	Outages  bool          `json:"outages"` // the database goes away
	Database string        `json:"database"`
	Server   string        `json:"server"` // through which it is reached; "": directly
	Effects  string        `json:"effects"`
	Slots    int           `json:"slots"`
	Beat     time.Duration `json:"beat"` // 0: the default lease settings
	Dead     time.Duration `json:"dead"`
}

func TestMain(m *testing.M) {
	if config := os.Getenv(serverEnv); config != "" {
		fmt.Fprintln(os.Stderr, "server:", runServer(config))
		os.Exit(1)
	}
	config := os.Getenv(workerEnv)
	if config == "" {
		os.Exit(runTests(m))
	}
	if err := runWorker(config); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

// runTests runs the tests and looks for what they have left running, which may be nothing but the
// thread that starts processes.
func runTests(m *testing.M) int {
	code := pgtest.Main(m)
	err := goleak.Find(goleak.IgnoreAnyFunction("github.com/holdfastdev/holdfast/internal/crashtest/process.serve"))
	if err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// runWorker is a node until somebody kills it.
func runWorker(config string) error {
	w := &runner{}
	if err := json.Unmarshal([]byte(config), &w.workerConfig); err != nil {
		return err
	}
	var err error
	if w.file, err = os.OpenFile(w.Effects, os.O_WRONLY|os.O_APPEND, 0); err != nil {
		return err
	}
	if w.Server == "" {
		if w.caller, err = newCaller(w.Database); err != nil {
			return err
		}
	}
	source, err := sourceOf(&w.workerConfig)
	if err != nil {
		return err
	}
	opts := []holdfast.Option{
		holdfast.WithNodeName(w.Name), holdfast.WithSlots(w.Slots), holdfast.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, nil))),
		holdfast.WithAging(0), // or the order of jobs would depend on how long the test takes
	}
	if w.Beat > 0 {
		opts = append(opts, holdfast.WithLeases(w.Beat, w.Dead))
	}
	ctx := context.Background()
	var client *holdfast.Client
	if err := w.insist(ctx, func() (err error) {
		client, err = holdfast.Open(ctx, source, opts...)
		return err
	}); err != nil {
		return err
	}
	if err := w.register(client); err != nil {
		return err
	}
	return w.insist(ctx, func() error { return client.Run(ctx) })
}

// insist repeats what fails because the database is away, as whoever supervises a program does.
// The database goes away only where that is told.
func (w *runner) insist(ctx context.Context, do func() error) error {
	for {
		err := do()
		if !w.Flows && !w.Outages || !errors.Is(err, holdfast.ErrUnavailable) {
			return err
		}
		fmt.Fprintln(os.Stderr, "worker: the database is away:", err)
		if err := spend(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

func (w *runner) register(client *holdfast.Client) error {
	if w.Flows {
		return (&flowRunner{workerConfig: w.workerConfig, file: w.file, caller: w.caller}).register(client)
	}
	if w.Talks {
		return talk.Handle(client, w.talk)
	}
	return crashWork.Handle(client, w.handle)
}

type runner struct {
	workerConfig
	file   *os.File
	caller *caller
}

// stage is a checkpoint.
type stage struct {
	Stage int `json:"stage"`
}

func (w *runner) handle(run *holdfast.Run, job work) (done, error) {
	var at stage
	if _, err := run.LoadCheckpoint(&at); err != nil {
		return done{}, holdfast.Fail(err)
	}
	w.tell(run, job, eventStart, at.Stage)
	if job.Waits || job.Holds && run.Lease().Number == 1 {
		<-run.Done()
		return done{}, context.Cause(run)
	}
	part := time.Duration(job.Millis) * time.Millisecond / time.Duration(job.Stages+1)
	for at.Stage < job.Stages {
		if err := spend(run, part); err != nil {
			return done{}, err
		}
		at.Stage++
		if err := save(run, at); err != nil {
			if errors.Is(err, holdfast.ErrLeaseLost) {
				w.tell(run, job, eventRefused, at.Stage)
			}
			return done{}, err
		}
		w.tell(run, job, eventCheckpoint, at.Stage)
	}
	if err := spend(run, part); err != nil {
		return done{}, err
	}
	if job.Child != 0 {
		if _, err := w.caller.enqueue(run, run.Client(), []work{child(job)}, true); err != nil {
			return done{}, err
		}
	}
	w.tell(run, job, eventEffect, at.Stage)
	switch {
	case job.Fatal:
		return done{}, holdfast.Fail(errors.New("as planned"))
	case run.Attempt() <= job.Fails:
		return done{}, errors.New("as planned")
	case run.Lease().Number <= int64(job.Snoozes):
		return done{}, holdfast.Snooze(job.snooze())
	}
	return done{Lease: run.Lease().Number}, nil
}

// save saves a checkpoint, and tries again while the database is away: another node may be frozen
// within a transaction for long, and the plan of the job says how its runs end.
func save(run *holdfast.Run, at stage) error {
	for {
		err := run.SaveCheckpoint(at)
		if !errors.Is(err, holdfast.ErrUnavailable) || run.Err() != nil {
			return err
		}
	}
}

// spend takes the time that a handler takes.
func spend(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// tell writes a record. Without the file the worker is of no use.
func (w *runner) tell(run *holdfast.Run, job work, event string, stage int) {
	lease := run.Lease()
	err := appendRecord(w.file, effect{
		Event: event, Job: run.ID(), N: job.N, Lease: lease.Number, Attempt: run.Attempt(), Node: lease.Node, By: w.Name, Stage: stage,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}
