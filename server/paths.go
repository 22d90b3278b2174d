package server

import (
	"io"
	"net/http"
	"path"
	"strings"

	"github.com/holdfastdev/holdfast/server/internal/guard"
	"github.com/holdfastdev/holdfast/server/internal/problem"
)

// isPage reports whether a request is one for the dashboard: a browser opens a page, or loads what
// that needs. Programs are told of paths that are not there. pattern is that of the mux for it.
func isPage(r *http.Request, pattern string) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	if r.URL.Path == "/" {
		return wantsPage(r) // root looks at the credential in the URL, if there is one
	}
	if strings.HasPrefix(r.URL.Path, "/assets/") {
		return true
	}
	return pattern == "" && wantsPage(r) && r.URL.Path != "/api" && !strings.HasPrefix(r.URL.Path, "/api/")
}

// unknownPaths has the dashboard answer what the mux has no pattern for, if there is one, and
// answers the rest with problems.
func unknownPaths(mux *http.ServeMux, dashboard http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler, pattern := find(mux, r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		if dashboard != nil && isPage(r, pattern) {
			dashboard.ServeHTTP(w, r)
			return
		}
		// The mux says whether there is another method, or another spelling of the path.
		said := &answer{header: http.Header{}}
		handler.ServeHTTP(said, r)
		switch said.status {
		case http.StatusMethodNotAllowed:
			w.Header().Set("Allow", said.header.Get("Allow"))
			guard.Refuse(w, r, problem.New(problem.MethodNotAllowed, "the path has only "+said.header.Get("Allow")))
		default:
			guard.Refuse(w, r, problem.New(problem.NotFound, "there is no such path; /openapi.json has all"))
		}
	})
}

// find is the handler of a request, and its pattern; "": there is none. A mux sends who asks for a
// path in another spelling, such as //api/v1/jobs, to the right one. Here there is no such path.
func find(mux *http.ServeMux, r *http.Request) (http.Handler, string) {
	handler, pattern := mux.Handler(r)
	asked := r.URL.EscapedPath()
	clean := path.Clean(asked)
	if strings.HasSuffix(asked, "/") && clean != "/" {
		clean += "/"
	}
	if clean != asked {
		pattern = ""
	}
	return handler, pattern
}

// answer keeps the head of an answer.
type answer struct {
	header http.Header
	status int
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(p []byte) (int, error) { return io.Discard.Write(p) }
