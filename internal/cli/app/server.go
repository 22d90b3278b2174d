package app

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/remote"
)

// serverSource is the store of the server that the user named.
func (a *App) serverSource() (store.Source, error) {
	c, err := a.remote()
	if err != nil {
		return nil, err
	}
	return c, nil
}

// API is how requests are made of the server that the user named: its URL, and what makes them,
// with the token in each: it must not be sent elsewhere, so redirects are not to be followed.
func (a *App) API() (url string, client *http.Client, err error) {
	c, err := a.remote()
	if err != nil {
		return "", nil, err
	}
	like := http.Client{}
	if c.HTTP != nil {
		like = *c.HTTP
	}
	like.Transport = &bearing{cmp.Or[http.RoundTripper](like.Transport, http.DefaultTransport), c.TokenFunc}
	return c.URL, &like, nil
}

// bearing makes requests that have the token.
type bearing struct {
	http.RoundTripper

	token func(context.Context) (string, error)
}

func (b *bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	token, err := b.token(r.Context())
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // as a RoundTripper is to do in any case
		}
		return nil, err
	}
	if token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return b.RoundTripper.RoundTrip(r)
}

// remote says how the server that the user named is reached.
func (a *App) remote() (remote.Config, error) {
	token := a.token()
	first, err := token()
	if err != nil {
		return remote.Config{}, arg.Usagef("%s: %w", a.NameOf(FlagTokenFile), err)
	}
	c := remote.Server(a.Server, first)
	if err := c.Validate(); err != nil {
		return remote.Config{}, a.ofVariable(FlagServer, arg.Usage(err))
	}
	c.Token, c.TokenFunc = "", func(context.Context) (string, error) { return token() }
	if a.TLSCA != "" && strings.HasPrefix(a.Server, "https:") {
		roots, err := readAuthorities(a.TLSCA)
		if err != nil {
			return remote.Config{}, arg.Usagef("%s: %w", a.NameOf(FlagTLSCA), err)
		}
		c.HTTP = a.trusting(roots)
	}
	return c, nil
}

// token returns that for the server: of the file, as it is at each request, or else of the
// variable; "": none.
func (a *App) token() func() (string, error) {
	if a.TokenFile != "" {
		return (&tokenFile{path: a.TokenFile}).token
	}
	text, _ := a.Env.LookupEnv(cmp.Or(a.tokenVariable, EnvToken))
	return func() (string, error) { return strings.TrimSpace(text), nil }
}

// readAuthorities reads a file of certificates, in PEM: those of authorities, which vouch for
// others.
func readAuthorities(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, errors.New(file + " has no certificate in PEM: one begins with \"-----BEGIN CERTIFICATE-----\"")
	}
	return pool, nil
}

// trusting makes requests to servers for which these authorities vouch, and no others. Close closes
// its connections. Otherwise it is like the client of package remote.
func (a *App) trusting(roots *x509.CertPool) *http.Client {
	if a.transport == nil {
		a.transport = &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout: 10 * time.Second, MaxIdleConnsPerHost: 64, IdleConnTimeout: 20 * time.Second, DisableCompression: true,
			Protocols: new(http.Protocols),
		}
		a.transport.Protocols.SetHTTP1(true)
	}
	return &http.Client{Transport: a.transport}
}
