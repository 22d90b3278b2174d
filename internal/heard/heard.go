// Package heard lets tests hear why a large request is refused.
//
// A server that refuses a body before it has read it answers, and closes the connection half a
// second later (net/http). A client that stands still for longer, as on a busy machine, finds the
// connection broken before it has read the answer. Nothing was done then, and it asks again.
//
// It imports nothing of ours.
package heard

import (
	"errors"
	"net/http"
	"syscall"
)

// tries is how often a request is made at the most.
const tries = 6

// By returns a transport that makes requests whose body was cut off again.
func By(t http.RoundTripper) http.RoundTripper { return patient{t} }

type patient struct{ http.RoundTripper }

// CloseIdleConnections is for http.Client.
func (p patient) CloseIdleConnections() {
	if t, ok := p.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// RoundTrip implements http.RoundTripper.
func (p patient) RoundTrip(r *http.Request) (*http.Response, error) {
	for try := 1; ; try++ {
		answer, err := p.RoundTripper.RoundTrip(r)
		if r.GetBody == nil || try == tries || !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
			return answer, err
		}
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Body = body
	}
}
