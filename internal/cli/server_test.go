package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/nodes"
)

const longToken = "0123456789abcdefghij"

// asked is what a request was answered.
type asked struct {
	status int
	text   string
	json   map[string]any
}

// ask makes a request with a token; "" is none.
func ask(t *testing.T, client *http.Client, method, url, token, body string) asked {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	if method != http.MethodGet {
		r.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := asked{status: answer.StatusCode, text: string(data)}
	_ = json.Unmarshal(data, &a.json) // it need not be an object
	return a
}

// newClient is one whose connections are closed at the end of the test.
func newClient(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Transport: &http.Transport{}, Jar: jar}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// TestServer: what is enqueued through the server is in the database, and only who has the token
// gets in.
func TestServer(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.env[nodes.EnvToken] = longToken
	n := s.start("server", "--listen", "127.0.0.1:0")
	until(t, "the API", func() bool { return servesOn.MatchString(n.stderr.String()) })
	url := servesOn.FindStringSubmatch(n.stderr.String())[1]
	c := newClient(t)
	for _, token := range []string{"", "wrong", longToken[1:]} {
		for _, path := range []string{"/api/v1/jobs", "/openapi.json", "/metrics", "/"} {
			if a := ask(t, c, "GET", url+path, token, ""); a.status != http.StatusUnauthorized || a.json["code"] != "unauthenticated" {
				t.Errorf("%s with the token %q: %d %s", path, token, a.status, a.text)
			}
		}
	}
	created := ask(t, c, "POST", url+"/api/v1/jobs", longToken, `{"kind":"mail","args":{"n":1}}`)
	id, _ := created.json["id"].(string)
	if created.status != http.StatusCreated || s.job(id)["kind"] != "mail" {
		t.Errorf("%d %s", created.status, created.text)
	}
	if a := ask(t, c, "GET", url+"/api/v1/jobs/"+id, longToken, ""); a.json["state"] != "available" {
		t.Errorf("%d %s", a.status, a.text)
	}
	s.ok("job", "cancel", id)
	if a := ask(t, c, "GET", url+"/api/v1/jobs/"+id, longToken, ""); a.json["state"] != "cancelled" {
		t.Errorf("%d %s", a.status, a.text)
	}
	// Its node may join after it listens.
	until(t, "/readyz", func() bool { return ask(t, c, "GET", url+"/readyz", "", "").status == http.StatusOK })
	for path, part := range map[string]string{
		"/metrics": "go_goroutines", "/healthz": "ok", "/readyz": "ok", "/openapi.json": `"openapi": "3.1.0"`,
	} {
		if a := ask(t, c, "GET", url+path, longToken, ""); a.status != http.StatusOK || !strings.Contains(a.text, part) {
			t.Errorf("%s: %d %.200s", path, a.status, a.text)
		}
	}
	if a := ask(t, c, "GET", url+"/healthz", "", ""); a.status != http.StatusOK {
		t.Errorf("a probe has no token: %d", a.status)
	}
	if strings.Contains(n.stderr.String(), longToken) {
		t.Errorf("it prints the token: %s", n.stderr)
	}
	n.stop(t)
}

// TestServerWithATokenOfAFile: what files have at their end is no part of it.
func TestServerWithATokenOfAFile(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.env[nodes.EnvToken] = longToken + "\n"
	n := s.start("server", "--listen", "127.0.0.1:0")
	until(t, "the API", func() bool { return servesOn.MatchString(n.stderr.String()) })
	url, c := servesOn.FindStringSubmatch(n.stderr.String())[1], newClient(t)
	if a := ask(t, c, "GET", url+"/api/v1/jobs", longToken, ""); a.status != http.StatusOK {
		t.Errorf("%d %s", a.status, a.text)
	}
}

// TestMetricsAreOfAllNamespaces: a key of one does not see those of others.
func TestMetricsAreOfAllNamespaces(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	n := s.start("server", "--listen", "127.0.0.1:0", "--auth", "keys")
	until(t, "the API", func() bool { return servesOn.MatchString(n.stderr.String()) })
	url, c := servesOn.FindStringSubmatch(n.stderr.String())[1], newClient(t)
	for _, args := range [][]string{{"--in", "shop"}, nil} {
		var key struct {
			Secret string `json:"secret"`
		}
		s.decode(s.ok(append([]string{"key", "create", strings.Repeat("n", 190), "--role", "viewer", "-o", "json"}, args...)...), &key)
		want := http.StatusOK
		if args != nil {
			want = http.StatusForbidden
		}
		if a := ask(t, c, "GET", url+"/metrics", key.Secret, ""); a.status != want {
			t.Errorf("with %v: %d %.200s", args, a.status, a.text)
		}
		if a := ask(t, c, "GET", url+"/api/v1/jobs", key.Secret, ""); a.status != http.StatusOK { // whatever its name
			t.Errorf("with %v: %d %s", args, a.status, a.text)
		}
	}
}

// TestServerReadOnly: it refuses what changes something, and nothing else.
func TestServerReadOnly(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	n := s.start("server", "--listen", "127.0.0.1:0", "--auth", "none", "--read-only")
	until(t, "the API", func() bool { return servesOn.MatchString(n.stderr.String()) })
	url := servesOn.FindStringSubmatch(n.stderr.String())[1]
	c := newClient(t)
	if a := ask(t, c, "POST", url+"/api/v1/jobs", "", `{"kind":"mail"}`); a.status != http.StatusForbidden || a.json["code"] != "read_only" {
		t.Errorf("%d %s", a.status, a.text)
	}
	if a := ask(t, c, "GET", url+"/api/v1/jobs", "", ""); a.status != http.StatusOK {
		t.Errorf("%d %s", a.status, a.text)
	}
}

var callbacksOn = regexp.MustCompile(`Serving callbacks, and nothing else, on (http://\S+)\.\n`)

// TestServerOfCallbacks: it has callbacks and probes, for whoever has the token of one, and is not
// more than that for anybody else.
func TestServerOfCallbacks(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.env[nodes.EnvToken] = longToken
	n := s.start("server", "--listen", "127.0.0.1:0", "--only", "callbacks", "--rate-limit", "1/h", "--rate-burst", "20")
	until(t, "the API", func() bool { return callbacksOn.MatchString(n.stderr.String()) })
	url := callbacksOn.FindStringSubmatch(n.stderr.String())[1]
	c := newClient(t)
	for _, token := range []string{"", longToken} {
		for _, path := range []string{
			"/api/v1/jobs", "/openapi.json", "/metrics", "/", "/?token=" + longToken, "/api/v1/callbacks", "/api/v1/events",
		} {
			if a := ask(t, c, "GET", url+path, token, ""); a.status != http.StatusNotFound || a.json["code"] != "not_found" {
				t.Errorf("%s: %d %s", path, a.status, a.text)
			}
		}
	}
	for path, want := range map[string]int{
		"/api/v1/jobs": 404, "/api/v1/store/apply": 404, "/api/v1/workers": 404, "/api/v1/callbacks/hfc_none/complete": 422,
	} {
		if a := ask(t, c, "POST", url+path, longToken, `{}`); a.status != want {
			t.Errorf("%s: %d %s", path, a.status, a.text)
		}
	}
	for range 3 {
		ask(t, c, "POST", url+"/api/v1/callbacks/hfc_none/complete", "", `{}`)
	}
	if a := ask(t, c, "POST", url+"/api/v1/callbacks/hfc_none/complete", "", `{}`); a.status != http.StatusTooManyRequests {
		t.Errorf("tokens can be tried without an end: %d", a.status)
	}
	for _, probe := range []string{"/healthz", "/readyz"} { // its node may join after it listens
		until(t, probe, func() bool { return ask(t, c, "GET", url+probe, "", "").status == http.StatusOK })
	}
	n.stop(t)
}

// TestServerWithALimit: a caller who makes too many requests is told when to come again, and so
// is the command; probes do not count.
func TestServerWithALimit(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	n := s.start("server", "--listen", "127.0.0.1:0", "--auth", "none", "--rate-limit", "1/h", "--rate-burst", "4")
	until(t, "the API", func() bool { return servesOn.MatchString(n.stderr.String()) })
	url := servesOn.FindStringSubmatch(n.stderr.String())[1]
	c := newClient(t)
	for i := range 6 {
		a := ask(t, c, "GET", url+"/api/v1/jobs", "", "")
		if i < 4 && a.status == http.StatusOK || i >= 4 && a.status == http.StatusTooManyRequests && a.json["code"] == "rate_limited" {
			continue
		}
		t.Errorf("request %d: %d %s", i, a.status, a.text)
	}
	if a := ask(t, c, "GET", url+"/healthz", "", ""); a.status != http.StatusOK {
		t.Errorf("a probe counts: %d", a.status)
	}
	delete(s.env, app.EnvDatabase)
	s.expect(s.run("queue", "list", "--server", url), 1, "more requests than the server lets one caller make")
}

// TestServerRefusesToStart: a server that everybody could use from elsewhere does not start.
func TestServerRefusesToStart(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for _, test := range []struct {
		token string
		args  []string
		words string
	}{
		{"", nil, "set $" + nodes.EnvToken},
		{"short", nil, "at least 20"},
		{"", []string{"--auth", "none", "--listen", "0.0.0.0:0"}, "lets everybody do everything"},
		{"", []string{"--auth", "none", "--listen", ":0"}, "lets everybody do everything"},
		{"", []string{"--auth", "none", "--listen", "example.com:0"}, "lets everybody do everything"},
		{"", []string{"--auth", "none", "--listen", "127.0.0.1:0", "--host", "*"}, "any web page"},
		{"", []string{"--auth", "ldap"}, "is none of token, keys, oidc, none"},
		{longToken, []string{"--listen", "8233"}, "must be HOST:PORT"},
		{longToken, []string{"--listen", "127.0.0.1:0", "--origin", "jobs.example.com"}, "origin"},
		{longToken, []string{"--rate-limit", "100"}, "such as 100/s"},
		{longToken, []string{"--rate-limit", "0/s"}, "such as 100/s"},
		{longToken, []string{"--rate-limit", "NaN/s"}, "such as 100/s"},
		{longToken, []string{"--rate-limit", "1000001/s"}, "such as 100/s"},
		{"", []string{"--only", "jobs"}, `"jobs" is not callbacks`},
		{"", []string{"--only", "callbacks", "--read-only"}, "leaves nothing to do"},
		{longToken, []string{"--rate-burst", "5"}, "--rate-burst needs --rate-limit"},
		{longToken, []string{"--rate-limit", "5/m", "--rate-burst", "-1"}, "must be from 1"},
	} {
		delete(s.env, nodes.EnvToken)
		if test.token != "" {
			s.env[nodes.EnvToken] = test.token
		}
		s.expect(s.run(append([]string{"server"}, test.args...)...), app.ExitUsage, test.words)
	}
}

var devToken = regexp.MustCompile(`(http://127\.0\.0\.1:\d+)/\?token=(\S+)`)

// TestDevServesTheAPI: dev makes a token, prints the URL that carries it, and accepts nothing
// without it; a browser that opens the URL is let in by a cookie.
func TestDevServesTheAPI(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	n := s.start("dev", "--listen", "127.0.0.1:0")
	until(t, "the URL", func() bool { return devToken.MatchString(n.stderr.String()) })
	said := devToken.FindStringSubmatch(n.stderr.String())
	url, token := said[1], said[2]
	browser, other := newClient(t), newClient(t)
	if a := ask(t, browser, "GET", url+"/?token="+token, "", ""); a.status != http.StatusOK || a.json["name"] != "holdfast" {
		t.Errorf("%d %s", a.status, a.text)
	}
	for what, test := range map[string]struct {
		client *http.Client
		token  string
		status int
	}{
		"the browser": {browser, "", http.StatusOK}, "another one": {other, "", http.StatusUnauthorized},
		"a program": {other, token, http.StatusOK}, "one with a wrong token": {other, token + "x", http.StatusUnauthorized},
	} {
		if a := ask(t, test.client, "GET", url+"/api/v1/jobs", test.token, ""); a.status != test.status {
			t.Errorf("%s: %d %s", what, a.status, a.text)
		}
	}
	if a := ask(t, other, "GET", url+"/?token=wrong", "", ""); a.status != http.StatusUnauthorized {
		t.Errorf("a wrong URL: %d %s", a.status, a.text)
	}
	created := ask(t, other, "POST", url+"/api/v1/jobs", token, `{"kind":"exec","args":{"command":["echo","hello"]}}`)
	id, _ := created.json["id"].(string)
	if a := ask(t, other, "GET", url+"/api/v1/jobs/"+id+"/result?wait=1m", token, ""); a.json["state"] != "completed" {
		t.Errorf("%d %s", a.status, a.text)
	}
	second := s.start("dev", "--node-name", "second")
	until(t, "the second one, on whichever port is free", func() bool { return devToken.MatchString(second.stderr.String()) })
	third := s.start("dev", "--listen", "none")
	if strings.Contains(third.stderr.String(), "token") {
		t.Errorf("it listens: %s", third.stderr)
	}
}
