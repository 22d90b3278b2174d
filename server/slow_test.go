package server_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/server"
	"github.com/holdfastdev/holdfast/server/access"
)

// TestSlowBodies: who is refused before the body is read is answered at once, also without a body
// that comes: neither the answer nor the connection waits for it.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	slow(t, server.Options{OnlyCallbacks: true},
		"POST /nothing HTTP/1.1\r\n",
		"GET /nothing HTTP/1.1\r\n",
		"POST /api/v1/callbacks/x/complete HTTP/1.1\r\nIdempotency-Key: "+strings.Repeat("x", 300)+"\r\n",
	)
	viewer := access.Principal{Name: "viewer", Scopes: []access.Scope{access.JobsRead}}
	slow(t, server.Options{Authenticate: func(*http.Request) (access.Principal, error) { return viewer, nil }},
		"POST /api/v1/store/hello HTTP/1.1\r\n", "POST /api/v1/store/notify HTTP/1.1\r\n", "POST /api/v1/store/apply HTTP/1.1\r\n",
		"POST /api/v1/jobs HTTP/1.1\r\n",
	)
	slow(t, server.Options{Authenticate: access.Anyone("admin")},
		"POST /api/v1/store/apply HTTP/1.1\r\n", "POST /api/v1/store/nothing HTTP/1.1\r\n", "POST /api/v1/store/notify HTTP/1.1\r\n",
	)
}

// slow sends requests without their bodies.
func slow(t *testing.T, o server.Options, heads ...string) {
	t.Helper()
	s := httptest.NewServer(served(t, o))
	t.Cleanup(s.CloseClientConnections)
	for _, head := range heads {
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(5 * time.Second))
		if _, err := io.WriteString(c, head+"Host: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Errorf("%.30q: %v", head, err)
		} else {
			_ = r.Body.Close()
		}
		_ = c.Close()
	}
}

// TestLargeBodiesOfAnybody: requests that need no credential have a bounded part of the memory
// together, however many there are. Small ones are handled in any case.
func TestLargeBodiesOfAnybody(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(served(t, server.Options{OnlyCallbacks: true}))
	t.Cleanup(s.CloseClientConnections)
	begin := func(length string) net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(20 * time.Second))
		head := "POST /api/v1/callbacks/x/complete HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n" + length + "\r\n\r\n"
		if _, err := io.WriteString(c, head); err != nil {
			t.Fatal(err)
		}
		return c
	}
	status := func(c net.Conn) int {
		t.Helper()
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		return r.StatusCode
	}
	const large = "Content-Length: 4000000"
	var under []net.Conn
	for range 4 {
		under = append(under, begin(large))
	}
	for _, length := range []string{large, "Transfer-Encoding: chunked"} {
		for refused := 0; refused != http.StatusTooManyRequests; { // once the others have come so far
			c := begin(length)
			_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
			if r, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil {
				refused = r.StatusCode
				_ = r.Body.Close()
			}
			_ = c.Close()
		}
	}
	if is := status(begin("Content-Length: 2\r\n\r\n{}")); is != http.StatusUnprocessableEntity {
		t.Errorf("a small one is answered %d", is)
	}
	for _, c := range under {
		_ = c.Close()
	}
	for is := 0; is != http.StatusUnprocessableEntity; time.Sleep(10 * time.Millisecond) { //nolint:forbidigo // until they are seen to be gone
		is = status(begin("Content-Length: 70002\r\n\r\n{}" + strings.Repeat(" ", 70_000)))
	}
}
