package web_test

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/web"
)

func handler(t *testing.T, o web.Options) http.Handler {
	t.Helper()
	h, err := web.Handler(o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func get(h http.Handler, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

var loaded = regexp.MustCompile(`(?:src|href)="(assets/[^"]+)"`)

// TestAssets: what a page loads is there, may be kept for ever, and comes compressed to those who
// take that, and whole to others.
func TestAssets(t *testing.T) {
	t.Parallel()
	h := handler(t, web.Options{Logo: []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`)})
	page := get(h, "/jobs/01a2?tab=logs").Body.String()
	found := loaded.FindAllStringSubmatch(page, -1)
	if len(found) != 3 {
		t.Fatalf("the page loads %v", found)
	}
	for _, f := range found {
		if strings.Contains(f[1], "logo.svg") { // the icon of the tab
			continue
		}
		whole := get(h, "/"+f[1])
		zipped := get(h, "/"+f[1], "Accept-Encoding", "br, gzip;q=0.5")
		if whole.Header().Get("Content-Encoding") != "" || zipped.Header().Get("Content-Encoding") != "gzip" {
			t.Errorf("%s: %v, %v", f[1], whole.Header(), zipped.Header())
			continue
		}
		r, err := gzip.NewReader(zipped.Body)
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil || string(content) != whole.Body.String() {
			t.Errorf("%s: the compressed content is another one: %v", f[1], err)
		}
		if !strings.Contains(whole.Header().Get("Cache-Control"), "immutable") || whole.Header().Get("Content-Type") == "" {
			t.Errorf("%s: %v", f[1], whole.Header())
		}
	}
	logo := regexp.MustCompile(`data-logo="(assets/[^"]+)"`).FindStringSubmatch(page)
	if logo == nil || get(h, "/"+logo[1]).Header().Get("Content-Type") != "image/svg+xml" {
		t.Errorf("the logo is %v", logo)
	}
	plain := handler(t, web.Options{Accent: "#b3261e"})
	icon := regexp.MustCompile(`rel="icon" href="(assets/[^"]+)"`).FindStringSubmatch(get(plain, "/").Body.String())
	if icon == nil || !strings.Contains(get(plain, "/"+icon[1]).Body.String(), `"#b3261e"`) {
		t.Errorf("the icon is %v", icon)
	}
	for _, path := range []string{"/assets/0000000000000000/app.js", "/assets/../web.go", "/favicon.ico"} {
		if w := get(h, path); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// TestPage: a page lets nothing in from elsewhere, and what people call it cannot break out of it.
func TestPage(t *testing.T) {
	t.Parallel()
	h := handler(t, web.Options{BasePath: "/jobs/", Title: `"><script>alert(1)</script>`, Accent: "#b3261e", Version: "{{TITLE}}"})
	w := get(h, "/queues")
	page := w.Body.String()
	if strings.Contains(page, "<script>") || !strings.Contains(page, `<base href="/jobs/">`) || !strings.Contains(page, "&lt;script&gt;") {
		t.Errorf("the page is %s", page)
	}
	policy := w.Header().Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
		t.Errorf("the policy is %q", policy)
	}
	if w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("a page is kept: %v", w.Header())
	}
	r := httptest.NewRecorder()
	h.ServeHTTP(r, httptest.NewRequest(http.MethodPost, "/queues", nil))
	if r.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", r.Code)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []web.Options{
		{BasePath: "jobs/"},
		{BasePath: "/jobs"},
		{BasePath: "//evil/"},
		{BasePath: "/a/../b/"},
		{Accent: "red"},
		{Accent: "#12345"},
		{Title: strings.Repeat("x", 101)},
		{Logo: []byte("GIF89a")},
		{Logo: make([]byte, 65<<10)},
		{Logo: []byte{}},
	} {
		if _, err := web.Handler(o); !errors.Is(err, web.ErrOptions) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestSizes: pages stay small: 90 kB of script and 20 kB of style, compressed. Nothing in them is
// loaded from elsewhere.
func TestSizes(t *testing.T) {
	t.Parallel()
	for name, most := range map[string]int64{"app.js.gz": 90_000, "app.css.gz": 20_000} {
		file, err := os.Open(filepath.Join("dist", name))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		info, err := file.Stat()
		if err != nil || info.Size() > most {
			t.Errorf("%s has %d bytes, and may have %d: %v", name, info.Size(), most, err)
		}
		r, err := gzip.NewReader(file)
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, url := range regexp.MustCompile(`https?://[^"'\x60\s)]+`).FindAllString(string(content), -1) {
			if !strings.HasPrefix(url, "http://www.w3.org/") { // names of namespaces
				t.Errorf("%s names %s", name, url)
			}
		}
	}
}
