package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/holdfastdev/holdfast/internal/wire"
	"github.com/holdfastdev/holdfast/store"
)

// Store is the store of a server. Config.Open makes one.
type Store struct {
	base   string // of all URLs
	name   string // of the server, for people
	token  func(context.Context) (string, error)
	client string // tells the server who this is
	http   *http.Client
	owns   bool // the connections are this store's
	fixed  func() time.Time

	clock  clock
	traits atomic.Pointer[store.Traits]
	hears  atomic.Bool // wake-ups arrive
	doubt  doubt
	notes  notes

	// What the store does by itself ends with life, and what it then still sends with sending.
	life, sending   context.Context //nolint:containedctx // of the store's own goroutines
	end, endSending context.CancelFunc
	mu              sync.Mutex // held to close, and to begin a goroutine
	closed          atomic.Bool
	running         sync.WaitGroup
}

// maxAnswer is how large an answer may be, in bytes: a server sends none that is larger.
const maxAnswer = 1 << 30

// The parameters of a call.
var nothing = wire.In[wire.None, wire.None, wire.None, wire.None]{}

func with[A any](a A) any { return &wire.In[A, wire.None, wire.None, wire.None]{A: a} }

func with2[A, B any](a A, b B) any { return &wire.In[A, B, wire.None, wire.None]{A: a, B: b} }

func with3[A, B, C any](a A, b B, c C) any { return &wire.In[A, B, C, wire.None]{A: a, B: b, C: c} }

func with4[A, B, C, D any](a A, b B, c C, d D) any {
	return &wire.In[A, B, C, D]{A: a, B: b, C: c, D: d}
}

// tell calls a method that answers with nothing but an error.
func (s *Store) tell(ctx context.Context, method string, in any) error {
	_, err := ask[wire.None](ctx, s, method, in)
	return err
}

// ask calls a method that answers with a value.
func ask[A any](ctx context.Context, s *Store, method string, in any) (A, error) {
	a, _, err := askTwo[A, wire.None](ctx, s, method, in)
	return a, err
}

// askTwo calls a method that answers with two values.
func askTwo[A, B any](ctx context.Context, s *Store, method string, in any) (A, B, error) {
	var out wire.Out[A, B]
	if err := s.call(ctx, wire.Path(method), in, &out); err != nil {
		return *new(A), *new(B), err
	}
	return out.A, out.B, out.Err
}

// call calls a path, and decodes what it answers. An error is that of the call, not of the store at
// the other end.
func (s *Store) call(ctx context.Context, path string, in, out any) error {
	if s.closed.Load() {
		return store.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return ended(path, err)
	}
	body, err := wire.Encode(in)
	if err != nil {
		return err
	}
	within, cancel := ctx, context.CancelFunc(func() {})
	if _, bounded := ctx.Deadline(); !bounded {
		within, cancel = context.WithTimeout(ctx, store.CallTimeout)
	}
	defer cancel()
	began := time.Now()
	data, err := s.post(within, path, body)
	switch {
	case err != nil && ctx.Err() != nil:
		return ended(path, ctx.Err())
	case err != nil:
		return err
	}
	if err := wire.Decode(data, out); err != nil {
		//nolint:errorlint // what it is under errors.Is is nothing about the call
		return fmt.Errorf("%w: the answer of server %s was not understood: %v", store.ErrUnavailable, s.name, err)
	}
	if !s.clock.heard(out, began, time.Now()) && s.traits.Load() != nil {
		return fmt.Errorf("%w: server %s: what answers there is not Holdfast now: its answer is another's", store.ErrUnavailable, s.name)
	}
	s.doubt.over()
	return nil
}

// ended is the error of a call whose context has ended. It says which call it was.
func ended(path string, err error) error {
	return fmt.Errorf("%s: %w", strings.ReplaceAll(strings.TrimPrefix(path, wire.Prefix), "-", " "), err)
}

