package blackbox

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// raw sends bytes on a connection of their own, and returns the answer; status 0: the server has
// closed it without one.
func (s *server) raw(text string) (status int, body string) {
	s.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		s.Fatal(err)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		return 0, "" // it was closed while this wrote
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, ""
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		s.Fatal(err)
	}
	return response.StatusCode, string(data)
}
