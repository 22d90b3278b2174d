package server_test

import (
	"bufio"
	"fmt"
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
		_ = c.SetDeadline(time.Now().Add(50 * time.Second))
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
		_ = c.SetDeadline(time.Now().Add(50 * time.Second))
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
	const large, chunked, small = "Content-Length: 4000000", "Transfer-Encoding: chunked", "Content-Length: 70002\r\n\r\n{}"
	padding := strings.Repeat(" ", 70_000)
	var under []net.Conn
	for range 10 { // of which nothing comes
		under = append(under, begin(large), begin(chunked))
	}
	if is := status(begin(small + padding)); is != http.StatusUnprocessableEntity {
		t.Errorf("beside large ones of which nothing has come it is answered %d", is)
	}
	for range 4 { // of which all comes but the end
		under = append(under, begin(large+"\r\n\r\n{}"+strings.Repeat(" ", 3_999_990)))
	}
	for refused := 0; refused != http.StatusTooManyRequests; { // once all of that has come
		c := begin("Content-Length: 1110000")
		_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		if r, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil {
			refused = r.StatusCode
			_ = r.Body.Close()
		}
		_ = c.Close()
	}
	// What does not say how large it is comes too far, and then stands still: it is not waited for.
	c := begin(chunked + fmt.Sprintf("\r\n\r\n%x\r\n{}%s", 2_000_000, strings.Repeat(" ", 1_200_000)))
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	kind, after := r.Header.Get("Content-Type"), r.Header.Get("Retry-After")
	if r.StatusCode != http.StatusTooManyRequests || kind != "application/problem+json" || after != "1" {
		t.Errorf("one that comes too far is answered %d with the headers %v", r.StatusCode, r.Header)
	}
	if is := status(begin("Content-Length: 2\r\n\r\n{}")); is != http.StatusUnprocessableEntity {
		t.Errorf("a small one is answered %d", is)
	}
	for _, c := range under {
		_ = c.Close()
	}
	for is := 0; is != http.StatusUnprocessableEntity; time.Sleep(10 * time.Millisecond) { //nolint:forbidigo // until they are seen to be gone
		is = status(begin(small + padding))
	}
}
