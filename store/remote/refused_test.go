package remote_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holdfastdev/holdfast/internal/heard"
	"github.com/holdfastdev/holdfast/internal/wire"
	"github.com/holdfastdev/holdfast/server"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/remote"
)

// TestURLs: what cannot be the URL of a server is refused before anybody is asked, and nothing that
// may be a secret is repeated.
func TestURLs(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"http://localhost", "https://jobs.example.com:8233", "http://[::1]:8233/", "https://a.example/holdfast/"} {
		if err := remote.Server(url, "token").Validate(); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	for url, says := range map[string]string{
		"":                               "http://HOST:PORT",
		"jobs.example.com":               "http://HOST:PORT",
		"localhost:8233":                 "http://HOST:PORT",
		"postgres://u:secret@host/db":    "http://HOST:PORT",
		"http://:8233":                   "http://HOST:PORT",
		"http://secret@host":             "give the token apart",
		"http://u:secret@host:8233":      "give the token apart",
		"http://host:8233/?token=secret": "give it apart",
		"http://host:8233/#secret":       "give it apart",
	} {
		for _, err := range []error{remote.Server(url, "").Validate(), func() error {
			_, err := remote.Server(url, "").Open(t.Context())
			return err
		}()} {
			if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %v", url, err)
			}
		}
		if text := remote.Server(url, "").String(); strings.Contains(text, "secret") {
			t.Errorf("%s is called %s", url, text)
		}
	}
	err := remote.Server("http://host", "a token\n").Validate()
	if !errors.Is(err, store.ErrInvalid) || strings.Contains(err.Error(), "a token\n") {
		t.Errorf("a token with a space: %v", err)
	}
}

// TestCredentials: who lacks the scope, or has some of the namespaces alone, is told what to do.
func TestCredentials(t *testing.T) {
	t.Parallel()
	a := newAddress(t)
	a.start(t, file(t), server.Options{Authenticate: func(r *http.Request) (access.Principal, error) {
		switch p := access.Everything("who"); access.Bearer(r) {
		case "all":
			return p, nil
		case "some":
			p.Namespaces = []string{"shop"}
			return p, nil
		case "operator":
			p.Scopes = slices.DeleteFunc(slices.Clone(access.Scopes), func(s access.Scope) bool { return s == access.Store })
			return p, nil
		}
		return access.Principal{}, access.ErrUnauthenticated
	}})
	for token, says := range map[string]string{
		"": "wants a token", "wrong": "does not take the token", "some": "limited to \"shop\"", "operator": "needs the scope store",
	} {
		_, err := remote.Server(a.URL, token).Open(t.Context())
		if !errors.Is(err, store.ErrPermission) || !strings.Contains(err.Error(), says) {
			t.Errorf("the token %q: %v", token, err)
		}
	}
	s := opened(t, remote.Server(a.URL, "all"))
	if _, err := s.Nodes(t.Context()); err != nil {
		t.Error(err)
	}
	for _, path := range []string{wire.Path("Nodes"), wire.NotifyPath, wire.HelloPath} {
		for _, token := range []string{"some", "operator"} {
			if status := post(t, a.URL+path, token, "{}"); status != http.StatusForbidden {
				t.Errorf("%s with the token of %s is answered %d", path, token, status)
			}
		}
	}
}

// post makes a request as a client does, and returns the status of its answer.
func post(t *testing.T, url, token, body string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set(wire.ClientHeader, "test")
	r.Header.Set(wire.SchemaHeader, strconv.Itoa(wire.Schema))
	c := &http.Client{Transport: heard.By(&http.Transport{DisableKeepAlives: true})}
	answer, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode
}

