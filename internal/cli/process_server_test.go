package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/racing"
	"github.com/holdfastdev/holdfast/store/remote"
)

// freeAddress is an address at which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestServerIsKilled: a server is killed again and again under a worker and a producer that have no
// database. What was confirmed is done, each job once and in its first attempt: nobody's jobs are
// rescued.
func TestServerIsKilled(t *testing.T) {
	t.Parallel()
	racing.Off(t) // its processes have no detector
	if testing.Short() {
		t.Skip("kills are left out")
	}
	dir, address := t.TempDir(), freeAddress(t)
	url := "http://" + address
	serve := func() *process {
		return startNode(t, dir, exec.Command(binary(t), "server", "--database", "jobs.db", "--listen", address, "--auth", "none"))
	}
	server := serve()
	startNode(t, dir, exec.Command(binary(t), "worker", "--server", url, "--allow-exec", "--slots", "4"))
	hf, err := holdfast.Open(t.Context(), remote.Server(url, ""), holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := hf.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	execs := holdfast.NewKind[map[string]any, any]("exec")
	type produced struct {
		jobs   []*holdfast.Job[any]
		failed int
	}
	stop, all := make(chan struct{}), make(chan produced, 1)
	var confirmed atomic.Int32
	go func() {
		var p produced
		defer func() { all <- p }()
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
			script := `echo ran >> "ran-$HOLDFAST_JOB_ID"`
			job, err := execs.Enqueue(t.Context(), hf, map[string]any{"command": []string{"sh", "-c", script}})
			if err != nil {
				p.failed++ // it may have happened; nothing was confirmed
				continue
			}
			p.jobs = append(p.jobs, job)
			confirmed.Add(1)
		}
	}()
	for range 4 {
		seen := confirmed.Load()
		until(t, "a storm of jobs", func() bool { return confirmed.Load() >= seen+10 })
		if err := server.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = server.cmd.Wait()
		time.Sleep(300 * time.Millisecond) //nolint:forbidigo // an outage of that length
		server = serve()
	}
	close(stop)
	p := <-all
	t.Logf("%d jobs were confirmed, and %d not", len(p.jobs), p.failed)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for _, job := range p.jobs {
		if _, err := job.Wait(ctx); err != nil {
			t.Fatalf("job %s: %v", job.ID, err)
		}
		record, err := job.Get(ctx)
		if err != nil || record.Attempt != 1 || len(record.Attempts) != 0 {
			t.Errorf("job %s took attempt %d, after %+v, %v", job.ID, record.Attempt, record.Attempts, err)
		}
		if ran, err := os.ReadFile(filepath.Join(dir, "ran-"+job.ID.String())); err != nil || strings.Count(string(ran), "ran") != 1 {
			t.Errorf("job %s ran %q, %v", job.ID, ran, err)
		}
	}
}

// TestServerEndsRequests: a request that was under way when the server was told to stop is served
// to its end, and a poll that waits is answered without jobs.
func TestServerEndsRequests(t *testing.T) {
	t.Parallel()
	racing.Off(t) // its processes have no detector
	lead := 100 * time.Millisecond
	status, text := endsRequests(t, lead)
	for status == http.StatusServiceUnavailable && lead < 10*time.Second { // the poll came when the server had begun to stop
		lead *= 3
		status, text = endsRequests(t, lead)
	}
	if status != http.StatusOK || !strings.Contains(text, `"jobs":[]`) {
		t.Errorf("the poll is answered %d %s", status, text)
	}
}

// endsRequests stops a server while an enqueue and a poll are under way, of which the poll was sent
// that long before, and returns what it is answered.
func endsRequests(t *testing.T, lead time.Duration) (status int, body string) {
	t.Helper()
	address := freeAddress(t)
	server := startNode(t, t.TempDir(), exec.Command(binary(t), "server", "--database", "jobs.db", "--listen", address, "--auth", "none"))
	until(t, "the node", func() bool { return strings.Contains(server.stderr.String(), "node started") })
	begin := func(path, body string) *underWay {
		t.Helper()
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		r := &underWay{c, bufio.NewReader(c)}
		head := fmt.Sprintf("POST /api/v1%s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"+
			"Expect: 100-continue\r\n\r\n", path, address, len(body))
		if _, err := io.WriteString(c, head); err != nil {
			t.Fatal(err)
		}
		if status, text := r.read(t); status != http.StatusContinue { // the server reads the body
			t.Fatalf("%s is answered %d %s", path, status, text)
		}
		if _, err := io.WriteString(c, body[:len(body)-1]); err != nil {
			t.Fatal(err)
		}
		return r
	}
	end := func(r *underWay, rest string) (status int, body string) {
		t.Helper()
		if _, err := io.WriteString(r, rest); err != nil {
			t.Fatal(err)
		}
		return r.read(t)
	}
	_, text := end(begin("/workers", `{"name":"w","kinds":["mail"],"slots":1}`), "}")
	var registered struct {
		Worker string `json:"worker"`
	}
	if err := json.Unmarshal([]byte(text), &registered); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	enqueue := begin("/jobs", `{"kind":"mail","delay":"1h"}`)
	poll := begin("/workers/"+registered.Worker+"/poll?wait=30s", `{"want":1,"seq":1}`)
	if _, err := io.WriteString(poll, "}"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(lead) //nolint:forbidigo // nothing tells that a poll waits
	if err := server.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	until(t, "the end of the node", func() bool { return strings.Contains(server.stderr.String(), "node stopped") })
	status, body = end(poll, "")
	if status, text := end(enqueue, "}"); status != http.StatusCreated {
		t.Errorf("the enqueue is answered %d %s", status, text)
	}
	if err := server.cmd.Wait(); err != nil {
		t.Error(err)
	}
	return status, body
}

// underWay is a request that has begun.
type underWay struct {
	net.Conn

	answers *bufio.Reader
}

// read reads the next answer.
func (r *underWay) read(t *testing.T) (status int, body string) {
	t.Helper()
	answer, err := http.ReadResponse(r.answers, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}
