package api

import (
	"context"
	"crypto/sha256"
	"hash"
	"io"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfastdev/holdfast/server/internal/guard"
	"github.com/holdfastdev/holdfast/server/internal/problem"
)

const (
	// keyHeader names a request, and replayedHeader says that the answer is that of an earlier one.
	keyHeader      = "Idempotency-Key"
	replayedHeader = "Idempotency-Replayed"
	// maxKey is how long a key may be, in bytes.
	maxKey = 255
)

// requestKey is the key of a request, and what is needed to tell whether a repeated one asks the
// same.
type requestKey struct {
	key    string
	path   string
	query  string
	body   hash.Hash   // of what was read of it
	header http.Header // of the answer
}

type requestKeyOf struct{}

// Keys lets requests have keys: it stands between a guard and a mux. The body is hashed as it is
// read, so that a key costs no copy of it.
func Keys(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said := r.Header.Values(keyHeader)
		if len(said) == 0 || r.Method != http.MethodPost {
			next.ServeHTTP(w, r)
			return
		}
		key := unquoted(said[0])
		if len(said) > 1 || !isKey(key) {
			guard.Refuse(w, r, problem.Invalid("header/"+keyHeader, "a key is 1 to 255 letters of ASCII that can be seen, given once"))
			return
		}
		k := &requestKey{key: key, path: r.URL.Path, query: r.URL.RawQuery, body: sha256.New(), header: w.Header()}
		r = r.WithContext(context.WithValue(r.Context(), requestKeyOf{}, k))
		r.Body = hashed{r.Body, k.body}
		next.ServeHTTP(w, r)
	})
}

// unquoted is a key without the quotes of a string of structured headers (RFC 9651), as the draft
// of the header has it.
func unquoted(key string) string {
	if len(key) > 1 && strings.HasPrefix(key, `"`) && strings.HasSuffix(key, `"`) {
		return key[1 : len(key)-1]
	}
	return key
}

func isKey(key string) bool {
	for _, c := range []byte(key) {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return key != "" && len(key) <= maxKey
}

// hashed is a body that is hashed as it is read.
type hashed struct {
	io.ReadCloser

	sum hash.Hash
}

func (b hashed) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	_, _ = b.sum.Write(p[:n]) // a hash takes all
	return n, err
}

// keyOf is the key of a request, or nil.
func keyOf(ctx context.Context) *requestKey {
	k, _ := ctx.Value(requestKeyOf{}).(*requestKey)
	return k
}

// names are the names of the request, once its body was read: of who asks under which key, and of
// what is asked. Callers without a credential have the path in common with no others.
func (k *requestKey) names(public bool, principal string) (key, asks []byte) {
	if public {
		principal = k.path
	}
	return sum(principal, k.key), sum(k.path, k.query, string(k.body.Sum(nil)))
}

// sum is a hash of texts of which none runs into the next one.
func sum(texts ...string) []byte {
	h := sha256.New()
	for _, text := range texts {
		one := sha256.Sum256([]byte(text))
		_, _ = h.Write(one[:]) // a hash takes all
	}
	return h.Sum(nil)
}

// keyParameter documents the header.
func keyParameter(repeat Repeat) *huma.Param {
	most := maxKey
	about := "A name of your own for the request, such as a UUID: for 24 hours a repeated one does nothing, and is answered as the first one"
	if repeat == Marked {
		about = "Not needed: the operation can be repeated without one. A request that has one is handled as one that may have been sent before " +
			"(repeat, where the body has it); the key itself is not kept"
	}
	return &huma.Param{Name: keyHeader, In: "header", Description: about, Schema: &huma.Schema{Type: huma.TypeString, MaxLength: &most}}
}