// TestRequests: what is no call is refused, whoever makes it.
func TestRequests(t *testing.T) {
	t.Parallel()
	url := serve(t, file(t))
	for _, test := range []struct {
		path, body string
		status     int
	}{
		{wire.Path("Nodes"), "", 200},
		{wire.Path("Nodes"), "{}", 200},
		{wire.Path("Queues"), `{"a":"default","later":1}`, 200},
		{wire.Path("Queues"), `{"a":1}`, 422},
		{wire.Path("Queues"), `[]`, 422},
		{wire.Path("Queues"), `{`, 422},
		{wire.Path("Queues"), strings.Repeat("[", 1000), 422},
		{wire.Path("Apply"), `{"a":{"batch":{"enqueues":[null]}}}`, 422},
		{wire.Path("Apply"), `{"a":{"batch":{"appends":[{"enqueues":[null]}]}}}`, 422},
		{wire.Path("Apply"), `{"a":{"batch":{"enqueues":[{"follow_ups":[null]}]}}}`, 422},
		{wire.Path("Apply"), `{"a":{"batch":{"fires":[{"runs":[{}]}]},"jobs":[[7]]}}`, 422},
		{wire.Path("Apply"), `{"a":{"batch":{"fires":[{"runs":[{}]}]},"jobs":[[]]}}`, 422},
		{wire.Path("Apply"), `{"a":{"batch":{"fires":[{"runs":[{}]}]}}}`, 422},
		{wire.Path("Reserve"), `{}`, 422},
		{wire.Path("EnqueueTx"), `{}`, 404},
		{wire.Path("Close"), `{}`, 404},
		{wire.Prefix + "drop-tables", `{}`, 404},
		{wire.NotifyPath, `{"a":[{"kind":1}]}`, 204},
		{wire.NotifyPath, `{"a":7}`, 422},
		{wire.Path("Queues"), `{"a":"` + strings.Repeat("x", 65<<20) + `"}`, 413},
	} {
		if status := post(t, url+test.path, "", test.body); status != test.status {
			t.Errorf("%s %.80s is answered %d, not %d", test.path, test.body, status, test.status)
		}
	}
}

// TestReadOnly: a server that only reads has what reads, and says so of the rest.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	source := file(t)
	a := newAddress(t)
	a.start(t, source, server.Options{ReadOnly: true})
	s := connect(t, a.URL)
	if _, err := s.Queues(t.Context(), "default"); err != nil {
		t.Error(err)
	}
	if err := s.Pause(t.Context(), store.PauseParams{Namespace: "default", Queue: "q", Paused: true}); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("a pause: %v", err)
	}
}

// TestOthers: what answers and is no server of this version is told apart from one that is away.
func TestOthers(t *testing.T) {
	t.Parallel()
	welcome := func(schema, serves string) string {
		return `{"a":{"schema":"` + schema + `","serves":"` + serves + `","traits":{"name":"sqlite"}},"now":"2026-01-01T00:00:00Z"}`
	}
	for _, test := range []struct {
		status     int
		body, says string
		is         error
	}{
		{200, "<html>", "not understood", store.ErrUnavailable},
		{200, "{}", "has not answered like one of Holdfast", store.ErrInvalid},
		{404, "not here", "another version of Holdfast, or the path", store.ErrSchema},
		{405, "", "another version of Holdfast, or the path", store.ErrSchema},
		{302, "", "use the URL of the server itself", store.ErrInvalid},
		{502, "bad gateway", "502 Bad Gateway: bad gateway", store.ErrUnavailable},
		{503, "the node is starting\n", "Unavailable: the node is starting", store.ErrUnavailable},
		{503, "a\x1b[2Jb", "503 Service Unavailable", store.ErrUnavailable},
		{503, `{"code":"stopping","detail":"it stops"}`, "it stops", store.ErrUnavailable},
		{429, "", "429", store.ErrUnavailable},
		{421, `{"code":"wrong_host","detail":"start it with --host"}`, "start it with --host", store.ErrInvalid},
		{200, welcome("1000", "999"), "use a newer version of it", store.ErrSchema},
		{200, welcome("-1", "1"), "upgrade the server first", store.ErrSchema},
		{200, welcome("1000", "1"), "", nil},
	} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://elsewhere.example/")
			w.WriteHeader(test.status)
			_, _ = io.WriteString(w, test.body)
		}))
		s, err := remote.Server(web.URL, "").Open(t.Context())
		if test.is == nil && err == nil {
			err = s.Close()
		}
		if !errors.Is(err, test.is) || err != nil && (!strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), web.URL)) {
			t.Errorf("%d %s: %v", test.status, test.body, err)
		}
		web.Close()
	}
}

