// Package problem turns errors into what the API answers with: application/problem+json (RFC 9457)
// with a code that is stable.
//
// What a program may rely on is status, code and retryable; title and detail are for people, and
// change. There is one table of the codes, from which the documentation of the API is made, too.
// The detail of an error that is not of these classes, such as one of the server itself, is not
// told: it is logged, and the request's id finds it.
//
// # Imports
//
// Of ours, store.
package problem

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// ContentType is that of problem documents.
const ContentType = "application/problem+json"

// Problem is why a request was refused, or has failed.
type Problem struct { //nolint:errname // RFC 9457 calls it so
	Type      string  `json:"type" doc:"A URI for the code" example:"urn:holdfast:problem:not_found"`
	Title     string  `json:"title" doc:"What the code means, for people"`
	Status    int     `json:"status" doc:"The HTTP status"`
	Code      Code    `json:"code" doc:"What programs go by; it does not change" example:"not_found"`
	Detail    string  `json:"detail" doc:"What happened, to what, and what to do"`
	Errors    []Field `json:"errors,omitempty" doc:"Which parts of the request are wrong"`
	Retryable bool    `json:"retryable" doc:"The same request may succeed a little later"`
	Request   string  `json:"request_id" doc:"Finds the request in the server's log; it is also in the header X-Request-ID"`

	cause error
	after time.Duration
}

// Field is a part of a request that is wrong.
type Field struct {
	Pointer string `json:"pointer" doc:"Where it is: a JSON pointer into the body, or query/NAME, path/NAME, header/NAME" example:"/jobs/3/kind"`
	Detail  string `json:"detail" doc:"What is wrong with it"`
}

// Error implements error.
func (p *Problem) Error() string { return string(p.Code) + ": " + p.Detail }

// Unwrap returns the error that it was made of.
func (p *Problem) Unwrap() error { return p.cause }

// GetStatus is the HTTP status, for huma.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType is that of the document, for huma.
func (p *Problem) ContentType(string) string { return ContentType }

// RetryAfter is when the request may be repeated; 0: it is not known.
func (p *Problem) RetryAfter() time.Duration { return p.after }

// In says after how long the request may be repeated, and returns the problem.
func (p *Problem) In(d time.Duration) *Problem {
	p.after = d
	return p
}

// GetHeaders are the headers of the answer, for huma.
func (p *Problem) GetHeaders() http.Header {
	h := http.Header{}
	if p.after > 0 {
		h.Set("Retry-After", retryAfter(p.after))
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="holdfast"`)
	}
	return h
}

// New returns a problem of a code.
func New(code Code, detail string) *Problem {
	of := codes[code]
	return &Problem{
		Type: "urn:holdfast:problem:" + string(code), Title: of.title, Status: of.status, Code: code, Detail: detail, Retryable: of.retryable,
	}
}

// Of returns the problem that an error is.
func Of(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	for _, c := range classes {
		if errors.Is(err, c.is) {
			text := detail(err, c.is)
			if c.code == Unavailable {
				text = unavailable
			}
			p := New(c.code, text)
			p.cause = err
			if p.Retryable {
				p.after = time.Second
			}
			return p
		}
	}
	p := New(Internal, "the server failed; its log has the error under the request's id")
	p.cause = err
	return p
}

// unavailable is what callers are told of a database that does not answer, or of an identity
// provider: the error names its address.
const unavailable = "the database, or the identity provider, did not answer the server; its log says more, and its /readyz"

// Invalid returns the problem of one part of a request.
func Invalid(pointer, text string) *Problem {
	p := New(InvalidRequest, text)
	p.Errors = []Field{{Pointer: pointer, Detail: text}}
	return p
}

// At says which part of the request an error is about, if it is about the request.
func At(pointer string, err error) error {
	if err == nil || !errors.Is(err, store.ErrInvalid) {
		return err
	}
	p := Invalid(pointer, detail(err, store.ErrInvalid))
	p.cause = err
	return p
}

// detail is the text of an error, without what the title says of an invalid request.
func detail(err, class error) string {
	text := err.Error()
	if class == store.ErrInvalid { //nolint:errorlint // it is the class itself
		text = strings.Replace(text, class.Error()+": ", "", 1)
	}
	return strings.TrimPrefix(text, "holdfast: ")
}

// classes are the errors that have a code of their own. The first that fits counts, so what is a
// special case of another comes before it.
var classes = []struct {
	is   error
	code Code
}{
	{store.ErrPermission, DatabaseRefused},
	{store.ErrInvalid, InvalidRequest},
	{store.ErrNotFound, NotFound},
	{store.ErrLeaseLost, LeaseLost},
	{store.ErrNodeDead, WorkerGone},
	{store.ErrConflict, Conflict},
	{store.ErrBusy, Busy},
	{store.ErrFull, DiskFull},
	{store.ErrReadOnly, DatabaseReadOnly},
	{store.ErrSchema, SchemaMismatch},
	{store.ErrDatabaseGone, Unavailable},
	{store.ErrUnavailable, Unavailable},
	{store.ErrClosed, Stopping},
	{context.DeadlineExceeded, TimedOut},
	{context.Canceled, TimedOut},
}

// sorted compares codes by their status, for documentation.
func sorted(a, b Code) int {
	return cmp.Or(cmp.Compare(codes[a].status, codes[b].status), strings.Compare(string(a), string(b)))
}
