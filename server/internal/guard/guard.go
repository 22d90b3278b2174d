// Package guard stands before the API and lets only requests in that are what they seem to be.
//
// It answers, in this order:
//
//   - a request for a host name that is neither a loopback name nor configured: 421. So a page that
//     has its own name resolved to 127.0.0.1 (DNS rebinding) reaches nothing;
//   - one whose query cannot be parsed: 400, and one whose path or query is not UTF-8 without NUL:
//     422. So no condition is left out, and no database sees what it cannot keep;
//   - one that only gets something and has a body: 422, as nothing would read it;
//   - one that changes something and comes from another web site, as Sec-Fetch-Site or Origin say:
//     403, and one that is not application/json: 415. So no form and no simple request of a browser
//     gets through;
//   - one without a valid credential, unless it needs none: 401. Who makes it is in the context then (access.Of);
//   - one of a caller who makes too many: 429, with when to come again (Retry-After). Each counts
//     once, however long it lasts. So callers do not take the server from each other;
//   - one that changes something, of a server that only reads: 403.
//
// Each request gets an id, a limit of its time and its size, and each answer headers with which
// browsers do nothing of their own with it. A panic is a 500, and logged.
//
// # Imports
//
// Of ours, internal/gcra, internal/logs, server/access and server/internal/problem.
package guard

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/problem"
)

// Config says what is let in.
type Config struct {
	// Hosts are the names under which the server is reached, beside the loopback ones, with or
	// without a port; "*": any.
	Hosts []string
	// Origins are web sites, such as https://jobs.example.com, whose pages may change something.
	Origins []string
	// Authenticate finds out who makes a request.
	Authenticate access.Authenticator
	// Public reports whether a request needs no credential; nil: each does.
	Public func(*http.Request) bool
	// ReadOnly refuses what changes something.
	ReadOnly bool
	// Knows reports whether the handler itself refuses what a request would change, of a server
	// that is ReadOnly; nil: none does.
	Knows func(*http.Request) bool
	// Rate is how many requests of each principal are let in, and of each network where no
	// credential is needed. The zero value: all.
	Rate Rate
	// MaxBody is how large a request may be, in bytes.
	MaxBody int64
	Log     *slog.Logger
}

// Around returns a handler that stands before another one. The error is that of an origin that is
// none.
func Around(next http.Handler, c Config) (http.Handler, error) {
	cross := http.NewCrossOriginProtection()
	for _, origin := range c.Origins {
		if err := cross.AddTrustedOrigin(origin); err != nil {
			return nil, err // which names it
		}
	}
	return &guard{Config: c, next: next, cross: cross, rates: rates{Rate: c.Rate}}, nil
}

type guard struct {
	Config

	next  http.Handler
	cross *http.CrossOriginProtection
	rates rates
	said  logs.Seldom // anybody can make requests with a credential that must be looked up
}

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := rand.Text()[:16]
	r = r.WithContext(problem.WithRequestID(r.Context(), id))
	headers(w.Header(), id)
	defer g.recovered(w, r)
	if err := g.check(r); err != nil {
		Refuse(w, r, err)
		return
	}
	p, isAnybody, err := g.who(r)
	if errors.Is(err, access.ErrUnauthenticated) {
		text := err.Error()
		if r.Header.Get("Authorization") == "" {
			text += "; send one as \"Authorization: Bearer …\""
		}
		err = problem.New(problem.Unauthenticated, text)
	}
	if err != nil {
		if problem.Of(err).Code == problem.Unavailable && g.said.IsNew(err.Error()) { // the answer says nothing of where that is
			g.Log.WarnContext(r.Context(), "caller cannot be looked up", "request", id, "error", err.Error())
		}
		Refuse(w, r, err)
		return
	}
	if err := g.tooMany(&p, isAnybody, r); err != nil {
		Refuse(w, r, err)
		return
	}
	if g.ReadOnly && !isSafe(r.Method) && (g.Knows == nil || !g.Knows(r)) {
		Refuse(w, r, problem.New(problem.ReadOnly, "this server was started with --read-only; ask one that was not"))
		return
	}
	body := &arriving{ReadCloser: http.MaxBytesReader(w, r.Body, g.MaxBody), is: r.ContentLength == 0}
	r.Body = body
	ctx := context.WithValue(access.With(r.Context(), &p), connectionKey{}, &Conn{ResponseController: http.NewResponseController(w), body: body})
	if !isAnybody {
		ctx = access.WithCheck(ctx, func() error {
			_, err := g.Authenticate(r)
			return err
		})
	}
	g.next.ServeHTTP(w, r.WithContext(ctx))
}

// Refuse answers a request whose body nothing has read. Who sends it slowly, or not at all, is not
// waited for, as the server would to keep the connection.
func Refuse(w http.ResponseWriter, r *http.Request, err error) {
	Leave(w, r)
	problem.Write(w, r, err)
}

