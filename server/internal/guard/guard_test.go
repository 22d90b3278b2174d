package guard_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/guard"
	"github.com/holdfastdev/holdfast/server/internal/problem"
)

// around is a guard before a handler, and whether the handler was reached.
func around(t *testing.T, c guard.Config, next http.HandlerFunc) http.Handler {
	t.Helper()
	if c.Authenticate == nil {
		c.Authenticate = access.Anyone("anyone")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.MaxBody = 1000
	h, err := guard.Around(next, c)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// ask returns the status and the code of the answer to a request.
func ask(h http.Handler, r *http.Request) (status int, code string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var p struct {
		Code string `json:"code"`
	}
	_ = json.Unmarshal(w.Body.Bytes(), &p) // it need not be a problem
	return w.Code, p.Code
}

func request(method, host string, header ...string) *http.Request {
	r := httptest.NewRequest(method, "http://"+host+"/api/v1/jobs", http.NoBody)
	r.Host = host
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

func fine(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }

// TestHosts: only loopback names and those that were said reach the server. A page whose name was
// made to resolve to 127.0.0.1 (DNS rebinding) sends its own name.
func TestHosts(t *testing.T) {
	t.Parallel()
	said := guard.Config{Hosts: []string{"jobs.example.com", "other.example.com:8233"}}
	for _, test := range []struct {
		host   string
		config guard.Config
		status int
	}{
		{"127.0.0.1:8233", guard.Config{}, 200},
		{"127.1.2.3", guard.Config{}, 200},
		{"localhost:8233", guard.Config{}, 200},
		{"LOCALHOST", guard.Config{}, 200},
		{"[::1]:8233", guard.Config{}, 200},
		{"[::1]", guard.Config{}, 200},
		{"evil.example.com", guard.Config{}, 421},
		{"127.0.0.1.evil.example.com", guard.Config{}, 421},
		{"localhost.evil.example.com:8233", guard.Config{}, 421},
		{"192.168.1.1", guard.Config{}, 421},
		{"0.0.0.0", guard.Config{}, 421},
		{"", guard.Config{}, 421},
		{"jobs.example.com", said, 200},
		{"Jobs.Example.Com:443", said, 200},
		{"other.example.com:8233", said, 200},
		{"other.example.com:1", said, 421},
		{"evil.example.com", said, 421},
		{"evil.example.com", guard.Config{Hosts: []string{"*"}}, 200},
	} {
		r := request(http.MethodGet, "localhost")
		r.Host = test.host
		if status, _ := ask(around(t, test.config, fine), r); status != test.status {
			t.Errorf("the host %q is answered %d, not %d", test.host, status, test.status)
		}
	}
}

// TestCrossSite: what other web sites can have a browser send changes nothing.
func TestCrossSite(t *testing.T) {
	t.Parallel()
	const kind, plain = "Content-Type", "application/json"
	for _, test := range []struct {
		what   string
		method string
		header []string
		status int
		code   string
	}{
		{"a program", "POST", []string{kind, plain}, 200, ""},
		{"a program with a charset", "POST", []string{kind, "application/json; charset=utf-8"}, 200, ""},
		{"another charset", "POST", []string{kind, "application/json; charset=utf-16"}, 415, "unsupported_media_type"},
		{"a packed body", "POST", []string{kind, plain, "Content-Encoding", "gzip"}, 415, "unsupported_media_type"},
		{"a body that is not packed", "POST", []string{kind, plain, "Content-Encoding", "identity"}, 200, ""},
		{"a page of the server", "POST", []string{kind, plain, "Origin", "http://localhost", "Sec-Fetch-Site", "same-origin"}, 200, ""},
		{"a form", "POST", []string{kind, "application/x-www-form-urlencoded"}, 415, "unsupported_media_type"},
		{"a form with JSON as text", "POST", []string{kind, "text/plain"}, 415, "unsupported_media_type"},
		{"nothing said", "POST", nil, 415, "unsupported_media_type"},
		{"a delete without a type", "DELETE", nil, 415, "unsupported_media_type"},
		{"another site", "POST", []string{kind, plain, "Origin", "https://evil.example.com"}, 403, "cross_origin"},
		{"another site, modern", "POST", []string{kind, plain, "Sec-Fetch-Site", "cross-site"}, 403, "cross_origin"},
		{"a sister site", "POST", []string{kind, plain, "Sec-Fetch-Site", "same-site"}, 403, "cross_origin"},
		{"a page without an origin", "POST", []string{kind, plain, "Origin", "null"}, 403, "cross_origin"},
		{"another site that only reads", "GET", []string{"Origin", "https://evil.example.com"}, 200, ""},
		{"a trusted site", "POST", []string{kind, plain, "Origin", "https://jobs.example.com"}, 200, ""},
	} {
		h := around(t, guard.Config{Origins: []string{"https://jobs.example.com"}}, fine)
		if status, code := ask(h, request(test.method, "localhost", test.header...)); status != test.status || code != test.code {
			t.Errorf("%s is answered %d %q, not %d %q", test.what, status, code, test.status, test.code)
		}
	}
	if _, err := guard.Around(http.HandlerFunc(fine), guard.Config{Origins: []string{"jobs.example.com"}}); err == nil {
		t.Error("an origin without a scheme is taken")
	}
}

// TestTokens: without the token nothing is let in; it comes as a header or a cookie.
func TestTokens(t *testing.T) {
	t.Parallel()
	h := around(t, guard.Config{Authenticate: access.Token("ops", "right")}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, access.Of(r.Context()).Name)
	})
	for header, status := range map[string]int{
		"": 401, "Bearer right": 200, "bearer right": 200, "Bearer  right": 200, "Bearer wrong": 401, "Bearer righ": 401, "Bearer ": 401,
		"right": 401, "Basic right": 401,
	} {
		if got, _ := ask(h, request(http.MethodGet, "localhost", "Authorization", header)); got != status {
			t.Errorf("%q is answered %d, not %d", header, got, status)
		}
	}
	for host, cookies := range map[string]map[string]int{
		"localhost":      {"holdfast": 200, "holdfast_8233": 401},
		"localhost:8233": {"holdfast_8233": 200, "holdfast": 401, "holdfast_8234": 401},
		"[::1]:8233":     {"holdfast_8233": 200},
		"localhost:x;y":  {"holdfast": 200},
	} {
		for cookie, status := range cookies {
			r := request(http.MethodGet, "localhost", "Cookie", cookie+"=right")
			r.Host = host
			if got, _ := ask(h, r); got != status {
				t.Errorf("%s: the cookie %s is answered %d, not %d", host, cookie, got, status)
			}
		}
	}
	if got, _ := ask(around(t, guard.Config{Authenticate: access.Token("ops", "")}, fine), request(http.MethodGet, "localhost")); got != 401 {
		t.Errorf("an empty token lets in: %d", got)
	}
	broken := guard.Config{Authenticate: func(*http.Request) (access.Principal, error) {
		return access.Principal{}, errors.New("the database is away")
	}}
	if got, _ := ask(around(t, broken, fine), request(http.MethodGet, "localhost")); got != 500 {
		t.Errorf("whoever cannot be looked up is answered %d", got)
	}
}

// TestLookUpsThatFail: the log says so once a minute, however many requests there are: anybody can
// make them.
func TestLookUpsThatFail(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	h := around(t, guard.Config{
		Log: slog.New(slog.NewTextHandler(&said, nil)),
		Authenticate: func(*http.Request) (access.Principal, error) {
			return access.Principal{}, problem.New(problem.Unavailable, "it is away")
		},
	}, fine)
	for range 20 {
		if got, _ := ask(h, request(http.MethodGet, "localhost")); got != 503 {
			t.Errorf("it is answered %d", got)
		}
	}
	if n := strings.Count(said.String(), "it is away"); n != 1 {
		t.Errorf("it is told %d times: %s", n, said.String())
	}
}

// TestReadOnly: a server that only reads refuses what changes something.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	h := around(t, guard.Config{ReadOnly: true}, fine)
	for method, want := range map[string]int{"GET": 200, "HEAD": 200, "POST": 403, "PUT": 403, "PATCH": 403, "DELETE": 403} {
		if got, _ := ask(h, request(method, "localhost", "Content-Type", "application/json")); got != want {
			t.Errorf("%s is answered %d, not %d", method, got, want)
		}
	}
}

