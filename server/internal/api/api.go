// Package api is what all resources of the API have in common: how an operation is registered, who
// may call it, in which namespace, how errors, pages and values look.
//
// Each resource is a package beside this one, which registers its operations with Register. What
// these say of themselves is the OpenAPI document, too.
//
// # Imports
//
// Of ours, the root package, internal/cli/views (the JSON of what is answered, which is that of the
// command line), server/access, server/internal/guard and server/internal/problem.
package api

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/holdfastdev/holdfast"
	ours "github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/guard"
	"github.com/holdfastdev/holdfast/server/internal/problem"
)

// Prefix is where all paths of the API begin.
const Prefix = "/api/v1"

// CallTimeout bounds a request that does not wait for something.
const CallTimeout = 30 * time.Second

// scopeKey is where the document says which scope an operation needs.
const scopeKey = "x-scope"

// maxBody is how large a request may be whose operation does not say, in bytes.
const maxBody = 1 << 20

// bodyTimeout bounds how long a request may take to arrive.
const bodyTimeout = 30 * time.Second

// API is what operations are registered with.
type API struct {
	huma   huma.API
	client *holdfast.Client
	log    *slog.Logger
	public map[string]bool // the patterns of the operations that need no credential
	open   room            // of the large requests of these
	keyed  room            // of those of all others

	stopping <-chan struct{} // closed when the server begins to stop; nil: never
}

// IsPublic reports whether a pattern of the mux is that of an operation that needs no credential.
func (a *API) IsPublic(pattern string) bool { return a.public[pattern] }

// New returns an API on a mux, which answers /openapi.json as well. Calls that wait are answered
// when stopping is closed; nil: never.
func New(mux *http.ServeMux, client *holdfast.Client, log *slog.Logger, stopping <-chan struct{}) *API {
	readFailuresAreTheClients()
	config := huma.DefaultConfig("Holdfast", "v1")
	config.Info.Description = description()
	config.CreateHooks = nil // no $schema in bodies
	config.DocsPath, config.SchemasPath = "", ""
	config.OpenAPIPath = "" // Document is the document
	config.RejectUnknownQueryParameters = true
	config.Formats = map[string]huma.Format{
		"application/json": {Marshal: marshal, Unmarshal: unmarshal},
		"json":             {Marshal: marshal, Unmarshal: unmarshal},
	}
	config.Transformers = []huma.Transformer{transform}
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"bearer": {Type: "http", Scheme: "bearer"}}
	config.Security = []map[string][]string{{"bearer": {}}}
	alias(config.Components.Schemas)
	return &API{
		huma: humago.New(mux, config), client: client, log: log, public: map[string]bool{}, stopping: stopping,
		open: room{all: publicRoom, each: publicRoom}, keyed: room{all: keyedRoom, each: eachRoom, perValue: perValue},
	}
}

// alias says as what the values of views come.
func alias(r huma.Registry) {
	r.RegisterTypeAlias(reflect.TypeFor[views.Text](), reflect.TypeFor[*string]())
	r.RegisterTypeAlias(reflect.TypeFor[views.Big](), reflect.TypeFor[*string]())
	r.RegisterTypeAlias(reflect.TypeFor[views.Number](), reflect.TypeFor[*int]())
	r.RegisterTypeAlias(reflect.TypeFor[views.Span](), reflect.TypeFor[*string]())
	r.RegisterTypeAlias(reflect.TypeFor[views.Timestamp](), reflect.TypeFor[*time.Time]())
}

