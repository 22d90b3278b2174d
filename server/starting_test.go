package server_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/holdfastdev/holdfast/server"
)

// TestStarting: a server that is starting says so as it says all else that fails.
func TestStarting(t *testing.T) {
	t.Parallel()
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		w := httptest.NewRecorder()
		server.Starting().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, "/api/v1/jobs", http.NoBody))
		var p struct {
			Status    int    `json:"status"`
			Code      string `json:"code"`
			Retryable bool   `json:"retryable"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
			t.Fatalf("%v: %s", err, w.Body)
		}
		if w.Code != http.StatusServiceUnavailable || p.Status != w.Code || p.Code != "unavailable" || !p.Retryable {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		if h := w.Header(); h.Get("Content-Type") != "application/problem+json" || h.Get("Retry-After") != "1" {
			t.Errorf("headers %v", h)
		}
	}
}
