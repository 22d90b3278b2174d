package server_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/server"
	"github.com/holdfastdev/holdfast/server/access"
)

// TestReadOnly: a server that only reads answers what reads, also where that is a POST, and refuses
// what changes something.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	handler := served(t, server.Options{Authenticate: access.Anyone("anyone"), ReadOnly: true})
	const schedule = `{"name":"nightly","kind":"report","cron":"0 3 * * *"}`
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "/api/v1/jobs", "", 200},
		{"GET", "/api/v1/audit", "", 200},
		{"POST", "/api/v1/schedules/preview", `{"cron":"0 3 * * *"}`, 200},
		{"POST", "/api/v1/schedules", schedule, 403},
		{"POST", "/api/v1/jobs", `{"kind":"mail"}`, 403},
		{"POST", "/api/v1/schedules/preview/", schedule, 403},
	} {
		r := httptest.NewRequestWithContext(t.Context(), c.method, "http://127.0.0.1"+c.path, strings.NewReader(c.body))
		if c.method != http.MethodGet {
			r.Header.Set("Content-Type", "application/json")
		}
		w := httptest.NewRecorder()
		if handler.ServeHTTP(w, r); w.Code != c.status {
			t.Errorf("%s %s is answered %d, not %d: %s", c.method, c.path, w.Code, c.status, w.Body)
		}
	}
}