// post makes a request and returns the body of its answer.
func (s *Store) post(ctx context.Context, path string, body []byte) ([]byte, error) {
	r, err := s.request(ctx, http.MethodPost, path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if until, bounded := ctx.Deadline(); bounded {
		r.Header.Set(wire.TimeoutHeader, strconv.FormatInt(max(time.Until(until).Milliseconds(), 1), 10))
	}
	if text := wire.RequestText(ctx); text != "" {
		r.Header.Set(wire.RequestHeader, text)
	}
	answer, err := s.http.Do(r)
	if err != nil {
		return nil, s.lost(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	switch {
	case err != nil:
		return nil, s.lost(err)
	case answer.StatusCode == http.StatusOK, answer.StatusCode == http.StatusNoContent:
		return data, nil
	}
	return nil, s.refused(answer, data)
}

// request is one to the server.
func (s *Store) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.base+path, body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	token, err := s.token(ctx)
	if err != nil {
		//nolint:errorlint // what it is under errors.Is is nothing about the call
		return nil, fmt.Errorf("%w: the token for server %s cannot be had: %v", store.ErrUnavailable, s.name, err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	r.Header.Set(wire.ClientHeader, s.client)
	r.Header.Set(wire.SchemaHeader, strconv.Itoa(wire.Schema))
	return r, nil
}

// lost is the error of a request that got no answer: it may have been served.
func (s *Store) lost(err error) error {
	if of, ok := errors.AsType[*url.Error](err); ok {
		err = of.Err // which does not begin with the URL
	}
	//nolint:errorlint // a deadline of ours is not the caller's
	return fmt.Errorf("%w: server %s did not answer: %v", store.ErrUnavailable, s.name, err)
}

// problem is what the server says when it refuses a request.
type problem struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// plain is what an answer says that is no problem document: its status, and a line of text if it is
// one, such as that the server is starting.
func plain(answer *http.Response, data []byte) string {
	const most = 200
	line := strings.TrimSpace(string(data))
	if !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/plain") || line == "" || len(line) > most ||
		strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return answer.Status
	}
	return answer.Status + ": " + line
}

// isOthers reports whether a refusal is that of what stands before the server: where a server was
// met before, a path that is not there is one whose servers are being replaced. Not so where the
// request itself may be what is refused, and would be again: 403, 413, 414 and 431.
func isOthers(p *problem, status int) bool {
	if p.Code != "" {
		return false
	}
	switch status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusConflict, http.StatusGone,
		http.StatusMisdirectedRequest, statusClientGone:
		return true
	}
	return status >= 300 && status < 400
}

// statusClientGone is what proxies answer that take the client for gone (nginx).
const statusClientGone = 499

// refused is the error of a request that the server, or who stands before it, has refused.
func (s *Store) refused(answer *http.Response, data []byte) error {
	var p problem
	if json.Unmarshal(data, &p) != nil || p.Detail == "" { // it comes from a proxy
		p = problem{Detail: plain(answer, data)}
	}
	status := answer.StatusCode
	switch {
	case s.traits.Load() != nil && isOthers(&p, status):
		return fmt.Errorf("%w: server %s: what answers there is not Holdfast now: %s", store.ErrUnavailable, s.name, p.Detail)
	case s.traits.Load() != nil && status == http.StatusUnauthorized && s.doubt.holds(time.Now()):
		return fmt.Errorf("%w: server %s does not take the token any more: %s", store.ErrUnavailable, s.name, p.Detail)
	case p.Code == "read_only":
		return fmt.Errorf("%w: server %s: %s", store.ErrReadOnly, s.name, p.Detail)
	case status == http.StatusUnauthorized && answer.Request.Header.Get("Authorization") == "":
		return fmt.Errorf("%w: server %s wants a token, and none was given: give that of the server, or an API key with the scope store",
			store.ErrPermission, s.name)
	case status == http.StatusUnauthorized:
		return fmt.Errorf("%w: server %s does not take the token: %s; give that of the server, or an API key with the scope store",
			store.ErrPermission, s.name, p.Detail)
	case status == http.StatusForbidden:
		return fmt.Errorf("%w: server %s: %s", store.ErrPermission, s.name, p.Detail)
	case status >= 300 && status < 400:
		return fmt.Errorf("%w: server %s sends callers to %q; use the URL of the server itself",
			store.ErrInvalid, s.name, answer.Header.Get("Location"))
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed:
		return fmt.Errorf("%w: server %s does not have what was asked of it (%s); "+
			"it may be another version of Holdfast, or the path of the URL wrong", store.ErrSchema, s.name, p.Detail)
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status >= 500:
		return fmt.Errorf("%w: server %s: %s", store.ErrUnavailable, s.name, p.Detail)
	}
	return fmt.Errorf("%w: server %s: %s", store.ErrInvalid, s.name, p.Detail)
}

// hello asks the server what it is.
func (s *Store) hello(ctx context.Context) (wire.Welcome, error) {
	var out wire.Out[wire.Welcome, wire.None]
	err := s.call(ctx, wire.HelloPath, with(wire.Hello{Schema: wire.Schema}), &out)
	if err == nil && out.Now.IsZero() {
		err = fmt.Errorf("%w: server %s has not answered like one of Holdfast", store.ErrInvalid, s.name)
	}
	if err != nil {
		return wire.Welcome{}, err
	}
	s.traits.Store(&out.A.Traits)
	return out.A, nil
}

// Traits implements store.Store: they are those of the server's store.
func (s *Store) Traits() store.Traits {
	t := *s.traits.Load()
	t.Wakeups = t.Wakeups && s.hears.Load()
	return t
}

// begin begins a goroutine, unless the store is closed.
func (s *Store) begin(work func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() {
		return false
	}
	s.running.Go(work)
	return true
}

// closeTimeout is how long Close tries to send what Notify was told.
const closeTimeout = time.Second

// Close implements store.Store.
func (s *Store) Close() error {
	s.mu.Lock()
	again := s.closed.Swap(true)
	s.mu.Unlock()
	if again {
		return nil
	}
	s.end()
	late := time.AfterFunc(closeTimeout, s.endSending)
	s.running.Wait()
	late.Stop()
	s.endSending()
	if s.owns {
		s.http.CloseIdleConnections()
	}
	return nil
}
