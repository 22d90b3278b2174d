package problem_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

// TestClasses: each class of the errors of a store has a status and a code, and tells whether to
// repeat the request as the store does.
func TestClasses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err    error
		status int
		code   problem.Code
	}{
		{store.ErrInvalid, 422, problem.InvalidRequest},
		{store.ErrPermission, 500, problem.DatabaseRefused},
		{store.ErrNotFound, 404, problem.NotFound},
		{store.ErrConflict, 409, problem.Conflict},
		{store.ErrLeaseLost, 409, problem.LeaseLost},
		{store.ErrNodeDead, 410, problem.WorkerGone},
		{store.ErrUnavailable, 503, problem.Unavailable},
		{store.ErrBusy, 503, problem.Busy},
		{store.ErrReadOnly, 503, problem.DatabaseReadOnly},
		{store.ErrFull, 503, problem.DiskFull},
		{store.ErrSchema, 503, problem.SchemaMismatch},
		{store.ErrDatabaseGone, 503, problem.Unavailable},
		{store.ErrClosed, 503, problem.Stopping},
		{context.DeadlineExceeded, 503, problem.TimedOut},
		{errors.New("secret"), 500, problem.Internal},
	} {
		err := fmt.Errorf("while something: %w", test.err)
		p := problem.Of(err)
		if p.Status != test.status || p.Code != test.code || !errors.Is(p, test.err) {
			t.Errorf("%v is %d %s", test.err, p.Status, p.Code)
		}
		if store.IsRetryable(err) && !p.Retryable {
			t.Errorf("%v may be repeated, and the problem does not say so", test.err)
		}
	}
	if p := problem.Of(errors.New("secret")); strings.Contains(p.Detail, "secret") {
		t.Errorf("the detail tells an error of the server: %s", p.Detail)
	}
}

// TestEveryClassHasACode: no class of errors of package store is left out.
func TestEveryClassHasACode(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "../../../store/errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	mapped := map[string]bool{"ErrRefused": true} // of a batch: its operations tell why
	source, err := parser.ParseFile(token.NewFileSet(), "problem.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(source, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			mapped[s.Sel.Name] = true
		}
		return true
	})
	for name := range file.Scope.Objects {
		if strings.HasPrefix(name, "Err") && !mapped[name] {
			t.Errorf("%s has no code", name)
		}
	}
}

// TestWrite: the document says what programs and people need.
func TestWrite(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r = r.WithContext(problem.WithRequestID(r.Context(), "R1"))
	problem.Write(w, r, fmt.Errorf("%w: 10.0.0.7:5432 refused", store.ErrUnavailable))
	if w.Code != 503 || w.Header().Get("Retry-After") != "1" || w.Header().Get("Content-Type") != problem.ContentType {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	for _, part := range []string{
		`"code":"unavailable"`, `"retryable":true`, `"request_id":"R1"`, `"type":"urn:holdfast:problem:unavailable"`, "/readyz",
	} {
		if !strings.Contains(w.Body.String(), part) {
			t.Errorf("it has no %s: %s", part, w.Body)
		}
	}
	if strings.Contains(w.Body.String(), "10.0.0.7") {
		t.Errorf("callers are told where the database is: %s", w.Body)
	}
}

// TestCodes: all codes have a status and a title, in the order of their statuses.
func TestCodes(t *testing.T) {
	t.Parallel()
	codes := problem.Codes()
	if !slices.IsSortedFunc(codes, func(a, b problem.Code) int { return a.Status() - b.Status() }) {
		t.Error("they are in no order")
	}
	for _, c := range codes {
		if c.Status() < 400 || c.Title() == "" {
			t.Errorf("%s: %d %q", c, c.Status(), c.Title())
		}
	}
}
