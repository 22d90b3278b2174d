//go:build soak

package blackbox

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestRaw: what no HTTP library sends is refused, and the server goes on.
func TestRaw(t *testing.T) {
	onBoth(t, func(s *server) {
		admin, _ := s.key("admin", "--role", "admin")
		head := "Authorization: Bearer " + admin + "\r\nContent-Type: application/json\r\n"
		host := "Host: 127.0.0.1\r\n"
		for what, test := range map[string]struct {
			text string
			want []int // 0: closed
		}{
			"no host":            {"GET /api/v1/jobs HTTP/1.1\r\n" + head + "\r\n", []int{400}},
			"no host, HTTP/1.0":  {"GET /api/v1/jobs HTTP/1.0\r\n" + head + "\r\n", []int{421}},
			"two hosts":          {"GET /api/v1/jobs HTTP/1.1\r\n" + host + "Host: evil.example\r\n" + head + "\r\n", []int{400}},
			"an absolute target": {"GET http://evil.example/api/v1/jobs HTTP/1.1\r\n" + host + head + "\r\n", []int{421}},
			"NUL in a header":    {"GET /api/v1/jobs HTTP/1.1\r\n" + host + "X-A: a\x00b\r\n" + head + "\r\n", []int{400}},
			"NUL in the path":    {"GET /api/v1/jobs\x00 HTTP/1.1\r\n" + host + head + "\r\n", []int{400}},
			"a space in a name":  {"GET /api/v1/jobs HTTP/1.1\r\n" + host + "Content-Length : 5\r\n" + head + "\r\n", []int{400}},
			"two lengths": {
				"POST /api/v1/jobs HTTP/1.1\r\n" + host + head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x", []int{400},
			},
			"a negative length": {"POST /api/v1/jobs HTTP/1.1\r\n" + host + head + "Content-Length: -1\r\n\r\n{}", []int{400}},
			"a chunk that is none": {
				"POST /api/v1/jobs HTTP/1.1\r\n" + host + head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", []int{400},
			},
			"an unknown coding": {"POST /api/v1/jobs HTTP/1.1\r\n" + host + head + "Transfer-Encoding: gzip, chunked\r\n\r\n", []int{400, 501}},
			"large headers":     {"GET /api/v1/jobs HTTP/1.1\r\n" + host + head + "X-A: " + strings.Repeat("a", 2<<20) + "\r\n\r\n", []int{431, 0}},
			"no HTTP":           {"hello\r\n\r\n", []int{400}},
			"TLS":               {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("\x00", 40) + "\r\n\r\n", []int{400}},
			"CONNECT":           {"CONNECT 169.254.169.254:80 HTTP/1.1\r\n" + host + head + "\r\n", []int{400, 404, 405, 421}},
			"a body announced for ever": {
				"POST /api/v1/jobs HTTP/1.1\r\n" + host + head + fmt.Sprintf("Content-Length: %d\r\n\r\n{", 1<<40), []int{413},
			},
		} {
			if status, body := s.raw(test.text); !slices.Contains(test.want, status) {
				s.Errorf("%s: %d, not %v: %s", what, status, test.want, cut(body))
			}
		}
		// A request hidden in the body of another one is not one.
		hidden := "POST /api/v1/jobs HTTP/1.1\r\n" + host + head
		status, body := s.raw("POST /api/v1/jobs HTTP/1.1\r\n" + host + head + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n" +
			fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(hidden), hidden))
		if status < 400 || status >= 500 {
			s.Errorf("two ways to tell the length: %d %s", status, cut(body))
		}
		if a := s.do(&request{method: http.MethodGet, path: "/api/v1/jobs", secret: admin}); a.status != http.StatusOK {
			s.Errorf("after all that it answers %d %s", a.status, a.text)
		}
	})
}