// TestHeaders: browsers do nothing of their own with an answer, and it names its request.
func TestHeaders(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"localhost", "evil.example.com"} {
		w := httptest.NewRecorder()
		around(t, guard.Config{}, fine).ServeHTTP(w, request(http.MethodGet, host))
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
			"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s is %q", name, got)
			}
		}
		if w.Header().Get("X-Request-ID") == "" {
			t.Error("the answer does not name its request")
		}
	}
}

// TestPanics: a panic is an answer that says nothing of it, and a line in the log that does.
func TestPanics(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	h := around(t, guard.Config{Log: slog.New(slog.NewTextHandler(&log, nil))}, func(http.ResponseWriter, *http.Request) { panic("secret") })
	w := httptest.NewRecorder()
	h.ServeHTTP(w, request(http.MethodGet, "localhost"))
	id := w.Header().Get("X-Request-ID")
	if w.Code != 500 || strings.Contains(w.Body.String(), "secret") || !strings.Contains(w.Body.String(), id) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if !strings.Contains(log.String(), "secret") || !strings.Contains(log.String(), id) {
		t.Errorf("the log: %s", log.String())
	}
}

// TestBodiesOfStrangers: who is refused is not waited for.
func TestBodiesOfStrangers(t *testing.T) {
	t.Parallel()
	h := around(t, guard.Config{Authenticate: access.Token("ops", "right")}, func(http.ResponseWriter, *http.Request) { t.Error("let in") })
	server := httptest.NewServer(h)
	defer server.Close()
	c, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
	answer, err := io.ReadAll(c)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 401 ") {
		t.Errorf("%v: %s", err, answer)
	}
}

