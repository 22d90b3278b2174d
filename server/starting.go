package server

import (
	"net/http"
	"time"

	"github.com/holdfastdev/holdfast/server/internal/problem"
)

// Starting answers in the place of a handler that cannot be made yet, since the client that it
// needs is not open: each request with a problem, to be repeated a moment later.
func Starting() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		problem.Write(w, r, problem.New(problem.Unavailable, "the server is starting").In(time.Second))
	})
}
