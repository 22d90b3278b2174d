package app

import (
	"cmp"
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

// API is how requests are made of the server that the user named: its URL, the token, "" for none,
// and what makes them.
func (a *App) API() (url, token string, client *http.Client, err error) {
	c, err := a.remote()
	if err != nil {
		return "", "", nil, err
	}
	if c.HTTP == nil {
		c.HTTP = &http.Client{}
	}
	return c.URL, c.Token, c.HTTP, nil
}

// remote says how the server that the user named is reached.
func (a *App) remote() (remote.Config, error) {
	token, err := a.token()
	if err != nil {
		return remote.Config{}, err
	}
	c := remote.Server(a.Server, token)
	if err := c.Validate(); err != nil {
		return remote.Config{}, a.ofVariable(FlagServer, arg.Usage(err))
	}
	if a.TLSCA != "" && strings.HasPrefix(a.Server, "https:") {
		roots, err := readAuthorities(a.TLSCA)
		if err != nil {
			return remote.Config{}, arg.Usagef("%s: %w", a.NameOf(FlagTLSCA), err)
		}
		c.HTTP = a.trusting(roots)
	}
	return c, nil
}

// token is that for the server: of the file, or else of the variable; "": none.
func (a *App) token() (string, error) {
	if a.TokenFile == "" {
		token, _ := a.Env.LookupEnv(cmp.Or(a.tokenVariable, EnvToken))
		return strings.TrimSpace(token), nil
	}
	text, err := os.ReadFile(a.TokenFile)
	if err != nil {
		return "", arg.Usagef("%s: %w", a.NameOf(FlagTokenFile), err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", arg.Usagef("%s: %s is empty", a.NameOf(FlagTokenFile), a.TokenFile)
	}
	return token, nil
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
