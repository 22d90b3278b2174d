package faulttest

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/crashtest/process"
	"github.com/holdfastdev/holdfast/store/dsn"
)

// workerEnv makes the test binary a worker; its value is a workerConfig as JSON.
const workerEnv = "HOLDFAST_FAULTTEST_WORKER"

// workerConfig is what a worker is told when it starts.
type workerConfig struct {
	Role     string        `json:"role"` // which of roles
	Name     string        `json:"name"` // of the node; "": it goes by its role
	Database string        `json:"database"`
	Beat     time.Duration `json:"beat"` // 0: the default lease settings
	Dead     time.Duration `json:"dead"`
}

// roles are the handlers that a worker may have, by the name of its role.
var roles = map[string]func(w *inside) error{
	"pausable": (*inside).pausable,
	"suicide":  (*inside).suicide,
	"promise":  (*inside).promise,
	"hold":     (*inside).hold,
	"bells":    func(w *inside) error { return ringing(w.client) },
	"narrow":   func(w *inside) error { return narrowing(w.client) },
}

// report is a line with which a worker tells the test that it runs a job.
type report struct {
	Job   holdfast.ID `json:"job"`
	Lease int64       `json:"lease"`
}

// inside is a worker as it sees itself.
type inside struct {
	client *holdfast.Client
	open   chan struct{} // closed when the test says "go"

	mu sync.Mutex // guards standard output
}

// runWorker is a node until somebody kills it or says "stop".
func runWorker(text string) error {
	var config workerConfig
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return err
	}
	source, err := dsn.Parse(config.Database)
	if err != nil {
		return err
	}
	opts := []holdfast.Option{
		holdfast.WithLogger(slog.New(slog.NewTextHandler(os.Stderr, nil))), holdfast.WithNodeName(cmp.Or(config.Name, "worker "+config.Role)),
	}
	if config.Beat > 0 {
		opts = append(opts, holdfast.WithLeases(config.Beat, config.Dead))
	}
	ctx := context.Background()
	w := &inside{open: make(chan struct{})}
	if w.client, err = holdfast.Open(ctx, source, opts...); err != nil {
		return err
	}
	if err := roles[config.Role](w); err != nil {
		return err
	}
	go w.obey()
	err = w.client.Run(ctx)
	return errors.Join(err, w.client.Close(ctx))
}

// obey does what the test says, a word on each line.
func (w *inside) obey() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		switch lines.Text() {
		case "go":
			close(w.open)
		case "stop":
			now, cancel := context.WithCancel(context.Background())
			cancel()
			_ = w.client.Stop(now) // Run tells how it went
		}
	}
}

// runs reports a run. Without its test the worker is of no use.
func (w *inside) runs(run *holdfast.Run) {
	line, err := json.Marshal(report{run.ID(), run.Lease().Number})
	if err == nil {
		w.mu.Lock()
		_, err = os.Stdout.Write(append(line, '\n'))
		w.mu.Unlock()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

// worker is a process that runs jobs, as its test sees it.
type worker struct {
	*process.Process

	t     *testing.T
	stdin io.Writer
	words *record // standard error
	told  *record // standard output
}

// record keeps what a process writes.
type record struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// startWorker starts a process that works on the database until it is killed or the test ends.
func startWorker(t *testing.T, config workerConfig) *worker {
	t.Helper()
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := &worker{t: t, words: &record{}, told: &record{}}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), workerEnv+"="+string(text))
	cmd.Stdout, cmd.Stderr = w.told, w.words
	if w.stdin, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if w.Process, err = process.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.Kill()
		if t.Failed() {
			text := w.words.String()
			t.Logf("the last words of process %d:\n%s", w.PID(), text[max(0, len(text)-4<<10):])
		}
	})
	return w
}

// say tells the worker something.
func (w *worker) say(word string) {
	w.t.Helper()
	if _, err := io.WriteString(w.stdin, word+"\n"); err != nil {
		w.t.Errorf("the worker does not hear %q: %v", word, err)
	}
}

// reports are what the worker told of a job.
func (w *worker) reports(id holdfast.ID) (list []report) {
	w.t.Helper()
	lines := bufio.NewScanner(bytes.NewBufferString(w.told.String()))
	for lines.Scan() {
		var r report
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			continue // the last one is half written, or it is the goodbye of a test binary
		}
		if r.Job == id {
			list = append(list, r)
		}
	}
	return list
}

// awaitRun waits until the worker runs a job.
func (w *worker) awaitRun(id holdfast.ID) {
	w.t.Helper()
	eventually(w.t, "the worker runs job "+id.String(), func() bool {
		if len(w.reports(id)) > 0 {
			return true
		}
		w.lives()
		return false
	})
}

// lives ends the test if the process has ended.
func (w *worker) lives() {
	w.t.Helper()
	select {
	case <-w.Done():
		if len(w.words.String()) > 0 {
			w.t.Log(firstPanic(w.words.String()))
		}
		w.t.Fatalf("the worker ended by itself: %v", w.Wait())
	default:
	}
}

// firstPanic cuts out of the words of a process why it ended.
func firstPanic(text string) string {
	for _, word := range []string{"panic: ", "fatal error: ", "DATA RACE"} {
		if _, rest, found := bytes.Cut([]byte(text), []byte(word)); found {
			return word + string(rest[:min(len(rest), 1<<10)])
		}
	}
	return ""
}
