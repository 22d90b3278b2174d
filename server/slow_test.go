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
)

// TestSlowBodies: who is refused before the body is read is answered at once, also without a body
// that comes: neither the answer nor the connection waits for it.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(served(t, server.Options{OnlyCallbacks: true}))
	t.Cleanup(s.CloseClientConnections)
	for _, head := range []string{
		"POST /nothing HTTP/1.1\r\n",
		"GET /nothing HTTP/1.1\r\n",
		"POST /api/v1/callbacks/x/complete HTTP/1.1\r\nIdempotency-Key: " + strings.Repeat("x", 300) + "\r\n",
	} {
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
