package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/outbound"
)

// HTTP is the kind that makes a request.
var HTTP = holdfast.NewKind[HTTPArgs, HTTPResult]("http")

// HTTPArgs are the args of http.
type HTTPArgs struct {
	// Method is GET by default, or POST if there is a body.
	Method string `help:"default: GET, or POST if there is a body" json:"method,omitempty"`
	URL    string `help:"http or https URL; required" json:"url"`
	// Headers are sent unchanged. Idempotency-Key is the job's id, and traceparent and tracestate
	// are those that the job carries, unless they are set here; "" leaves one out.
	Headers map[string]string `help:"object of headers" json:"headers,omitempty"`
	// Body is sent as text if it is a JSON string, and as JSON (with its Content-Type) if it is any
	// other value.
	Body json.RawMessage `help:"a string is sent as text, any other JSON as JSON" json:"body,omitempty"`
	// Timeout of the whole request, such as "10s". Default: 30 s. The job's own timeout applies as
	// well.
	Timeout string `help:"time limit of the whole request, such as \"10s\" (default: 30s)" json:"timeout,omitempty"`

	wrong error // error in args that are valid JSON
	trace trace // that of the job, which the request carries on
}

// HTTPResult is a successful response.
type HTTPResult struct {
	Status int `json:"status"`
	// Headers are those of keptHeaders in the response, the first 4 KiB of each.
	Headers map[string]string `json:"headers"`
	// Body is the first 64 KiB; invalid UTF-8 is replaced.
	Body          string `json:"body"`
	BodyTruncated bool   `json:"body_truncated,omitempty"`
}

// UnmarshalJSON records unknown fields, so that request refuses them: a misspelt field would
// otherwise send something else than was meant.
func (a *HTTPArgs) UnmarshalJSON(data []byte) error {
	type plain HTTPArgs
	err := strict(data, (*plain)(a))
	a.wrong = wrongArgs(HTTP.Name(), err)
	return nil
}

// headerLimit is how much of a response header is kept. A server may send a megabyte of them.
const headerLimit = 4 << 10

// keptHeaders are the response headers in the result: those that describe the body and where to
// find it. The others, above all cookies, are dropped.
var keptHeaders = []string{"Content-Type", "Etag", "Last-Modified", "Link", "Location", "X-Request-Id"}

const defaultRequestTimeout = 30 * time.Second

// RegisterHTTP makes the client's node make requests.
func RegisterHTTP(c *holdfast.Client, opts ...holdfast.HandleOption) error {
	// A separate client, so that changes to http.DefaultClient do not affect jobs.
	client := &http.Client{Transport: newTransport(), CheckRedirect: checkRedirect}
	return HTTP.Handle(c, func(run *holdfast.Run, args HTTPArgs) (HTTPResult, error) {
		args.trace = traceOf(run)
		return request(run, client, args, run.ID().String())
	}, opts...)
}

func newTransport() *http.Transport {
	t := &http.Transport{Proxy: http.ProxyFromEnvironment}
	if standard, ok := http.DefaultTransport.(*http.Transport); ok {
		t = standard.Clone()
	}
	t.MaxIdleConnsPerHost = 32 // jobs often go to one host, many at once
	return t
}

