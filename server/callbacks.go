package server

import (
	"fmt"
	"net/http"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/guard"
	"github.com/holdfastdev/holdfast/server/internal/messages"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

// onlyCallbacks is the handler of Options.OnlyCallbacks. What it does not register is not there:
// nothing is hidden by a rule that could have a hole.
func onlyCallbacks(mux *http.ServeMux, client *holdfast.Client, c guard.Config) (http.Handler, error) {
	if c.ReadOnly {
		return nil, fmt.Errorf("%w: Options.OnlyCallbacks and ReadOnly leave nothing to do", store.ErrInvalid)
	}
	messages.RegisterCallbacks(api.New(mux, client, c.Log, nil))
	known := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := find(mux, r); pattern == "" {
			guard.Refuse(w, r, problem.New(problem.NotFound, "this server answers callbacks, and nothing else"))
			return
		}
		mux.ServeHTTP(w, r)
	})
	c.Public = func(*http.Request) bool { return true }
	handler, err := guard.Around(api.Keys(known), c)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	return handler, nil
}