// TestOthersAfterwards: where a server was met, what answers instead of it is one that is away,
// such as what stands before servers that are being replaced. A refusal of a server is none.
func TestOthersAfterwards(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status int
		body   string
		is     error
	}{
		{404, "404 page not found", store.ErrUnavailable},
		{404, `{"code":"not_found","detail":"no such call"}`, store.ErrSchema},
		{405, "", store.ErrUnavailable},
		{302, "", store.ErrUnavailable},
		{400, "<html>", store.ErrUnavailable},
		{409, "", store.ErrUnavailable},
		{421, "", store.ErrUnavailable},
		{499, "", store.ErrUnavailable},
		{200, "", store.ErrUnavailable},
		{200, `{"status":"maintenance"}`, store.ErrUnavailable},
		{400, `{"code":"malformed","detail":"no"}`, store.ErrInvalid},
		{403, "<html>", store.ErrPermission},
		{401, `{"code":"unauthenticated","detail":"no"}`, store.ErrUnavailable},
		{403, `{"code":"forbidden","detail":"no"}`, store.ErrPermission},
		{413, "", store.ErrInvalid},
		{503, "", store.ErrUnavailable},
	} {
		var met atomic.Bool
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if !met.Swap(true) {
				_, _ = io.WriteString(w, `{"a":{"schema":"1000","serves":"1","traits":{"name":"sqlite"}},"now":"2026-01-01T00:00:00Z"}`)
				return
			}
			w.WriteHeader(test.status)
			_, _ = io.WriteString(w, test.body)
		}))
		s, err := remote.Server(web.URL, "secret").Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Queues(t.Context(), "default"); !errors.Is(err, test.is) || !strings.Contains(err.Error(), web.URL) {
			t.Errorf("%d %s: %v, want %v", test.status, test.body, err, test.is)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		web.Close()
	}
}

// TestTokenFunc: each request has the token of its moment. While there is none the server is away.
func TestTokenFunc(t *testing.T) {
	t.Parallel()
	a := newAddress(t)
	var right atomic.Value
	right.Store("first")
	a.start(t, file(t), server.Options{Authenticate: func(r *http.Request) (access.Principal, error) {
		if access.Bearer(r) == right.Load() {
			return access.Everything("who"), nil
		}
		return access.Principal{}, access.ErrUnauthenticated
	}})
	var token atomic.Value
	var failed atomic.Bool
	token.Store("first")
	c := remote.Config{URL: a.URL, TokenFunc: func(context.Context) (string, error) {
		if failed.Load() {
			return "", errors.New("the agent is away")
		}
		return token.Load().(string), nil //nolint:errcheck,forcetypeassert // it is
	}}
	s := opened(t, c)
	asks := func(want error, says string) {
		t.Helper()
		if _, err := s.Nodes(t.Context()); !errors.Is(err, want) || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %v that says %q", err, want, says)
		}
	}
	asks(nil, "")
	right.Store("second")
	asks(store.ErrUnavailable, "does not take the token any more")
	token.Store("second")
	asks(nil, "")
	failed.Store(true)
	asks(store.ErrUnavailable, "the agent is away")
	failed.Store(false)
	token.Store("a b")
	asks(store.ErrUnavailable, "no token has")
	token.Store("second")
	asks(nil, "")
	c.Token = "second"
	if err := c.Validate(); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("a token and a function: %v", err)
	}
}

// TestTransactions: what needs a transaction of the caller says what it needs.
func TestTransactions(t *testing.T) {
	t.Parallel()
	s := connect(t, serve(t, file(t)))
	ctx := t.Context()
	_, cancel := s.CancelTx(ctx, nil, store.CancelParams{})
	_, retry := s.RetryTx(ctx, nil, store.RetryParams{})
	_, finish := s.FinishTx(ctx, nil, store.FinishParams{})
	tx := &store.Reservation{}
	for what, err := range map[string]error{
		"EnqueueTx": s.EnqueueTx(ctx, nil, nil), "SendTx": s.SendTx(ctx, nil, nil), "StepTx": s.AppendTx(ctx, nil, nil),
		"CancelTx": cancel, "RetryTx": retry, "FinishTx": finish,
		"a batch that is created": s.CreateBatch(ctx, tx, store.JobBatch{}),
		"a batch that is closed":  s.CloseBatch(ctx, tx, "", store.ID{}),
	} {
		if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), what) ||
			!strings.Contains(err.Error(), "needs the database itself") {
			t.Errorf("%s: %v", what, err)
		}
	}
	c := remote.Server("http://localhost", "")
	_, migrate := c.Migrate(ctx)
	_, reset := c.Reset(ctx)
	for _, err := range []error{migrate, reset} {
		if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "needs the database itself") {
			t.Error(err)
		}
	}
}