// request makes one request and decides what the response means for the job.
func request(ctx context.Context, client *http.Client, args HTTPArgs, key string) (HTTPResult, error) {
	req, timeout, err := args.request(key)
	if err != nil {
		return HTTPResult{}, holdfast.Fail(fmt.Errorf("http: %w", err))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer within %v", timeout))
	defer cancel()
	what := req.Method + " " + req.URL.Redacted()

	response, err := client.Do(req.WithContext(ctx))
	if err != nil {
		return HTTPResult{}, transportError(ctx, what, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, outputLimit+1))
	if err != nil {
		return HTTPResult{}, transportError(ctx, what, err)
	}
	if status := response.StatusCode; status < 200 || status > 299 {
		return HTTPResult{}, statusError(what, response, body)
	}
	result := HTTPResult{Status: response.StatusCode, Headers: map[string]string{}}
	if len(body) > outputLimit {
		body, result.BodyTruncated = body[:outputLimit], true
	}
	result.Body = printable(body)
	for _, name := range keptHeaders {
		if value := response.Header.Get(name); value != "" {
			result.Headers[name] = printable([]byte(value[:min(len(value), headerLimit)]))
		}
	}
	return result, nil
}

// request makes the request from the args, or reports what is wrong with them.
func (a HTTPArgs) request(key string) (*http.Request, time.Duration, error) {
	target, err := url.Parse(a.URL)
	switch {
	case a.wrong != nil:
		return nil, 0, a.wrong
	case a.URL == "":
		return nil, 0, errors.New(`the args have no url; write them like {"url":"https://example.com/"}`)
	case err != nil:
		return nil, 0, fmt.Errorf("cannot parse the url: %w", errors.Unwrap(err)) // without the url, which may contain a password
	case target.Scheme != "http" && target.Scheme != "https":
		return nil, 0, fmt.Errorf("the url's scheme is %q; it must be http or https", target.Scheme)
	case target.Hostname() == "":
		return nil, 0, errors.New("the url has no host")
	}
	timeout := defaultRequestTimeout
	if a.Timeout != "" {
		if timeout, err = time.ParseDuration(a.Timeout); err != nil || timeout <= 0 {
			return nil, 0, fmt.Errorf("the timeout %q is not a positive duration such as 10s", a.Timeout)
		}
	}
	body, isJSON, err := a.body()
	if err != nil {
		return nil, 0, err
	}
	method := strings.ToUpper(a.Method)
	switch {
	case method != "":
	case len(body) > 0:
		method = http.MethodPost
	default:
		method = http.MethodGet
	}
	req, err := http.NewRequest(method, a.URL, bytes.NewReader(body)) //nolint:noctx // the caller sets the context
	if err != nil {
		return nil, 0, fmt.Errorf("%q is not a valid method", a.Method) // everything else was checked before
	}
	req.Header.Set("User-Agent", "holdfast")
	req.Header.Set("Idempotency-Key", key)
	a.trace.each(req.Header.Set)
	if isJSON {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, timeout, a.setHeaders(req)
}

func (a HTTPArgs) body() (body []byte, isJSON bool, err error) {
	switch {
	case len(a.Body) == 0, string(a.Body) == "null":
		return nil, false, nil
	case a.Body[0] == '"':
		var text string
		err := json.Unmarshal(a.Body, &text)
		return []byte(text), false, err
	}
	return a.Body, true, nil
}

func (a HTTPArgs) setHeaders(req *http.Request) error {
	for name, value := range a.Headers {
		if !isToken(name) {
			return fmt.Errorf("%q is not a valid name of a header", name)
		}
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7F }) {
			return fmt.Errorf("the value of the header %s contains a control character", name)
		}
		switch {
		case strings.EqualFold(name, "Host"):
			req.Host = value
		case value == "":
			req.Header.Del(name)
		default:
			req.Header.Set(name, value)
		}
	}
	if _, given := req.Header["User-Agent"]; !given {
		req.Header.Set("User-Agent", "") // otherwise net/http sends its own
	}
	return nil
}

// isToken reports whether s is a token of RFC 9110.
func isToken(s string) bool {
	const others = "!#$%&'*+-.^_`|~"
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(others, r))
	})
}

// checkRedirect allows ten redirects, as net/http does, to http and https only. It refuses to turn
// a POST into a GET as browsers do, because the response to that GET would be taken for the
// response to the POST.
func checkRedirect(req *http.Request, via []*http.Request) error {
	if first := via[0]; req.Method != first.Method || req.ContentLength != first.ContentLength {
		return holdfast.Fail(fmt.Errorf("the redirect, %s, would drop the body or turn the %s into a GET; use 307 or 308 instead",
			req.Response.Status, first.Method))
	}
	if scheme := req.URL.Scheme; scheme != "http" && scheme != "https" {
		return holdfast.Fail(fmt.Errorf("it redirects to a url with the scheme %q; only http and https are followed", scheme))
	}
	if len(via) >= 10 {
		return errors.New("stopped after 10 redirects")
	}
	return nil
}

// transportError is the error of a request without a complete response.
func transportError(ctx context.Context, what string, err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // it repeats the method and the url
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return fmt.Errorf("%s: %w", what, err)
}

// statusError decides by the status whether a retry may succeed.
func statusError(what string, response *http.Response, body []byte) error {
	status := response.StatusCode
	text := strings.TrimSpace(printable(body[:min(len(body), messageLimit)]))
	if text != "" {
		text = ": " + text
	}
	err := fmt.Errorf("%s answered %s%s", what, response.Status, text)
	switch status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		if wait, ok := outbound.RetryAfter(response.Header, time.Now()); ok {
			return holdfast.RetryAfter(wait, err)
		}
		return err
	case http.StatusRequestTimeout, http.StatusTooEarly:
		return err
	}
	if status >= 500 {
		return err
	}
	return holdfast.Fail(err)
}
