package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/usercode"
)

// verdict is what an error makes of the job.
func verdict(err error) string {
	var (
		fail  *usercode.FailError
		retry *usercode.RetryError
	)
	switch {
	case err == nil:
		return "complete"
	case errors.As(err, &fail):
		return "fail"
	case errors.As(err, &retry):
		return "retry after " + retry.Delay.String()
	}
	return "retry"
}

func newClient(t *testing.T) *http.Client {
	t.Helper()
	client := &http.Client{Transport: newTransport(), CheckRedirect: checkRedirect}
	t.Cleanup(client.CloseIdleConnections)
	return client
}

func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

func TestStatusDecides(t *testing.T) {
	t.Parallel()
	date := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, test := range []struct {
		status int
		after  string
		want   string
	}{
		{200, "", "complete"},
		{201, "", "complete"},
		{204, "", "complete"},
		{299, "", "complete"},
		{304, "", "fail"},
		{400, "", "fail"},
		{401, "", "fail"},
		{404, "", "fail"},
		{404, "7", "fail"},
		{408, "", "retry"},
		{410, "", "fail"},
		{422, "", "fail"},
		{425, "", "retry"},
		{429, "", "retry"},
		{429, "7", "retry after 7s"},
		{429, "0", "retry after 1s"},
		{429, "soon", "retry"},
		{429, "-5", "retry"},
		{429, "99999999999999999999", "retry after 24h0m0s"},
		{429, "2000000000", "retry after 24h0m0s"},
		{500, "", "retry"},
		{500, "7", "retry"},
		{502, "", "retry"},
		{503, "", "retry"},
		{503, "120", "retry after 2m0s"},
		{503, date.Add(90 * time.Second).Format(http.TimeFormat), "retry after 1m30s"},
		{503, date.Add(-time.Hour).Format(http.TimeFormat), "retry after 1s"},
		{504, "", "retry"},
	} {
		t.Run(fmt.Sprint(test.status, test.after), func(t *testing.T) {
			t.Parallel()
			server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Date", date.Format(http.TimeFormat))
				if test.after != "" {
					w.Header().Set("Retry-After", test.after)
				}
				w.WriteHeader(test.status)
			})
			_, err := request(t.Context(), newClient(t), HTTPArgs{URL: server.URL}, "k")
			if got := verdict(err); got != test.want {
				t.Errorf("%d with Retry-After %q: %s, want %s (%v)", test.status, test.after, got, test.want, err)
			}
			if err != nil && !strings.Contains(err.Error(), strconv.Itoa(test.status)) {
				t.Errorf("the error does not name the status: %v", err)
			}
		})
	}
}

