package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"testing/iotest"

	"github.com/holdfastdev/holdfast/server"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/apitest"
	"github.com/holdfastdev/holdfast/server/internal/problem"
)

// TestSlowBody: a body that does not arrive in time is answered with one status, in the answer and
// in its document, and with when to try again.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	handler, err := server.Handler(s.Client, server.Options{Authenticate: access.Anyone("ann")})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/jobs", "/callbacks/hfc_a/complete"} {
		body := iotest.ErrReader(os.ErrDeadlineExceeded)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/api/v1"+path, body)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		var p problem.Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
			t.Fatalf("%s: %v: %s", path, err, w.Body)
		}
		if w.Code != problem.TimedOut.Status() || p.Status != w.Code || p.Code != problem.TimedOut || p.Request == "" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
		if w.Header().Get("Content-Type") != problem.ContentType || w.Header().Get("Retry-After") != "1" {
			t.Errorf("%s: headers %v", path, w.Header())
		}
	}
}
