package push

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/holdfastdev/holdfast/endpoint"
	"github.com/holdfastdev/holdfast/internal/outbound"
)

const (
	// maxAnswer is how much of an answer is read.
	maxAnswer = 1 << 20
	// maxQuoted is how much of one an error quotes.
	maxQuoted = 1 << 10
)

// sent is what a request needs.
type sent struct {
	id      string // in each attempt the same
	target  *endpoint.Target
	secrets []string
	body    []byte
	header  http.Header // besides; nil: none
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
	cut    bool // the answer is longer
}

func (a *answer) isSuccess() bool { return a.status >= 200 && a.status <= 299 }

// retryAfter is how long the receiver wants to be left alone.
func (a *answer) retryAfter() (time.Duration, bool) {
	switch a.status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return outbound.RetryAfter(a.header, time.Now())
	}
	return 0, false
}

// mayPass reports whether the next attempt may be answered otherwise.
func (a *answer) mayPass() bool {
	switch a.status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return a.status >= 500
}

// failure is an answer as an error.
func (a *answer) failure(t *endpoint.Target) error {
	said := a.quote()
	if to := a.header.Get("Location"); a.status >= 300 && a.status <= 399 && to != "" {
		said = fmt.Sprintf(": no redirect is followed; set the url that it leads to, %.200q", to)
	}
	return fmt.Errorf("%s answered %d %s%s", hostOf(t), a.status, http.StatusText(a.status), said)
}

func (a *answer) quote() string {
	text := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(a.body[:min(len(a.body), maxQuoted)]), "\uFFFD"))
	if text = strings.TrimSpace(text); text != "" {
		text = ": " + text
	}
	return text
}

// hostOf names a target without its path and query, which may be secret.
func hostOf(t *endpoint.Target) string { return cmp.Or(t.Site(), "the endpoint") }

// send makes a request. The error says that there was no complete answer.
func send(ctx context.Context, client *http.Client, s *sent) (*answer, error) {
	within := max(time.Millisecond, s.target.Timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("no answer within %v", within))
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.target.URL, bytes.NewReader(s.body))
	if err != nil {
		return nil, errors.New("the url cannot be parsed")
	}
	for name, value := range s.target.Headers {
		r.Header.Set(name, value)
	}
	maps.Copy(r.Header, s.header)
	r.Header.Set("Content-Type", "application/json")
	if r.Header.Get("User-Agent") == "" {
		r.Header.Set("User-Agent", "holdfast")
	}
	if err := endpoint.Sign(r.Header, s.secrets, s.id, time.Now(), s.body); err != nil {
		return nil, err
	}
	response, err := client.Do(r)
	if err != nil {
		return nil, noAnswer(ctx, s.target, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return nil, noAnswer(ctx, s.target, err)
	}
	a := &answer{status: response.StatusCode, header: response.Header, body: body}
	if len(body) > maxAnswer {
		a.body, a.cut = body[:maxAnswer], true
	}
	return a, nil
}

// noAnswer is the error of a request without a complete answer.
func noAnswer(ctx context.Context, t *endpoint.Target, err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // it repeats the url
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return fmt.Errorf("%s: %w", hostOf(t), err)
}
