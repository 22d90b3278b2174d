package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxAnswer is how much of an answer a tool returns: what is larger is an error.
const maxAnswer = 4 << 20

// caller makes requests of the API.
type caller struct {
	url, namespace string
	client         *http.Client
	hide           func([]byte) []byte // what people are not to see
}

// handler is that of the tool of an operation.
func (c *caller) handler(o *operation) mcp.ToolHandler {
	return func(ctx context.Context, call *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		status, answer, err := c.call(ctx, o, call.Params.Arguments)
		if err != nil { // an assistant reads it, and an error of the protocol it may not
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}}, nil //nolint:nilerr // as said
		}
		result := &mcp.CallToolResult{IsError: status >= http.StatusBadRequest}
		text := string(answer)
		if len(answer) == 0 {
			text = "done"
		} else if answer[0] == '{' && json.Valid(answer) {
			answer = c.hide(answer)
			text, result.StructuredContent = string(answer), json.RawMessage(answer)
		}
		result.Content = []mcp.Content{&mcp.TextContent{Text: text}}
		return result, nil
	}
}

// call makes the request of a call.
func (c *caller) call(ctx context.Context, o *operation, arguments json.RawMessage) (status int, answer []byte, err error) {
	r, err := o.request(ctx, c.url, c.namespace, arguments)
	if err != nil {
		return 0, nil, err
	}
	response, err := c.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return 0, nil, err
	case len(answer) > maxAnswer:
		return 0, nil, fmt.Errorf("the answer has more than %d bytes; ask for less, such as by limit", maxAnswer)
	case response.StatusCode >= http.StatusMultipleChoices && response.StatusCode < http.StatusBadRequest:
		return 0, nil, errors.New("the server answered with a redirect, which is not followed")
	}
	return response.StatusCode, bytes.TrimSpace(answer), nil
}

// noRedirects lets redirects be answers.
func noRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// inProcess makes requests of a handler in this process.
type inProcess struct{ handler http.Handler }

// RoundTrip has the handler answer.
func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.RequestURI, r.RemoteAddr = r.URL.RequestURI(), "127.0.0.1:1"
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := &answer{header: http.Header{}}
	p.handler.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: max(w.status, http.StatusOK), Header: w.header, Body: io.NopCloser(&w.body), Request: r,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1,
	}, nil
}

// answer is what a handler has answered.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header is that of the answer.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader notes the status.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// Write notes what is answered. What is too much for a tool is dropped: the call fails by the rest.
func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	a.body.Write(p[:min(len(p), max(maxAnswer+1-a.body.Len(), 0))])
	return len(p), nil
}
