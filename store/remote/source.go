package remote

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/internal/wire"
	"github.com/holdfastdev/holdfast/store"
)

// Config is a server, and how it is reached. It is a store.Source.
type Config struct {
	// URL is http(s)://host[:port][/prefix]. The prefix is that under which a proxy has the server.
	URL string
	// Token is sent with each request: that of the server, or an API key with the scope "store".
	// "": none, for a server that lets everybody in.
	Token string
	// TokenFunc, if it is set, is asked for the token of each request in the place of Token: for
	// tokens that do not last, such as those of identity providers. It should remember them. While
	// it fails the server counts as one that is away.
	TokenFunc func(context.Context) (string, error)
	// HTTP makes the requests, for roots of trust, client certificates or proxies of one's own. Its
	// Timeout is not used, and redirects are not followed. Nil: a client that goes by the
	// environment's proxies and the system's roots.
	HTTP *http.Client

	now func() time.Time // of tests, whose clock stands; nil: the server's
}

// Server is the store of a server. A token in the URL is refused by Open.
func Server(url, token string) Config { return Config{URL: url, Token: token} }

// String is the URL of the server, without what might be a secret.
func (c Config) String() string {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" {
		return "a server with an invalid URL"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// Validate reports why there can be no such server, an ErrInvalid. It makes no request.
func (c Config) Validate() error {
	_, err := c.base()
	return err
}

// base is the URL before the paths of the API.
func (c Config) base() (string, error) {
	u, err := url.Parse(strings.TrimSpace(c.URL))
	switch {
	case err != nil || u.Opaque != "" || u.Host == "" || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		// The text is not quoted: it may have a secret in it.
		return "", fmt.Errorf("%w: the URL of a server is http://HOST:PORT or https://HOST, with the path of a proxy behind it if need be",
			store.ErrInvalid)
	case u.User != nil:
		return "", fmt.Errorf("%w: the URL of server %s has a name or a password in it, which logs would show; give the token apart",
			store.ErrInvalid, c)
	case u.RawQuery != "" || u.Fragment != "":
		return "", fmt.Errorf("%w: the URL of server %s has something behind its path; if it is a token, give it apart", store.ErrInvalid, c)
	case c.Token != "" && c.TokenFunc != nil:
		return "", fmt.Errorf("%w: server %s has a token and a function that returns one; give one of them", store.ErrInvalid, c)
	}
	if err := checkToken(c.Token); err != nil {
		return "", fmt.Errorf("%w: the token for server %s %w", store.ErrInvalid, c, err)
	}
	return strings.TrimRight(u.String(), "/"), nil
}

var errNoToken = errors.New("has a space or another letter that no token has")

func checkToken(token string) error {
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return errNoToken
	}
	return nil
}

// tokenOf returns the token of a request.
func (c Config) tokenOf(ctx context.Context) (string, error) {
	if c.TokenFunc == nil {
		return c.Token, nil
	}
	token, err := c.TokenFunc(ctx)
	if err == nil {
		err = checkToken(token)
	}
	return token, err
}

// errServers is why a schema cannot be changed from here.
func (c Config) errServers(what string) error {
	return fmt.Errorf("%w: %s needs the database itself, and %s is a server: do it where the database is named", store.ErrInvalid, what, c)
}

// Open implements store.Source. The errors are ErrInvalid; ErrPermission, which is one, for a
// credential that the server does not take, or that lacks the scope; ErrSchema if the server has
// another version of Holdfast, and ErrUnavailable.
func (c Config) Open(ctx context.Context) (store.Store, error) {
	s, welcome, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.check(welcome); err != nil {
		_ = s.Close() // nothing was sent
		return nil, err
	}
	return s, nil
}

// connect makes a store, and asks the server what it is.
func (c Config) connect(ctx context.Context) (*Store, wire.Welcome, error) {
	base, err := c.base()
	if err != nil {
		return nil, wire.Welcome{}, err
	}
	s := &Store{base: base, name: c.String(), token: c.tokenOf, client: rand.Text(), http: client(c.HTTP), owns: c.HTTP == nil, fixed: c.now}
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	s.sending, s.endSending = context.WithCancel(context.WithoutCancel(ctx))
	s.notes.more = make(chan struct{}, 1)
	welcome, err := s.hello(ctx)
	if err != nil {
		_ = s.Close() // nothing was sent
		return nil, welcome, err
	}
	return s, welcome, nil
}

// client is what makes the requests.
func client(given *http.Client) *http.Client {
	var c http.Client
	if given != nil {
		c = *given
	} else {
		c.Transport = transport()
	}
	c.Timeout = 0 // each request has its own, and a stream has none
	// Another place gets no credential, and no repeated write.
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

const (
	// maxIdle is how many connections are kept for the next calls.
	maxIdle = 64
	// idleTimeout is shorter than servers and proxies keep connections: they would close one on
	// which a request is on its way.
	idleTimeout = 20 * time.Second
)

func transport() *http.Transport {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		t = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	t = t.Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost, t.IdleConnTimeout = 0, maxIdle, idleTimeout
	t.DisableCompression = true // the answers are small, and time matters
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true) // whose calls do not wait for one another in one connection
	return t
}

// check reports why a server does not fit this program.
func (c Config) check(w wire.Welcome) error {
	s := schemaOf(w)
	switch {
	case s.IsServed():
		return nil
	case s.Version < s.Latest:
		return fmt.Errorf("%w: server %s knows the schema %d, and this program needs %d; upgrade the server first",
			store.ErrSchema, c, s.Version, s.Latest)
	default:
		return fmt.Errorf("%w: server %s knows the schema %d and serves programs from %d on, and this one knows %d; use a newer version of it",
			store.ErrSchema, c, s.Version, max(s.Serves, 0), s.Latest)
	}
}

func schemaOf(w wire.Welcome) store.Schema {
	return store.Schema{Version: w.Schema, Latest: wire.Schema, Serves: w.Serves}
}

// Migrate implements store.Source: it is ErrInvalid, as the schema is the server's to bring up to
// date.
func (c Config) Migrate(context.Context) (store.Schema, error) {
	return store.Schema{}, c.errServers("a migration")
}

// Schema implements store.Source. Version is the one that the server's program knows, to which it
// has brought its database.
func (c Config) Schema(ctx context.Context) (store.Schema, error) {
	s, welcome, err := c.connect(ctx)
	if err != nil {
		return store.Schema{}, err
	}
	return schemaOf(welcome), errors.Join(s.Close())
}

// Migrations implements store.Source: a server has none to show.
func (c Config) Migrations() []store.Migration { return nil }

// Reset implements store.Resets: it is ErrInvalid, as it needs the database itself.
func (c Config) Reset(context.Context) (store.Schema, error) {
	return store.Schema{}, c.errServers("a reset")
}

// Examine implements store.Examines: what of a database its server alone can tell is told there.
func (c Config) Examine(context.Context) ([]store.Finding, error) {
	return []store.Finding{{
		Check: "database", Severity: store.Note,
		Text: fmt.Sprintf("it is behind server %s: what it says of its settings, rights, locks and disk was not looked at from here", c),
		Do:   "run holdfast doctor --database where the database is",
	}}, nil
}

// What is asked of a source beside what store.Source has.
var (
	_ store.Examines = Config{}
	_ store.Source   = Config{}
	_ store.Resets   = Config{}
	_ store.Store    = (*Store)(nil)
)