// readFailuresAreTheClients lets a body that cannot be read, such as one in bad chunks, be a bad
// request. huma calls it a failure of the server, as nothing else of ours, since operations answer
// with problems; it can be told for the process alone, in which there may be other operations. One
// that does not arrive in time has the status of its code, which huma does not know.
var readFailuresAreTheClients = sync.OnceFunc(func() {
	of := huma.NewErrorWithContext
	huma.NewErrorWithContext = func(ctx huma.Context, status int, text string, errs ...error) huma.StatusError {
		if ctx == nil || ctx.Operation() == nil || ctx.Operation().Extensions[scopeKey] == nil {
			return of(ctx, status, text, errs...)
		}
		for _, err := range errs {
			if p, is := errors.AsType[*problem.Problem](err); is { // the body's own
				if after := p.GetHeaders().Get("Retry-After"); after != "" {
					ctx.SetHeader("Retry-After", after)
				}
				return p
			}
		}
		switch status {
		case http.StatusInternalServerError:
			status = http.StatusBadRequest
		case http.StatusRequestTimeout:
			p := problem.New(problem.TimedOut, "the body did not arrive in time").In(time.Second)
			ctx.SetHeader("Retry-After", p.GetHeaders().Get("Retry-After"))
			return p
		}
		return of(ctx, status, text, errs...)
	}
})

// transform makes a Problem of what huma says about a request, and tells it the request's id.
func transform(ctx huma.Context, _ string, v any) (any, error) {
	switch e := v.(type) {
	case *huma.ErrorModel:
		p := ofModel(e)
		p.Request = problem.RequestID(ctx.Context())
		return p, nil
	case *problem.Problem:
		p := *e
		p.Request = problem.RequestID(ctx.Context())
		return &p, nil
	}
	return v, nil
}

// missing is how huma says that a property is missing, whose name it does not have in the location.
var missing = regexp.MustCompile(`^expected required property (\S+) to be present$`)

// ofModel is the problem of what huma has found wrong.
func ofModel(e *huma.ErrorModel) *problem.Problem {
	code, text := codeOf(e.Status), e.Detail
	var fields []problem.Field
	for _, d := range e.Errors {
		field := problem.Field{Pointer: pointer(d.Location), Detail: d.Message}
		if strings.HasPrefix(d.Message, "invalid date/time for format ") {
			field.Detail = "it is no time such as 2026-01-31T08:00:00Z"
		}
		if m := missing.FindStringSubmatch(d.Message); m != nil {
			field = problem.Field{Pointer: field.Pointer + "/" + m[1], Detail: "it is missing"}
		}
		fields = append(fields, field)
	}
	if len(fields) == 1 {
		text = strings.TrimPrefix(fields[0].Pointer+": "+fields[0].Detail, ": ")
	}
	p := problem.New(code, text)
	p.Errors = fields
	return p
}

// codeOf is the code of what huma answers by itself.
func codeOf(status int) problem.Code {
	switch status {
	case http.StatusBadRequest:
		return problem.Malformed
	case http.StatusNotAcceptable:
		return problem.NotAcceptable
	case http.StatusRequestEntityTooLarge:
		return problem.TooLarge
	case http.StatusUnsupportedMediaType:
		return problem.MediaType
	case http.StatusUnprocessableEntity:
		return problem.InvalidRequest
	default:
		return problem.Internal
	}
}

// pointer turns "body.jobs[3].kind" into "/jobs/3/kind", and "query.limit" into "query/limit".
func pointer(location string) string {
	p := strings.NewReplacer(".", "/", "[", "/", "]", "").Replace(location)
	if rest, ok := strings.CutPrefix(p, "body"); ok {
		return rest
	}
	return p
}

// Op is an operation.
type Op struct {
	ID      string // as the verb of the command line, such as job-list
	Method  string
	Path    string // behind Prefix
	Tag     string
	Summary string
	About   string // what it promises, its errors
	Scope   access.Scope
	Status  int           // of success; 0: 200, or 204 without a body
	Also    int           // another status of success, with the same body; 0: there is none
	MaxBody int64         // in bytes; 0: 1 MiB
	Timeout time.Duration // 0: CallTimeout
	// Public lets everybody call it: something in the request is the credential, such as a token.
	Public bool
}

// Call is one call of an operation.
type Call struct {
	// Client works in the namespace of the call, in the name of who makes it.
	Client    *holdfast.Client
	Principal *access.Principal

	api     *API
	request *requestKey
}

