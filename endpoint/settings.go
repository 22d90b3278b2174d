package endpoint

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/holdfastdev/holdfast/store"
)

// Target is where and how something is sent.
type Target struct {
	URL string `json:"url"`
	// Headers are sent beside those of the request, such as Authorization. They are kept as they
	// are, and shown by their names alone.
	Headers map[string]string `json:"headers,omitempty"`
	// Timeout is how long the receiver may take to answer.
	Timeout time.Duration `json:"timeout,omitempty"`
}

// Site is the URL without user, path and query, any of which may be a secret; "": it is none.
func (t *Target) Site() string {
	u, err := url.Parse(t.URL)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// Push is an endpoint that works the jobs of a kind.
type Push struct {
	Target

	// Callback is within which time a job that was answered 202 has to be called back.
	Callback time.Duration `json:"callback,omitempty"`
	Secrets  []Secret      `json:"secrets,omitempty"`
}

// Webhook is told of events.
type Webhook struct {
	Target

	// ID is that of this webhook, and of no other that was made under its name.
	ID     string `json:"id"`
	Filter Filter `json:"filter,omitzero"`
	// After is the position in the feed behind which it is told of events.
	After store.FeedPosition `json:"after"`
	// Disabled says why it is told of nothing; "": it is.
	Disabled string   `json:"disabled,omitempty"`
	Secrets  []Secret `json:"secrets,omitempty"`
}

// Filter says of which events a webhook is told: those of which all holds that is set.
type Filter struct {
	Events []Event  `json:"events,omitempty"`
	Queues []string `json:"queues,omitempty"`
	Kinds  []string `json:"kinds,omitempty"`
	// Where is an expression over the variable event, the JSON that the webhook would be told; "":
	// none. Check it by rules.CheckEvent: servers deliver events of which it has no value.
	Where string `json:"where,omitempty"`
}

// Secret is a secret by which requests are signed.
type Secret struct {
	Secret string     `json:"secret"`
	Until  *time.Time `json:"until,omitempty"` // nil: until it is rotated
}

const (
	// DefaultTimeout is how long a receiver may take to answer if nothing else is said.
	DefaultTimeout = 30 * time.Second
	// MostTimeout bounds Target.Timeout.
	MostTimeout = 10 * time.Minute
	// DefaultCallback is within which time a job has to be called back if nothing else is said.
	DefaultCallback = 24 * time.Hour
	// MostCallback bounds Push.Callback.
	MostCallback = 365 * 24 * time.Hour
	// DefaultOverlap is how long requests are signed by the old secret, too, after a rotation.
	DefaultOverlap = 24 * time.Hour
	maxURL         = 2000
	maxHeaders     = 50
	maxNames       = 100
	maxWhere       = 4 << 10
)

// SecretsAt are the secrets by which requests are signed at a time, the newest first.
func SecretsAt(all []Secret, now time.Time) (secrets []string) {
	for _, s := range all {
		if s.Until == nil || now.Before(*s.Until) {
			secrets = append(secrets, s.Secret)
		}
	}
	return secrets
}

// rotated adds a secret, and lets the others end after a while.
func rotated(all []Secret, secret string, now time.Time, overlap time.Duration) []Secret {
	until := now.Add(overlap).UTC().Truncate(time.Second)
	fresh := []Secret{{Secret: secret}}
	for _, s := range all {
		if s.Until == nil || until.Before(*s.Until) {
			s.Until = &until
		}
		if now.Before(*s.Until) && len(fresh) < 3 {
			fresh = append(fresh, s)
		}
	}
	return fresh
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", store.ErrInvalid, fmt.Sprintf(format, args...))
}

// check returns an ErrInvalid for what cannot be sent to, and fills in what was not said.
func (t *Target) check() error {
	to, err := url.Parse(t.URL)
	switch {
	case t.URL == "":
		return invalid("the url is missing")
	case len(t.URL) > maxURL:
		return invalid("the url is longer than %d bytes", maxURL)
	case err != nil: // which is not shown: it may contain a password
		return invalid("the url cannot be parsed; one is like https://jobs.example.com/mail")
	case to.Scheme != "http" && to.Scheme != "https":
		return invalid("the url's scheme is %q; it must be http or https", to.Scheme)
	case to.Hostname() == "":
		return invalid("the url has no host")
	case to.User != nil:
		return invalid("the url has a user or a password; put them into the header Authorization")
	case t.Timeout < 0 || t.Timeout > MostTimeout:
		return invalid("the timeout is to be from 1ms to %v", MostTimeout)
	case len(t.Headers) > maxHeaders:
		return invalid("there are %d headers; at most %d are sent", len(t.Headers), maxHeaders)
	}
	if t.Timeout == 0 {
		t.Timeout = DefaultTimeout
	}
	return t.checkHeaders()
}

// checkHeaders spells the names of the headers in one way, so that each is there once.
func (t *Target) checkHeaders() error {
	spelled := make(map[string]string, len(t.Headers))
	for _, name := range slices.Sorted(maps.Keys(t.Headers)) {
		if err := checkHeader(name, t.Headers[name]); err != nil {
			return err
		}
		to := http.CanonicalHeaderKey(name)
		if _, is := spelled[to]; is {
			return invalid("the header %s is given twice", to)
		}
		spelled[to] = t.Headers[name]
	}
	if len(spelled) > 0 {
		t.Headers = spelled
	}
	return nil
}

// ours are headers that the requests have in any case.
var ours = []string{HeaderID, HeaderTimestamp, HeaderSignature, "Content-Type", "Content-Length", "Host", "Transfer-Encoding", "Connection"}

func checkHeader(name, value string) error {
	const others = "!#$%&'*+-.^_`|~"
	switch {
	case name == "" || strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(others, r))
	}):
		return invalid("%.100q is not a valid name of a header", name)
	case slices.Contains(ours, http.CanonicalHeaderKey(name)) || strings.HasPrefix(http.CanonicalHeaderKey(name), "Holdfast-"):
		return invalid("the header %s is set by the server", name)
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7F }):
		return invalid("the value of the header %s contains a control character", name)
	}
	return nil
}

// Check returns an ErrInvalid for what cannot be an endpoint, and fills in what was not said.
func (p *Push) Check() error {
	if err := p.check(); err != nil {
		return err
	}
	if p.Callback < 0 || p.Callback > MostCallback {
		return invalid("the time to call back is to be at most %v", MostCallback)
	}
	if p.Callback == 0 {
		p.Callback = DefaultCallback
	}
	return checkSecrets(p.Secrets)
}

// Check returns an ErrInvalid for what cannot be a webhook, and fills in what was not said.
func (w *Webhook) Check() error {
	if err := w.check(); err != nil {
		return err
	}
	for _, e := range w.Filter.Events {
		if !slices.Contains(Events, e) {
			return invalid("there is no event %.100q; there are %s", e, joined(Events))
		}
	}
	if max(len(w.Filter.Queues), len(w.Filter.Kinds)) > maxNames {
		return invalid("at most %d queues and kinds are told apart", maxNames)
	}
	if len(w.Filter.Where) > maxWhere || !utf8.ValidString(w.Filter.Where) || strings.ContainsRune(w.Filter.Where, 0) {
		return invalid("the filter has more than %d bytes, is not valid UTF-8, or contains the character zero", maxWhere)
	}
	return checkSecrets(w.Secrets)
}

func checkSecrets(all []Secret) error {
	for _, s := range all {
		if _, err := keyOf(s.Secret); err != nil {
			return err
		}
	}
	return nil
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // they are structs of plain fields
	}
	return data
}