// Leave has the server not wait for the body of a request that nothing reads, before it is
// answered.
func Leave(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
		_ = http.NewResponseController(w).SetReadDeadline(time.Now()) // a writer that has none needs none
	}
}

// arriving is the body of a request, which notes when all of it is here.
type arriving struct {
	io.ReadCloser

	is bool
}

func (a *arriving) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if err == io.EOF {
		a.is = true
	}
	return n, err
}

// anybody makes the requests that need no credential.
var anybody = access.Principal{Name: "anybody"}

// who finds out who makes a request, and whether that is anybody.
func (g *guard) who(r *http.Request) (p access.Principal, isAnybody bool, err error) {
	if g.Public != nil && g.Public(r) {
		return anybody, true, nil
	}
	p, err = g.Authenticate(r)
	return p, false, err
}

// tooMany is why a request is refused that comes too soon.
func (g *guard) tooMany(p *access.Principal, isAnybody bool, r *http.Request) error {
	if g.Rate.Burst == 0 {
		return nil
	}
	who := caller(p.Name, isAnybody, r)
	wait := g.rates.take(who)
	if wait == 0 {
		return nil
	}
	return problem.New(problem.TooMany, fmt.Sprintf("%q makes more requests than the server lets one caller make (--rate-limit): "+
		"one each %v, and %d at once; come again in %v", cut(who), g.Rate.Period, g.Rate.Burst, wait)).In(wait)
}

type connectionKey struct{}

// Conn is the connection of a request, for its deadlines.
type Conn struct {
	*http.ResponseController

	body *arriving
}

// Arrived reports whether all of the body is here. What is not may never come, and the server waits
// for it before it answers.
func (c *Conn) Arrived() bool { return c.body.is }

// Connection is the connection of a request, for its deadlines; nil: the request did not come
// through a guard.
func Connection(ctx context.Context) *Conn {
	c, _ := ctx.Value(connectionKey{}).(*Conn)
	return c
}

// headers are those of all answers.
func headers(h http.Header, id string) {
	h.Set("X-Request-ID", id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
}

// check is why a request is refused, with any credential.
func (g *guard) check(r *http.Request) error {
	if !g.answersTo(r.Host) {
		return problem.New(problem.WrongHost,
			fmt.Sprintf("the server does not answer to the host name %q; start it with --host to let it", cut(r.Host)))
	}
	if err := target(r.URL); err != nil {
		return err
	}
	if isSafe(r.Method) {
		if r.ContentLength != 0 {
			return problem.Invalid("", "a request with "+r.Method+" has no body; send one without")
		}
		return nil
	}
	if err := g.cross.Check(r); err != nil {
		return problem.New(problem.CrossOrigin, "only pages of this server may change something; start it with --origin to let others")
	}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return problem.New(problem.MediaType, "send the header Content-Type: application/json, even without a body")
	}
	if charset := params["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") {
		return problem.New(problem.MediaType, "JSON is UTF-8, and no other charset is read")
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return problem.New(problem.MediaType, "a body is read as it is; send it without a Content-Encoding")
	}
	return nil
}

// target is why no request can have a path or a query.
func target(u *url.URL) error {
	if !isText(u.Path) {
		return problem.Invalid("path", "the path is not UTF-8 without NUL")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return problem.New(problem.Malformed, "the query cannot be parsed: "+err.Error())
	}
	for name, values := range query {
		for _, text := range append(values, name) {
			if !isText(text) {
				return problem.Invalid("query/"+cut(name), "it is not UTF-8 without NUL")
			}
		}
	}
	return nil
}

func isText(text string) bool { return utf8.ValidString(text) && !strings.Contains(text, "\x00") }

// answersTo reports whether the server answers to what a request says as its host.
func (g *guard) answersTo(host string) bool {
	if host == "" {
		return false
	}
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if strings.EqualFold(name, "localhost") {
		return true
	}
	if ip := net.ParseIP(name); ip != nil && ip.IsLoopback() {
		return true
	}
	return slices.ContainsFunc(g.Hosts, func(known string) bool {
		return known == "*" || strings.EqualFold(known, name) || strings.EqualFold(known, host)
	})
}

// isSafe reports whether a method changes nothing.
func isSafe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// recovered answers a request whose handler has panicked.
func (g *guard) recovered(w http.ResponseWriter, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler { //nolint:errorlint // it is what net/http compares, too
		panic(v)
	}
	g.Log.ErrorContext(r.Context(), "request panicked", "request", problem.RequestID(r.Context()), "method", r.Method, "path", r.URL.Path,
		"panic", fmt.Sprint(v), "stack", string(debug.Stack()))
	problem.Write(w, r, errors.New("panic")) // nothing comes of it if the answer has begun
}

// cut bounds a text that a client has sent.
func cut(text string) string {
	if len(text) > 100 {
		return text[:100] + "…"
	}
	return text
}
