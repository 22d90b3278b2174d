package server_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/server"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

func TestTry(t *testing.T) {
	hf, err := holdfast.Open(t.Context(), sqlite.File(filepath.Join(t.TempDir(), "x.db")))
	if err != nil {
		t.Fatal(err)
	}
	h, err := server.Handler(hf, server.Options{Authenticate: access.Anyone("me")})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	defer s.Close()
	do := func(method, path, body string) string {
		r, _ := http.NewRequest(method, s.URL+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(a.Body)
		out := fmt.Sprintf("%s %s %d %s\n%s", method, path, a.StatusCode, a.Header.Get("Content-Type"), b)
		fmt.Println(out)
		return string(b)
	}
	do("POST", "/api/v1/jobs", `{"kind":"mail","args":{"n":12345678901234567890},"tags":["a"],"delay":"10m"}`)
	do("POST", "/api/v1/jobs", `{"kind":"","arg":1, "priority":9}`)
	do("POST", "/api/v1/jobs", `{"kind":"mail"`)
	do("POST", "/api/v1/jobs", `{"kind":"mail","unique":{"while":["x"]}}`)
	do("POST", "/api/v1/jobs", `{"kind":"mail","queue":"bad queue \u0000"}`)
	do("POST", "/api/v1/jobs/batch", `{"jobs":[{"kind":"mail"},{"kind":"mail","queue":"\u0000"}]}`)
	do("GET", "/api/v1/jobs?limit=1&state=scheduled", "")
	do("GET", "/api/v1/jobs?stat=scheduled", "")
	do("GET", "/api/v1/jobs?q=state:scheduled%20foo:bar", "")
	do("GET", "/api/v1/jobs/x", "")
	do("GET", "/api/v1/jobs/0198c0de-7b1c-7d3a-9f00-0123456789ab", "")
	do("POST", "/api/v1/jobs/0198c0de-7b1c-7d3a-9f00-0123456789ab/cancel", "")
	do("PUT", "/api/v1/jobs", "")
	do("GET", "/nowhere", "")
	d, err := server.Document()
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile("/tmp/openapi.json", d, 0o644)
}