func TestRequestIsSent(t *testing.T) {
	t.Parallel()
	type seen struct {
		Method string `json:"method"`
		Path   string `json:"path"`
		Query  string `json:"query"`
		Host   string `json:"host"`
		Body   string `json:"body"`
		Type   string `json:"type"`
		Key    string `json:"key"`
		Agent  string `json:"agent"`
		Custom string `json:"custom"`
	}
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Set-Cookie", "secret=1")
		w.Header().Set("ETag", `"v1"`)
		_ = json.NewEncoder(w).Encode(seen{
			Method: r.Method, Path: r.URL.Path, Host: r.Host, Body: string(body), Query: r.URL.RawQuery,
			Type: r.Header.Get("Content-Type"), Key: r.Header.Get("Idempotency-Key"),
			Agent: r.Header.Get("User-Agent"), Custom: r.Header.Get("X-Custom"),
		})
	})
	host := strings.TrimPrefix(server.URL, "http://")
	for name, test := range map[string]struct {
		args string
		want seen
	}{
		"get": {
			`{"url":"URL/a?b=c"}`,
			seen{Method: "GET", Path: "/a", Query: "b=c", Host: host, Key: "job-1", Agent: "holdfast"},
		},
		"json body": {
			`{"url":"URL/","body":{"a":9007199254740993}}`,
			seen{Method: "POST", Path: "/", Host: host, Body: `{"a":9007199254740993}`, Type: "application/json", Key: "job-1", Agent: "holdfast"},
		},
		"text body": {
			`{"method":"put","url":"URL/","body":"a\nb","headers":{"Content-Type":"text/plain","X-Custom":"yes"}}`,
			seen{Method: "PUT", Path: "/", Host: host, Body: "a\nb", Type: "text/plain", Key: "job-1", Agent: "holdfast", Custom: "yes"},
		},
		"own headers win": {
			`{"url":"URL/","headers":{"idempotency-key":"mine","user-agent":"me","host":"example.org"}}`,
			seen{Method: "GET", Path: "/", Host: "example.org", Key: "mine", Agent: "me"},
		},
		"headers left out": {
			`{"url":"URL/","headers":{"Idempotency-Key":"","User-Agent":""}}`,
			seen{Method: "GET", Path: "/", Host: host},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var args HTTPArgs
			if err := json.Unmarshal([]byte(strings.ReplaceAll(test.args, "URL", server.URL)), &args); err != nil {
				t.Fatal(err)
			}
			result, err := request(t.Context(), newClient(t), args, "job-1")
			if err != nil {
				t.Fatal(err)
			}
			var got seen
			if err := json.Unmarshal([]byte(result.Body), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("the server saw (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(map[string]string{"Content-Type": "application/json", "Etag": `"v1"`}, result.Headers); diff != "" {
				t.Errorf("kept headers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWrongArgs(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]string{
		"no url":          `{}`,
		"no scheme":       `{"url":"example.org"}`,
		"file":            `{"url":"file:///etc/passwd"}`,
		"ftp":             `{"url":"ftp://example.org/"}`,
		"no host":         `{"url":"http:///x"}`,
		"port only":       `{"url":"http://:80/x"}`,
		"does not parse":  `{"url":"http://example.org/%zz"}`,
		"method":          `{"url":"http://127.0.0.1:1/","method":"G T"}`,
		"timeout":         `{"url":"http://127.0.0.1:1/","timeout":"soon"}`,
		"timeout 0":       `{"url":"http://127.0.0.1:1/","timeout":"0s"}`,
		"header name":     `{"url":"http://127.0.0.1:1/","headers":{"a b":"c"}}`,
		"header name \n":  `{"url":"http://127.0.0.1:1/","headers":{"a\nb":"c"}}`,
		"header value":    `{"url":"http://127.0.0.1:1/","headers":{"a":"c\r\nd: e"}}`,
		"no header name":  `{"url":"http://127.0.0.1:1/","headers":{"":"c"}}`,
		"empty host part": `{"url":"http://user@/x"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var parsed HTTPArgs
			if err := json.Unmarshal([]byte(args), &parsed); err != nil {
				t.Fatal(err)
			}
			_, err := request(t.Context(), newClient(t), parsed, "k")
			if verdict(err) != "fail" {
				t.Errorf("%s: %s (%v), want fail", args, verdict(err), err)
			}
		})
	}
}

func TestNetworkErrorsAreRetried(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	broken := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, "half")
	})
	aborted := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	for name, url := range map[string]string{"refused": closed.URL, "half an answer": broken.URL, "aborted": aborted.URL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := request(t.Context(), newClient(t), HTTPArgs{URL: url}, "k")
			if verdict(err) != "retry" {
				t.Errorf("%s (%v), want retry", verdict(err), err)
			}
		})
	}
}

func TestTimeoutAndCancel(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 2)
	server := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	})
	client := newClient(t)

	_, err := request(t.Context(), client, HTTPArgs{URL: server.URL, Timeout: "50ms"}, "k")
	if verdict(err) != "retry" || !strings.Contains(err.Error(), "no answer within 50ms") {
		t.Errorf("after the timeout: %v", err)
	}
	<-asked

	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-asked
		cancel(usercode.ErrCancelled)
	}()
	if _, err = request(ctx, client, HTTPArgs{URL: server.URL}, "k"); !errors.Is(err, usercode.ErrCancelled) {
		t.Errorf("after the cancel: %v", err)
	}
}

func TestBodyIsCapped(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/long":
			_, _ = io.WriteString(w, strings.Repeat("x", outputLimit+1))
		case "/full":
			_, _ = io.WriteString(w, strings.Repeat("x", outputLimit))
		case "/binary":
			_, _ = w.Write([]byte("a\x00b\xFFc"))
		}
	})
	get := func(path string) HTTPResult {
		result, err := request(t.Context(), newClient(t), HTTPArgs{URL: server.URL + path}, "k")
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	if r := get("/long"); len(r.Body) != outputLimit || !r.BodyTruncated {
		t.Errorf("a long body: %d bytes, truncated %t", len(r.Body), r.BodyTruncated)
	}
	if r := get("/full"); len(r.Body) != outputLimit || r.BodyTruncated {
		t.Errorf("a body of just the limit: %d bytes, truncated %t", len(r.Body), r.BodyTruncated)
	}
	if r := get("/binary"); r.Body != "a\uFFFDb\uFFFDc" {
		t.Errorf("a binary body: %q", r.Body)
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; path {
		case "/again":
			http.Redirect(w, r, "/again", http.StatusFound)
		case "/file":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		case "/echo":
			_, _ = io.WriteString(w, r.Method+" ")
			_, _ = io.Copy(w, r.Body)
		default: // a status
			status, err := strconv.Atoi(path[1:])
			if err != nil {
				t.Error(err)
			}
			http.Redirect(w, r, "/echo", status)
		}
	})
	const body = `"hi"`
	for _, test := range []struct {
		method, path, body string
		want               string // the verdict, or what the last server received
	}{
		{"GET", "/again", "", "retry"},
		{"GET", "/file", "", "fail"},
		{"GET", "/301", "", "GET "},
		{"GET", "/302", "", "GET "},
		{"GET", "/307", "", "GET "},
		{"HEAD", "/302", "", ""}, // it has no body
		{"POST", "/307", body, "POST hi"},
		{"PUT", "/308", body, "PUT hi"},
		{"POST", "/301", body, "fail"},
		{"POST", "/302", body, "fail"},
		{"POST", "/303", body, "fail"},
		{"POST", "/302", "", "fail"},
		{"DELETE", "/302", "", "fail"},
		{"GET", "/302", body, "fail"}, // the body would be dropped
	} {
		t.Run(test.method+test.path+test.body, func(t *testing.T) {
			t.Parallel()
			args := HTTPArgs{Method: test.method, URL: server.URL + test.path, Body: json.RawMessage(test.body)}
			result, err := request(t.Context(), newClient(t), args, "k")
			got := verdict(err)
			if err == nil {
				got = result.Body
			}
			if got != test.want {
				t.Errorf("%s (%v), want %s", got, err, test.want)
			}
		})
	}
}

// TestLargestResult: the largest kept response fits into a result.
func TestLargestResult(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		for _, name := range keptHeaders {
			w.Header().Set(name, strings.Repeat("<", 100<<10))
		}
		_, _ = io.WriteString(w, strings.Repeat("\x01", 2*outputLimit))
	})
	client := newClient(t)
	result, err := request(t.Context(), client, HTTPArgs{URL: server.URL}, "k")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range keptHeaders {
		if got := len(result.Headers[name]); got != headerLimit {
			t.Errorf("%d bytes of %s are kept", got, name)
		}
	}
	if data, err := json.Marshal(result); err != nil || len(data) > holdfast.MaxPayload {
		t.Errorf("the result has %d bytes, %v", len(data), err)
	}
}

func TestErrorsHoldNoPassword(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"http://me:hunter2@127.0.0.1:1/", "http://me:hunter2@127.0.0.1:1/%zz", "ftp://me:hunter2@h/"} {
		_, err := request(t.Context(), newClient(t), HTTPArgs{URL: url}, "k")
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", url, err)
		}
	}
}
