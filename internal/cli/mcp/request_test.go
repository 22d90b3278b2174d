package mcp

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

func operationOf(tb testing.TB, name string) *operation {
	tb.Helper()
	found, _, err := operations(true)
	if err != nil {
		tb.Fatal(err)
	}
	for _, o := range found {
		if o.ID == name {
			return o
		}
	}
	tb.Fatalf("there is no operation %s", name)
	return nil
}

// TestRequests: arguments make the request that they mean, or are refused.
func TestRequests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool, arguments string
		want            string // method, URI and body; or, with "!", what the error says
	}{
		{"job-list", ``, "GET /api/v1/jobs?namespace=shop "},
		{
			"job-list", `{"namespace":"a b","state":["failed","running"],"limit":5}`,
			"GET /api/v1/jobs?limit=5&namespace=a+b&state=failed&state=running ",
		},
		{"job-list", `{"state":"failed","cursor":null}`, "GET /api/v1/jobs?namespace=shop&state=failed "},
		{"job-get", `{"id":"a/b?c"}`, "GET /api/v1/jobs/a%2Fb%3Fc?namespace=shop "},
		{"queue-pause", `{"queue":"m&il"}`, "POST /api/v1/queues/m&il/pause?namespace=shop "},
		{"job-cancel", `{"id":"1","body":{"reason":"x"}}`, `POST /api/v1/jobs/1/cancel?namespace=shop {"reason":"x"}`},
		{"job-enqueue", `{"body":{"kind":"k"}}`, `POST /api/v1/jobs?namespace=shop {"kind":"k"}`},
		{"job-get", `{}`, `!"id" is missing`},
		{"job-get", `{"id":".."}`, `!must not be ".."`},
		{"job-get", `{"id":""}`, `!must not be ""`},
		{"job-get", `{"id":["1"]}`, "!must be a text"},
		{"job-get", `{"id":"1","extra":1}`, `!no argument "extra"`},
		{"job-get", `{"id":"1","body":{}}`, `!no argument "body"`},
		{"job-enqueue", `{}`, `!"body" is missing`},
		{"job-list", `{"state":{"a":1}}`, "!must be a text"},
		{"job-list", `[]`, "!no object"},
		{"limit-set", `{"limit":"l","If-Match":"a\r\nX: y","body":{}}`, "!a character"},
	} {
		r, err := operationOf(t, c.tool).request(t.Context(), "http://localhost", "shop", json.RawMessage(c.arguments))
		if words, refused := strings.CutPrefix(c.want, "!"); refused {
			if err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("%s %s: %v, want %q", c.tool, c.arguments, err, words)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s %s: %v", c.tool, c.arguments, err)
			continue
		}
		body, err := io.ReadAll(r.Body)
		if got := r.Method + " " + r.URL.RequestURI() + " " + string(body); err != nil || got != c.want {
			t.Errorf("%s %s: %s, %v", c.tool, c.arguments, got, err)
		}
	}
}

// FuzzRequest: whatever the arguments are, the request is of the operation, at its path.
func FuzzRequest(f *testing.F) {
	for _, text := range []string{
		`{"id":"1","name":"n","namespace":"x"}`, `{"id":"../../queues","name":"x"}`, `{"id":"..","name":"%2e%2e"}`,
		`{"id":"a\u0000b","name":"\\"}`,
		`{"id":1e400,"name":true}`, `null`, `[`, `{"id":"1","name":"n","after":[1,"2",null]}`,
	} {
		f.Add([]byte(text))
	}
	o := operationOf(f, "job-stream")
	mux := http.NewServeMux()
	reached := ""
	for _, other := range []string{"/api/v1/jobs/{id}/streams/{name}", "/"} {
		mux.HandleFunc(other, func(http.ResponseWriter, *http.Request) { reached = other })
	}
	f.Fuzz(func(t *testing.T, arguments []byte) {
		r, err := o.request(t.Context(), "http://localhost", "", arguments)
		if err != nil {
			return
		}
		if reached = ""; r.Method != http.MethodGet || r.URL.Host != "localhost" {
			t.Fatalf("%s %s", r.Method, r.URL)
		}
		response, err := inProcess{mux}.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if reached == "/" {
			t.Errorf("%s leads to another path: %s", arguments, r.URL)
		}
	})
}