// RequestName is a name for the request that is the same when it is repeated with its
// Idempotency-Key; "": it has none.
func (c *Call) RequestName() string {
	if c.request == nil {
		return ""
	}
	return hex.EncodeToString(sum(c.Principal.Name, c.request.key))
}

// MayRepeat reports whether the request has an Idempotency-Key, and so may have been sent before.
func (c *Call) MayRepeat() bool { return c.request != nil }

// RequestNumber is a positive number for the request, which it has again when it is repeated, and
// none that asks something else; 0: it has no Idempotency-Key.
func (c *Call) RequestNumber() int64 {
	if c.request == nil {
		return 0
	}
	key, asks := c.request.names(false, c.Principal.Name)
	n := binary.BigEndian.Uint64(sum(string(key), string(asks)))
	return 1 + int64(n%math.MaxInt64)
}

// Now is the time by the clock of the database, by which jobs run and limits let go. That of the
// server's machine may differ.
func (c *Call) Now() time.Time {
	e, _ := ours.Engine(c.Client)
	return e.Store.Now()
}

// Namespaced is an input that names a namespace. In is one.
type Namespaced interface{ namespace() string }

// In is what all inputs have.
type In struct {
	Namespace string `query:"namespace" doc:"The namespace; without it, that of the key if it has only one, and else default" example:"default"`
}

func (in *In) namespace() string { return in.Namespace }

// Register registers an operation whose answer is a body. Of the library's code there is one copy
// for each type of input, and of output, of 16 KiB: so all bodies are one type to it.
func Register[I, T any, PI interface {
	*I
	Namespaced
}](a *API, op Op, handle func(ctx context.Context, c *Call, in PI) (*Body[T], error)) {
	r, o := a.begin(&op, reflect.TypeFor[I](), reflect.TypeFor[T]())
	huma.Register(a.huma, *o, func(ctx context.Context, in *I) (*anyBody, error) {
		return r.body(ctx, PI(in).namespace(), func(ctx context.Context, c *Call) (any, error) { return handle(ctx, c, PI(in)) })
	})
}

// begin describes an operation whose answer is only a body. Register is compiled for each of them,
// and this once.
func (a *API) begin(op *Op, in, body reflect.Type) (*registered, *huma.Operation) {
	r, o := a.registered(op, in), a.operation(op)
	a.answers(&o, body)
	return r, &o
}

// body is serve for them: handle returns a Body.
func (r *registered) body(ctx context.Context, namespace string, handle func(context.Context, *Call) (any, error)) (*anyBody, error) {
	out, err := r.serve(ctx, namespace, handle)
	if out == nil || err != nil {
		return nil, err
	}
	return &anyBody{Body: reflect.ValueOf(out).Elem().FieldByName("Body").Interface()}, nil
}

// anyBody is an answer that is only a body, whose type the document has from elsewhere.
type anyBody struct{ Body any }

// answers documents the body of an operation's answer.
func (a *API) answers(o *huma.Operation, body reflect.Type) {
	status := cmp.Or(o.DefaultStatus, http.StatusOK)
	o.Responses[strconv.Itoa(status)] = a.response(o, status, body)
}

func (a *API) response(o *huma.Operation, status int, body reflect.Type) *huma.Response {
	return &huma.Response{
		Description: http.StatusText(status),
		Content:     map[string]*huma.MediaType{"application/json": {Schema: a.huma.OpenAPI().Components.Schemas.Schema(body, true, o.OperationID+"Response")}},
	}
}

// also documents the other status of success of an operation whose output says the status of each
// answer: huma knows one, and readers of the document would take the other for a refusal.
func (a *API) also(o *huma.Operation, status int, output reflect.Type) {
	if _, says := output.FieldByName("Status"); says != (status != 0) {
		panic(o.OperationID + ": the output has a Status if the operation has another status of success (Also)")
	}
	if body, is := output.FieldByName("Body"); is && status != 0 {
		o.Responses[strconv.Itoa(status)] = a.response(o, status, body.Type)
	}
}

