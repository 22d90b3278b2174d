package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
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

// TestServerEndsRequests: a request that was under way when the server was told to stop is served
// to its end, and a poll that waits is answered without jobs.
func TestServerEndsRequests(t *testing.T) {
	t.Parallel()
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
