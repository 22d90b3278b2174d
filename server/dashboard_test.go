package server_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/server"
	"github.com/holdfastdev/holdfast/server/access"
)

const operatorsToken = "a-token-of-more-than-20-letters"

// pages is a dashboard, which only says so.
var pages = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("a page")) })

// ops lets in who has the token.
var ops = access.Token("ops", operatorsToken)

func withPages(t *testing.T, o server.Options) http.Handler {
	t.Helper()
	o.Authenticate, o.Dashboard = ops, pages
	return served(t, o)
}

// TestDashboardPaths: pages are what is not below /api, for anybody; all else is as without them.
func TestDashboardPaths(t *testing.T) {
	t.Parallel()
	handler := withPages(t, server.Options{})
	for _, c := range []struct {
		method, path, accept string
		status               int
		isPage               bool
	}{
		{"GET", "/", "text/html", 200, true},
		{"GET", "/jobs", "text/html", 200, true},
		{"GET", "/jobs/x?q=state:failed", "text/html,*/*", 200, true},
		{"GET", "/jobs", "*/*", 401, false},
		{"HEAD", "/assets/app.js", "", 200, true},
		{"GET", "/", "*/*", 401, false},
		{"GET", "/openapi.json", "text/html", 401, false},
		{"GET", "/api/v1/jobs", "text/html", 401, false},
		{"GET", "/api/v1/nothing", "text/html", 401, false},
		{"GET", "/api", "text/html", 401, false},
		{"POST", "/jobs", "", 401, false},
	} {
		r := httptest.NewRequest(c.method, "http://localhost"+c.path, nil)
		r.Header.Set("Accept", c.accept)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != c.status || (w.Body.String() == "a page") != c.isPage {
			t.Errorf("%s %s: %d %s", c.method, c.path, w.Code, w.Body)
		}
	}
}

// TestSession: a page signs in with a credential and gets a cookie that lets it in, also where the
// server only reads; a wrong one, a form, and a page of another site get none.
func TestSession(t *testing.T) {
	t.Parallel()
	handler := withPages(t, server.Options{ReadOnly: true})
	do := func(method, path, body string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	right := `{"token":"` + operatorsToken + `"}`
	for body, status := range map[string]int{
		`{"token":"wrong-wrong-wrong-wrong"}`: 401, `{}`: 422, `{"token":"a b"}`: 422, `[]`: 422, ``: 422, right: 204,
	} {
		w := do("POST", "/session", body)
		if w.Code != status || (w.Header().Get("Set-Cookie") != "") != (status == 204) {
			t.Errorf("sign in with %s: %d %v", body, w.Code, w.Header())
		}
	}
	// A valid cookie beside a wrong token does not make that right.
	if w := do("POST", "/session", `{"token":"wrong-wrong-wrong-wrong"}`, "Cookie", "holdfast="+operatorsToken); w.Code != 401 {
		t.Errorf("a wrong token with a cookie: %d", w.Code)
	}
	long := `{"token":"` + strings.Repeat("a", 4000) + `"}` // which browsers would drop without a word
	if w := do("POST", "/session", long); w.Code != 422 || !strings.Contains(w.Body.String(), "browsers keep") {
		t.Errorf("a token that no cookie holds: %d %s", w.Code, w.Body)
	}
	if w := do("POST", "/session", right, "Content-Type", "text/plain"); w.Code != 415 {
		t.Errorf("a form: %d", w.Code)
	}
	if w := do("POST", "/session", right, "Sec-Fetch-Site", "cross-site"); w.Code != 403 {
		t.Errorf("another site: %d", w.Code)
	}
	cookie := do("POST", "/session", right).Result().Cookies()[0]
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode {
		t.Errorf("scripts or other sites have the cookie: %v", cookie)
	}
	w := do("GET", "/api/v1/whoami", "", "Cookie", cookie.Name+"="+cookie.Value)
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"read_only":true`) {
		t.Errorf("with the cookie: %d %s", w.Code, w.Body)
	}
	// A wrong credential in the URL leads to the form, and does not stay in the URL.
	for _, token := range []string{operatorsToken, "wrong-wrong-wrong-wrong"} {
		w := do("GET", "/?token="+token, "", "Accept", "text/html")
		if w.Code != 303 || w.Header().Get("Location") != "./" || (w.Header().Get("Set-Cookie") != "") != (token == operatorsToken) {
			t.Errorf("a page by a URL with %s: %d %v", token, w.Code, w.Header())
		}
	}
	if w := do("GET", "/?token=wrong-wrong-wrong-wrong", ""); w.Code != 401 {
		t.Errorf("a program by a URL with a wrong credential: %d", w.Code)
	}
	if gone := do("DELETE", "/session", "").Result().Cookies(); len(gone) != 1 || gone[0].MaxAge != -1 {
		t.Errorf("sign out: %v", gone)
	}
}

// TestSignInAnew: what signs in is the token of the request, also where the authenticator would
// look at the cookie first.
func TestSignInAnew(t *testing.T) {
	t.Parallel()
	handler := served(t, server.Options{Dashboard: pages, Authenticate: func(r *http.Request) (access.Principal, error) {
		if _, err := r.Cookie(access.Cookie(r)); err == nil || access.Bearer(r) == operatorsToken {
			return access.Everything("ops"), nil
		}
		return access.Principal{}, access.ErrUnauthenticated
	}})
	r := httptest.NewRequest(http.MethodPost, "http://localhost/session", strings.NewReader(`{"token":"wrong"}`))
	r.Header.Set("Content-Type", "application/json")
	r.AddCookie(&http.Cookie{Name: access.Cookie(r), Value: operatorsToken})
	w := httptest.NewRecorder()
	if handler.ServeHTTP(w, r); w.Code != http.StatusUnauthorized {
		t.Errorf("a wrong token beside a cookie: %d", w.Code)
	}
}

// deadlines is a writer that knows until when its connection reads.
type deadlines struct {
	*httptest.ResponseRecorder

	read time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.read = t
	return nil
}

// TestBodiesThatDoNotCome: the server waits for what is left of a body before it answers, so each
// answer has a time by which that has to come; a request to get something has none to wait for.
func TestBodiesThatDoNotCome(t *testing.T) {
	t.Parallel()
	handler := withPages(t, server.Options{})
	do := func(method, path string) *deadlines {
		r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader("{}"))
		r.ContentLength = 100
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+operatorsToken)
		w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		handler.ServeHTTP(w, r)
		return w
	}
	for method, path := range map[string]string{"POST": "/api/v1/queues/mail/pause", "PUT": "/session", "DELETE": "/session"} {
		if w := do(method, path); w.read.IsZero() {
			t.Errorf("%s %s: %d, and waits for the body for ever", method, path, w.Code)
		}
	}
	if w := do("GET", "/api/v1/jobs"); w.Code != 422 || w.read.IsZero() {
		t.Errorf("GET with a body: %d, read until %v", w.Code, w.read)
	}
}