// RegisterFull registers an operation whose answer has more than a body, or none.
func RegisterFull[I, O any, PI interface {
	*I
	Namespaced
}](a *API, op Op, handle func(ctx context.Context, c *Call, in PI) (*O, error)) {
	r, o := a.beginFull(&op, reflect.TypeFor[I](), reflect.TypeFor[O]())
	huma.Register(a.huma, *o, func(ctx context.Context, in *I) (*O, error) {
		out, err := r.serve(ctx, PI(in).namespace(), func(ctx context.Context, c *Call) (any, error) { return handle(ctx, c, PI(in)) })
		if out == nil || err != nil {
			return nil, err
		}
		return out.(*O), nil //nolint:errcheck // that of handle
	})
}

// beginFull is begin for those.
func (a *API) beginFull(op *Op, in, output reflect.Type) (*registered, *huma.Operation) {
	r, o := a.registered(op, in), a.operation(op)
	a.also(&o, op.Also, output)
	return r, &o
}

// registered is an operation that was registered.
type registered struct {
	*API

	op      *Op
	timeout time.Duration
	repeat  Repeat
}

func (a *API) registered(op *Op, in reflect.Type) *registered {
	mustBeSeen(in)
	r := &registered{API: a, op: op, timeout: op.Timeout, repeat: repeatOf(op.ID, op.Scope)}
	if r.timeout == 0 {
		r.timeout = CallTimeout
	}
	return r
}

// serve calls the operation for a request in a namespace. What it returns is nil if the answer has
// no body.
func (r *registered) serve(ctx context.Context, namespace string, handle func(context.Context, *Call) (any, error)) (any, error) {
	patient(ctx, r.timeout)
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	c, err := r.call(ctx, r.op.Scope, namespace)
	if err != nil {
		return nil, err
	}
	work := func(ctx context.Context) (any, error) { return handle(ctx, c) }
	var out any
	if k := keyOf(ctx); k == nil || r.repeat == Marked || r.repeat == Named {
		out, err = work(ctx)
	} else {
		e, _ := ours.Engine(c.Client)
		out, err = byKey(ctx, &keyedCall{
			requestKey: k, id: r.op.ID, status: r.op.Status, public: r.op.Public, principal: c.Principal.Name, repeat: r.repeat,
			timeout: r.timeout, lasts: r.timeout + bodyTimeout, ask: e.Ask, log: r.log,
		}, work)
	}
	if was, is := errors.AsType[*answered](err); is {
		return nil, was
	}
	if err != nil {
		return nil, r.problem(ctx, r.op, err)
	}
	return out, nil
}

// patient lets a request that has arrived wait as long as it may: the time by which its body had to
// be there would end it otherwise, and the answer may be written as late.
func patient(ctx context.Context, timeout time.Duration) {
	if c := guard.Connection(ctx); c != nil {
		var within time.Time
		if !c.Arrived() { // an operation without a body does not read what is sent
			within = time.Now().Add(bodyTimeout)
		}
		_ = c.SetReadDeadline(within) // of a connection that has none: a test's
		_ = c.SetWriteDeadline(time.Now().Add(timeout + bodyTimeout))
	}
}

