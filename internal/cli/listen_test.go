package cli

import (
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/metrics"
	"github.com/holdfastdev/holdfast/internal/pgtest"
)

var servesOn = regexp.MustCompile(`on (http://127\.0\.0\.1:\d+)\.`)

// page gets a page of a process.
func page(t *testing.T, url string) (status int, body string) {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(data)
}

// families reads the metrics of a process, as Prometheus does.
func families(t *testing.T, url string) map[string]*dto.MetricFamily {
	t.Helper()
	status, text := page(t, url+"/metrics")
	parser := expfmt.NewTextParser(model.LegacyValidation)
	found, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil || status != http.StatusOK {
		t.Fatalf("%d, %v: %s", status, err, text)
	}
	return found
}

// TestListen: a process serves its metrics and its probes, is not ready while it stops, and stops
// in order.
func TestListen(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		testListen(t)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		pgtest.InSoak(t)
		testListen(t, "--database", pgtest.Shared(t).Database(t))
	})
}

func testListen(t *testing.T, database ...string) {
	dir := t.TempDir()
	args := []string{"worker", "--allow-exec", "--listen", "127.0.0.1:0", "--stop-timeout", "1m"}
	cmd := exec.Command(binary(t), append(args, database...)...)
	p := startNode(t, dir, cmd)
	said := servesOn.FindStringSubmatch(p.stderr.String())
	if said == nil {
		t.Fatalf("it does not say where it listens: %s", p.stderr)
	}
	url := said[1]
	for _, probe := range []string{"/healthz", "/readyz"} {
		until(t, "the answer of "+probe, func() bool { status, _ := page(t, url+probe); return status == http.StatusOK })
	}
	if status, _ := page(t, url+"/other"); status != http.StatusNotFound {
		t.Errorf("another path is a %d", status)
	}
	run := func(args ...string) {
		if o := command(t, dir, append(args, database...)...); o.code != 0 {
			t.Fatalf("%v: %d %s", args, o.code, o.stderr)
		}
	}
	run("job", "enqueue", "exec", `{"command":["true"]}`, "--wait")
	run("job", "enqueue", "exec", `{"command":["sleep","20"]}`)
	until(t, "the start of the job that sleeps", func() bool { return sumOf(families(t, url), metrics.SlotsUsed, nil) == 1 })
	found := families(t, url)
	for m, want := range map[*metrics.Metric]float64{
		metrics.JobsFinished: 1, metrics.JobRun: 1, metrics.QueueWait: 2, metrics.Slots: 100, metrics.Leader: 1,
	} {
		if got := sumOf(found, m, nil); got != want {
			t.Errorf("%s is %v, want %v", m.Prometheus(), got, want)
		}
	}
	checkTypes(t, found)
	p.stopsInOrder(t, url)
}

// stopsInOrder: it is not ready while the last job runs, and has gone when it has ended.
func (p *process) stopsInOrder(t *testing.T, url string) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	until(t, "not to be ready", func() bool {
		status, body := page(t, url+"/readyz")
		return status == http.StatusServiceUnavailable && body == "the node is stopping\n"
	})
	if status, _ := page(t, url+"/healthz"); status != http.StatusOK {
		t.Errorf("a process that stops is a %d", status)
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil { // at once
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("it has ended with %v", err)
	}
	if answer, err := (&http.Client{Timeout: time.Second}).Get(url + "/healthz"); err == nil {
		answer.Body.Close()
		t.Error("it answers after its end")
	}
}

// sumOf adds a metric, of those with some labels; of a histogram how often.
func sumOf(found map[string]*dto.MetricFamily, m *metrics.Metric, labels map[string]string) (sum float64) {
	for _, p := range found[m.Prometheus()].GetMetric() {
		has := 0
		for _, l := range p.GetLabel() {
			if v, ok := labels[l.GetName()]; ok && v == l.GetValue() {
				has++
			}
		}
		if has == len(labels) {
			sum += p.GetCounter().GetValue() + p.GetGauge().GetValue() + float64(p.GetHistogram().GetSampleCount())
		}
	}
	return sum
}

// checkTypes: whatever is called holdfast_ is in the list, and has its type.
func checkTypes(t *testing.T, found map[string]*dto.MetricFamily) {
	t.Helper()
	types := map[string]string{}
	for _, m := range metrics.All() {
		types[m.Prometheus()] = m.Kind.String()
	}
	for name, f := range found {
		if strings.HasPrefix(name, "holdfast_") && types[name] != strings.ToLower(f.GetType().String()) {
			t.Errorf("%s is a %v, and the list says %q", name, f.GetType(), types[name])
		}
	}
	if found["go_goroutines"] == nil || found["process_open_fds"] == nil {
		t.Error("nothing tells of the process")
	}
}

// TestListenFails: a node that cannot listen does not start, and says why.
func TestListenFails(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	s := newShell(t)
	if o := s.run("worker", "--listen", taken.Addr().String()); o.code != 1 || !strings.Contains(o.stderr, "--listen: cannot listen: ") ||
		!strings.Contains(o.stderr, "address already in use") {
		t.Errorf("where another listens: %d %s", o.code, o.stderr)
	}
	if o := s.run("worker", "--listen", "9464"); o.code != 64 || !strings.Contains(o.stderr, `--listen "9464" must be HOST:PORT`) {
		t.Errorf("without a host: %d %s", o.code, o.stderr)
	}
	if _, err := os.Stat(s.env[app.EnvDatabase]); err == nil {
		t.Error("the database was made nevertheless")
	}
}
