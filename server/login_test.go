package server_test

import (
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/server"
)

// visit is a request of a browser, with headers in pairs.
func visit(method, to, body string, header ...string) *http.Request {
	r := httptest.NewRequest(method, to, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/html")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// TestCookieIsSecure: browsers send the cookie by TLS alone where they came by it, also if a proxy
// ends that, and by HTTP where they came by HTTP.
func TestCookieIsSecure(t *testing.T) {
	t.Parallel()
	handler := withPages(t, server.Options{Hosts: []string{"jobs.example.com"}})
	link, form := "/?token="+operatorsToken, `{"token":"`+operatorsToken+`"}`
	for _, c := range []struct {
		what     string
		header   []string
		isSecure bool
	}{
		{"HTTP", nil, false},
		{"a page of HTTP", []string{"Origin", "http://jobs.example.com"}, false},
		{"a page of TLS", []string{"Origin", "https://jobs.example.com"}, true},
		{"a page without an origin", []string{"Origin", "null", "Sec-Fetch-Site", "same-origin"}, false},
		{"a proxy that ends TLS", []string{"X-Forwarded-Proto", "https"}, true},
		{"a proxy behind one", []string{"X-Forwarded-Proto", "HTTPS, http"}, true},
		{"a proxy of HTTP", []string{"X-Forwarded-Proto", "http"}, false},
		{"a proxy of HTTP behind TLS", []string{"X-Forwarded-Proto", "http", "Origin", "https://jobs.example.com"}, true},
	} {
		for _, r := range []*http.Request{
			visit(http.MethodGet, "http://jobs.example.com"+link, "", c.header...),
			visit(http.MethodPost, "http://jobs.example.com/session", form, c.header...),
			visit(http.MethodDelete, "http://jobs.example.com/session", "", c.header...),
		} {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if got := w.Result().Cookies(); len(got) != 1 || got[0].Secure != c.isSecure {
				t.Errorf("%s: %s %s: %d %v, want Secure: %v", c.what, r.Method, r.URL, w.Code, got, c.isSecure)
			}
		}
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, visit(http.MethodGet, "https://jobs.example.com"+link, ""))
	if got := w.Result().Cookies(); len(got) != 1 || !got[0].Secure {
		t.Errorf("TLS of the server itself: %v", got)
	}
}

// browser keeps cookies as browsers do: by host and path, and for all ports.
type browser struct {
	jar     http.CookieJar
	servers map[string]http.Handler // by host and port
}

// do returns the status of an answer, and keeps its cookies.
func (b *browser) do(method, to, body string) int {
	r := visit(method, to, body)
	for _, c := range b.jar.Cookies(r.URL) {
		r.AddCookie(c)
	}
	r.URL.Host, r.URL.Scheme = "", "" // a server is told only the path
	r.RequestURI = r.URL.String()
	w := httptest.NewRecorder()
	b.servers[r.Host].ServeHTTP(w, r)
	at, _ := url.Parse(to)
	b.jar.SetCookies(at, w.Result().Cookies())
	return w.Code
}

// TestCookieIsOfItsServer: who signs in to one server stays signed in to others on the same host,
// and who signs out, too. What is not below the path of the pages is not sent the cookie.
func TestCookieIsOfItsServer(t *testing.T) {
	t.Parallel()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	below := http.NewServeMux()
	for _, path := range []string{"/jobs", "/other"} {
		below.Handle(path+"/", http.StripPrefix(path, withPages(t, server.Options{})))
	}
	b := &browser{jar, map[string]http.Handler{
		"localhost:1": withPages(t, server.Options{}), "localhost:2": withPages(t, server.Options{}), "localhost": below,
	}}
	all := []string{"http://localhost:1/", "http://localhost:2/", "http://localhost/jobs/", "http://localhost/other/"}
	isIn := func(want ...bool) {
		t.Helper()
		for i, at := range all {
			if got := b.do(http.MethodGet, at+"api/v1/whoami", "") == http.StatusOK; got != want[i] {
				t.Errorf("signed in at %s: %v", at, got)
			}
		}
	}
	isIn(false, false, false, false)
	b.do(http.MethodGet, all[0]+"?token="+operatorsToken, "")
	isIn(true, false, false, false)
	b.do(http.MethodPost, all[1]+"session", `{"token":"`+operatorsToken+`"}`)
	b.do(http.MethodPost, all[2]+"session", `{"token":"`+operatorsToken+`"}`)
	isIn(true, true, true, false)
	b.do(http.MethodGet, all[3]+"?token="+operatorsToken, "")
	isIn(true, true, true, true)
	b.do(http.MethodDelete, all[0]+"session", "")
	isIn(false, true, true, true)
	b.do(http.MethodDelete, all[2]+"session", "")
	isIn(false, true, false, true)
}

// TestLinksOfOtherSites: a link with a credential signs in who opens it, but not from a page of
// another site, which would choose under which key that browser goes on.
func TestLinksOfOtherSites(t *testing.T) {
	t.Parallel()
	pages, none := withPages(t, server.Options{}), served(t, server.Options{Authenticate: ops})
	for site, lets := range map[string]bool{
		"": true, "none": true, "same-origin": true, "same-site": false, "cross-site": false, "later": false,
	} {
		for what, handler := range map[string]http.Handler{"with pages": pages, "without": none} {
			r := visit(http.MethodGet, "http://localhost/?token="+operatorsToken, "")
			if site != "" {
				r.Header.Set("Sec-Fetch-Site", site)
			}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			status := http.StatusSeeOther
			if !lets && what == "without" {
				status = http.StatusUnauthorized
			}
			has := len(w.Result().Cookies()) == 1
			if w.Code != status || has != lets || status == http.StatusSeeOther && w.Header().Get("Location") != "./" {
				t.Errorf("%s, Sec-Fetch-Site %q: %d %v", what, site, w.Code, w.Header())
			}
		}
	}
}