// operation is what the document says of an operation.
func (a *API) operation(op *Op) huma.Operation {
	about := op.About
	if op.Scope != "" {
		about = strings.TrimSpace(about + "\n\nIt needs the scope `" + string(op.Scope) + "`.")
	}
	o := huma.Operation{
		OperationID: op.ID, Method: op.Method, Path: Prefix + op.Path, Tags: []string{op.Tag}, Summary: op.Summary, Description: about,
		DefaultStatus: op.Status, MaxBodyBytes: maxBody, BodyReadTimeout: bodyTimeout, Extensions: map[string]any{scopeKey: op.Scope},
	}
	if op.MaxBody > 0 {
		o.MaxBodyBytes = op.MaxBody
	}
	if op.Method == http.MethodPost {
		o.Parameters = []*huma.Param{keyParameter(repeatOf(op.ID, op.Scope))}
	}
	if op.Public {
		o.Security = []map[string][]string{{}}
		a.public[op.Method+" "+o.Path] = true
	}
	o.Responses = map[string]*huma.Response{"default": a.refusal()}
	o.Middlewares = huma.Middlewares{early(op.Scope, o.MaxBodyBytes)}
	of := &a.keyed
	if op.Public {
		of = &a.open
	}
	o.Middlewares = append(o.Middlewares, of.middleware)
	return o
}

// early refuses what can be refused before anything of a request is read: of who may not make such
// in any namespace, and one that says itself that it is too large.
func early(scope access.Scope, most int64) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		r, w := humago.Unwrap(ctx)
		switch {
		case !access.Of(ctx.Context()).MaySomewhere(scope):
			guard.Refuse(w, r, forbidden(scope))
		case r.ContentLength > most:
			guard.Refuse(w, r, problem.New(problem.TooLarge, fmt.Sprintf("the body has %d bytes, and may have %d", r.ContentLength, most)))
		default:
			next(ctx)
		}
	}
}

func forbidden(scope access.Scope) error {
	return problem.New(problem.Forbidden, "the key does not have the scope "+string(scope)+"; use one that has it")
}

// mustBeSeen panics if parameters are in an embedded struct that is not exported: huma leaves it
// out without a word.
func mustBeSeen(input reflect.Type) {
	for _, f := range reflect.VisibleFields(input) {
		if f.Anonymous && !f.IsExported() {
			panic(fmt.Sprintf("the input %s embeds %s, which is not exported: its parameters would be lost", input, f.Type))
		}
	}
}

// refusal documents how an operation fails.
func (a *API) refusal() *huma.Response {
	return &huma.Response{
		Description: "It was refused, or has failed",
		Content: map[string]*huma.MediaType{problem.ContentType: {
			Schema: a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[problem.Problem](), true, "Problem"),
		}},
	}
}

// call checks that who makes a request may do so in a namespace: that of the server, if none is
// named, or the only one that the caller has. What every caller may ask is about the first one.
func (a *API) call(ctx context.Context, scope access.Scope, namespace string) (*Call, error) {
	p := access.Of(ctx)
	named := namespace != ""
	if !named {
		namespace = a.client.Namespace()
		if n := len(p.Namespaces); n == 1 || n > 1 && scope == "" && !p.Has(namespace) {
			namespace = p.Namespaces[0]
		}
	}
	switch {
	case p.Has(namespace):
	case named || len(p.Namespaces) == 0:
		return nil, problem.New(problem.NotFound, "there is no namespace "+namespace+" for this key")
	default:
		return nil, problem.New(problem.NotFound, fmt.Sprintf("there is no namespace %s for this key: name one that it has, such as ?namespace=%s",
			namespace, url.QueryEscape(p.Namespaces[0])))
	}
	if p = p.In(namespace); !p.May(scope) {
		return nil, forbidden(scope)
	}
	client, err := a.client.In(namespace)
	if err == nil {
		client, err = client.As(p.Name)
	}
	if err != nil {
		return nil, problem.At("query/namespace", err)
	}
	return &Call{Client: client, Principal: p, api: a, request: keyOf(ctx)}, nil
}

// problem is what an error is for who has made the call. What is the server's own fault is logged.
func (a *API) problem(ctx context.Context, op *Op, err error) *problem.Problem {
	p := problem.Of(err)
	says := map[problem.Code]func(context.Context, string, ...any){
		problem.Unavailable: a.log.WarnContext, problem.Internal: a.log.ErrorContext,
	}
	if say := says[p.Code]; say != nil {
		say(ctx, "request failed", "request", problem.RequestID(ctx), "operation", op.ID, "error", err.Error())
	}
	return p
}