// TestLasts: what lasts for long is told when its credential is not valid any more.
func TestLasts(t *testing.T) {
	t.Parallel()
	var valid error
	h := around(t, guard.Config{
		Authenticate: func(*http.Request) (access.Principal, error) { return access.Everything("ops"), valid },
	}, func(_ http.ResponseWriter, r *http.Request) {
		for _, c := range []struct {
			err  error
			want bool
		}{{nil, true}, {errors.New("away"), true}, {access.ErrUnauthenticated, false}} {
			if valid = c.err; access.Lasts(r.Context()) != c.want {
				t.Errorf("with %v it lasts: %t", c.err, !c.want)
			}
		}
	})
	ask(h, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/", http.NoBody))
	if !access.Lasts(t.Context()) {
		t.Error("what nothing is known of does not last")
	}
}

// TestTarget: what is not understood of a query is not left out, and no text comes through that
// databases do not keep.
func TestTarget(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]string{
		"/api/v1/jobs?state=failed&q=%C3%A4": "", "/api/v1/queues/%C3%A4%2F": "", "/api/v1/jobs?q=a%00b": "invalid",
		"/api/v1/jobs?a%00=b": "invalid", "/api/v1/jobs?q=%ff": "invalid", "/api/v1/jobs?%zz=1": "malformed", "/api/v1/jobs?a;b=1": "malformed",
		"/api/v1/queues/%00": "invalid", "/api/v1/queues/%ff": "invalid",
	} {
		r := httptest.NewRequest(http.MethodGet, "http://localhost"+target, http.NoBody)
		if _, code := ask(around(t, guard.Config{}, fine), r); code != want {
			t.Errorf("%s is answered %q, not %q", target, code, want)
		}
	}
}
